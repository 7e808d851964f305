"""``mgae score``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import typer

from mgae.cli.answering import file_of, print_notes, sum_up, write_rows
from mgae.cli.flags import DeviceAgain, Quiet, RowsOut, RunNumber, RunOrGraph, SafeCsv
from mgae.cli.graphoptions import UNTRAINED, graph_options
from mgae.cli.predictors import is_graph, load_or_open
from mgae.core.errors import GraphError


@graph_options(*UNTRAINED)
def score(
    run: RunOrGraph,
    pairs: Annotated[
        Path, typer.Argument(help="A file with a pair of ids in each row; -: standard input.")
    ],
    out: RowsOut = None,
    unknown: Annotated[
        Literal["refuse", "skip", "nan"],
        typer.Option(help="A pair with an unknown id: stop, leave it out, or give it no score."),
    ] = "refuse",
    *,
    given: dict[str, Any],
    safe_csv: SafeCsv = False,
    number: RunNumber = 0,
    device: DeviceAgain = None,
    quiet: Quiet = False,
) -> None:
    """Score pairs of nodes: how likely is a link between them.

    With a graph, --source-column and --target-column are those of its edges.
    """
    from mgae.cli.stages import StageProgress
    from mgae.data.io.options import InputSettings
    from mgae.serving.outfiles import TABLES, check_out
    from mgae.serving.pairs import scored_pairs

    if (file := file_of(out)) is not None:
        check_out(file, TABLES, pairs)
    of_graph, of_pairs = _of_either(given, is_graph(run))
    settings = InputSettings(**of_pairs)
    notes: list[str] = []
    with StageProgress(shown=not quiet) as progress, _input_file(pairs) as path:
        predictor = load_or_open(run, number, device, of_graph, progress)
        batches = scored_pairs(predictor, path, settings, progress.on_share, notes.append, unknown)
        rows = write_rows(file, batches, safe_csv)
    print_notes([*(note.replace(str(path), path.name) for note in notes), *predictor.notes])
    sum_up(file, f"{rows:,} pair{'' if rows == 1 else 's'}", quiet)


def _of_either(given: dict[str, Any], graph: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of the graph's files, and those of the file of pairs."""
    of_pairs = {"encoding"} if graph else {"source_column", "target_column", "encoding"}
    pairs = {key: value for key, value in given.items() if key in of_pairs}
    return given if graph else {k: v for k, v in given.items() if k not in of_pairs}, pairs


@contextmanager
def _input_file(path: Path) -> Iterator[Path]:
    """Give the path of a file; what comes by standard input is kept in one, to be read twice."""
    if str(path) != "-":
        yield path.expanduser()
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "standard input"
        with copy.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
        try:
            yield copy
        except GraphError as error:  # what it is called is nothing to whoever wrote to it
            raise GraphError(str(error).replace(str(copy), copy.name)) from None
