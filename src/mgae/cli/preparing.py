"""``mgae prepare``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from mgae.cli.flags import Json, Quiet
from mgae.cli.graphoptions import graph_options


@graph_options("source_column", "target_column", "weight_column", "weights", "bipartite")
def prepare(
    edges: Annotated[
        list[Path], typer.Argument(help="Files of edges: Parquet, Feather, CSV, TSV; also gzip.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder that does not exist yet.")],
    *,
    given: dict[str, Any],
    header: Annotated[
        Literal["auto", "yes", "no"], typer.Option(help="Whether row 1 holds names.")
    ] = "auto",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a graph of files that do not fit into memory, for train, inspect and recommend.

    Ids are numbered, repeated edges merged and all edges sorted, in files. Memory follows the
    number of nodes, not that of the edges.
    """
    from mgae.cli.stages import StageProgress
    from mgae.data.io.options import InputSettings
    from mgae.data.large import prepare as run

    with StageProgress(shown=not (quiet or as_json)) as progress:
        facts = run(edges, out, InputSettings(**given, header=header), progress.on_share)
    if as_json:
        return typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
    for note in facts["notes"]:
        typer.echo(f"note: {note}", err=True)
    counts = f"{facts['num_nodes']:,} nodes, {facts['num_edges']:,} edges"
    return typer.echo(f"{out}: {counts}; go on with mgae inspect {out} or mgae train {out}")
