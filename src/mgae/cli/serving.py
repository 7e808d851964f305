"""``mgae embed``, ``mgae score``, ``mgae recommend`` and ``mgae similar``."""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mgae.cli import flags
from mgae.cli.flags import Json, Quiet
from mgae.core.errors import ConfigError

if TYPE_CHECKING:
    from mgae.serving import Predictor
    from mgae.serving.answers import Recommendation

Run = Annotated[Path, typer.Argument(metavar="RUN", help="A finished run's directory.")]
RunOrGraph = Annotated[
    Path,
    typer.Argument(
        metavar="RUN|GRAPH",
        help="A finished run's directory; or a graph, answered at once and without training.",
    ),
]
Seed = Annotated[int, typer.Option("--run", help="Which of its runs; the first is 0.")]
Node = Annotated[str | None, typer.Option(help="The node's id.")]
Count = Annotated[int, typer.Option("-k", min=1, help="How many.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="A .parquet or .csv file; -: standard output, as CSV."),
]


def embed(
    run: Run,
    out: Annotated[Path, typer.Option("--out", "-o", help="A .parquet, .csv or .npy file.")],
    graph: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Embed the nodes of this graph instead, untrained on."),
    ] = None,
    features: flags.Features = None,
    source_column: flags.SourceColumn = None,
    target_column: flags.TargetColumn = None,
    weight_column: flags.WeightColumn = None,
    weights: flags.Weights = None,
    id_column: flags.IdColumn = None,
    directed: flags.Directed = False,
    bipartite: flags.Bipartite = None,
    missing: flags.Missing = None,
    safe_csv: flags.SafeCsv = False,
    number: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Write the embeddings of a run's nodes, or of another graph with the same features."""
    from mgae.cli.progress import StageProgress
    from mgae.serving.nodeindex import NodeIndex
    from mgae.serving.outfiles import MATRICES, check_out, write_matrix

    check_out(out, MATRICES, graph, features)
    given = flags.input_table(
        features=features, source_column=source_column, target_column=target_column,
        weight_column=weight_column, weights=weights, id_column=id_column, directed=directed,
        missing=missing, bipartite=bipartite,
    )  # fmt: skip
    if given and graph is None:
        raise ConfigError(f"--{next(iter(given)).replace('_', '-')} needs --graph")
    notes: list[str] = []
    with StageProgress(shown=not quiet) as progress:
        predictor = _load(run, number, progress)
        if graph is None:
            nodes, matrix = predictor.nodes, predictor.embed()
        else:
            data = _open(predictor, graph, given, progress)
            notes = list(data.get("notes") or [])
            progress.on_share("embedding", 0.0)
            nodes, matrix = NodeIndex(data.node_ids), predictor.embed_graph(data)
        progress.on_share(f"writing {out.name}", 0.0)
        write_matrix(out, nodes.column, matrix, safe_csv)
    _say(notes)
    typer.echo(f"{out}: {matrix.shape[0]:,} nodes, {matrix.shape[1]} numbers each")


def score(
    run: RunOrGraph,
    pairs: Annotated[
        Path, typer.Argument(help="A table with a pair of ids in each row; -: standard input.")
    ],
    out: Out = None,
    unknown: Annotated[
        Literal["refuse", "skip", "nan"],
        typer.Option(help="A pair with an unknown id: stop, leave it out, or give it no score."),
    ] = "refuse",
    features: flags.Features = None,
    source_column: flags.SourceColumn = None,
    target_column: flags.TargetColumn = None,
    id_column: flags.IdColumn = None,
    directed: flags.Directed = False,
    bipartite: flags.Bipartite = None,
    missing: flags.Missing = None,
    safe_csv: flags.SafeCsv = False,
    number: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Score pairs of nodes: how likely is a link between them.

    With a graph, --source-column and --target-column are those of its edges.
    """
    from mgae.cli.progress import StageProgress
    from mgae.data.io.options import InputSettings
    from mgae.serving.outfiles import TABLES, check_out
    from mgae.serving.pairs import scored_pairs

    if (file := _file(out)) is not None:
        check_out(file, TABLES, pairs)
    given = flags.input_table(
        features=features, source_column=source_column, target_column=target_column,
        id_column=id_column, directed=directed, missing=missing, bipartite=bipartite,
    )  # fmt: skip
    ends = {"source_column", "target_column"}
    of_graph = given if _is_graph(run) else {k: v for k, v in given.items() if k not in ends}
    if _is_graph(run):
        source_column = target_column = None
    settings = InputSettings(source_column=source_column, target_column=target_column)
    notes: list[str] = []
    with StageProgress(shown=not quiet) as progress, _input_file(pairs) as path:
        predictor = _load_or_open(run, number, of_graph, progress)
        batches = scored_pairs(predictor, path, settings, progress.on_share, notes.append, unknown)
        rows = _write(file, batches, safe_csv)
    _say([*notes, *predictor.notes])
    _sum_up(file, f"{rows:,} pairs", quiet)


def recommend(
    run: RunOrGraph,
    node: Node = None,
    k: Count = 10,
    everyone: Annotated[bool, typer.Option("--all", help="For every node, as CSV.")] = False,
    out: Out = None,
    known: Annotated[
        bool, typer.Option("--known", help="Existing neighbors may be recommended too.")
    ] = False,
    among: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Recommend only the nodes of this file.")
    ] = None,
    exclude: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Recommend no nodes of this file.")
    ] = None,
    exact: Annotated[
        bool | None,
        typer.Option("--exact/--fast", help="Rank all nodes, or candidates. \\[default: by size]"),
    ] = None,
    edge_type: Annotated[
        str | None, typer.Option("--type", help="With --node: links of this type, such as buys.")
    ] = None,
    features: flags.Features = None,
    source_column: flags.SourceColumn = None,
    target_column: flags.TargetColumn = None,
    id_column: flags.IdColumn = None,
    directed: flags.Directed = False,
    bipartite: flags.Bipartite = None,
    missing: flags.Missing = None,
    safe_csv: flags.SafeCsv = False,
    number: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Recommend new links of a node, or of all nodes."""
    from mgae.cli.progress import StageProgress
    from mgae.serving.outfiles import TABLES, check_out

    _choose_one(node, everyone, as_json)
    if everyone and edge_type is not None:
        raise ConfigError("--type goes with --node ID: leave one of them out")
    if (file := _file(out)) is not None:
        check_out(file, TABLES, among, exclude)
    given = flags.input_table(
        features=features, source_column=source_column, target_column=target_column,
        id_column=id_column, directed=directed, missing=missing, bipartite=bipartite,
    )  # fmt: skip
    rows, recall = 0, None
    with StageProgress(shown=not (quiet or as_json)) as progress:
        predictor = _load_or_open(run, number, given, progress)
        chosen = _chosen_nodes(predictor, among, exclude, progress)
        if everyone:
            batches = predictor.recommend_all(
                k, not known, exact, lambda share: progress.on_share("recommending", share), chosen
            )
            rows = _write(file, batches, safe_csv)
            ranks_all = chosen is not None or predictor.ranks_all(exact)
            recall = None if ranks_all else predictor.recall(k)
        else:
            links = predictor.recommend(node, k, not known, chosen, exact, edge_type)
            node_id = predictor.nodes.id_of(node)
    if not as_json:
        _say(predictor.notes)
    if everyone:
        _sum_up(file, f"{rows:,} recommendations for {predictor.num_nodes:,} nodes", quiet)
        if recall is not None:
            line = f"ranked among candidates: recall@{k} {recall:.3f} on a sample of nodes"
            typer.echo(line, err=file is None)
    elif out is not None:
        rows = _write(file, iter([_batch(node_id, links)]), safe_csv)
        _sum_up(file, f"{rows:,} recommendations for {node_id}", quiet)
    else:
        listed = list(map(asdict, links))
        _print(node_id, "recommendations", listed, as_json, predictor.notes)


def similar(
    run: Run,
    node: Annotated[str, typer.Option(help="The node's id.")],
    k: Count = 10,
    number: Seed = 0,
    as_json: Json = False,
) -> None:
    """Find the nodes whose embeddings are nearest to a node's."""
    from mgae.cli.progress import StageProgress

    with StageProgress(shown=not as_json) as progress:
        predictor = _load(run, number, progress)
        rows = [{"node": other, "cosine": value} for other, value in predictor.similar(node, k)]
    _print(predictor.nodes.id_of(node), "similar", rows, as_json)


def _load(run: Path, number: int, progress: Any) -> Predictor:
    progress.on_share(f"loading {run}", 0.0)
    from mgae.serving import Predictor

    return Predictor.load(run, number)


def _is_graph(run: Path) -> bool:
    """Return whether this is a graph, a file or a dataset's name, and no run directory."""
    if run.expanduser().is_dir():
        return False
    from mgae.registry import DATASETS

    return run.expanduser().is_file() or str(run) in DATASETS


def _load_or_open(run: Path, number: int, given: dict[str, Any], progress: Any) -> Predictor:
    """Load a run, or answer for a graph at once."""
    if not _is_graph(run):
        if given:
            option = next(iter(given)).replace("_", "-")
            raise ConfigError(f"--{option} is for a graph, and {run} is a run: leave it out")
        return _load(run, number, progress)
    if number:
        raise ConfigError(f"--run is for a run, and {run} is a graph: leave it out")
    progress.on_share(f"reading {run}", 0.0)
    from mgae.serving.instant import instant

    return instant(str(run), progress.on_share, **given)


def _open(predictor: Predictor, graph: str, given: dict[str, Any], progress: Any) -> Any:
    from mgae.data.io.options import InputSettings
    from mgae.data.opening import open_graph
    from mgae.serving.newcomers import preparation_of

    preparing = preparation_of(predictor.graph)
    return open_graph(graph, InputSettings(**given), progress.on_share, preparing)


def _choose_one(node: str | None, everyone: bool, as_json: bool) -> None:
    if everyone == (node is not None):
        raise ConfigError("give --node ID for one node, or --all for all of them")
    if everyone and as_json:
        raise ConfigError("--json goes with --node; --all writes CSV, or Parquet by -o FILE")


def _chosen_nodes(
    predictor: Predictor, among: Path | None, exclude: Path | None, progress: Any
) -> list[Any] | None:
    """Return the ids of the nodes that may be recommended; None: all."""
    if among is None and exclude is None:
        return None
    from mgae.serving.pairs import listed_nodes

    def numbers(path: Path) -> list[int]:
        return listed_nodes(predictor.nodes, path.expanduser(), progress.on_share)

    kept = range(predictor.num_nodes) if among is None else numbers(among)
    gone = set() if exclude is None else set(numbers(exclude))
    chosen = [predictor.nodes.ids[number] for number in kept if number not in gone]
    if not chosen:
        raise ConfigError("--among and --exclude leave no node to recommend")
    return chosen


def _batch(node: Any, links: list[Recommendation]) -> Any:
    """Return one node's recommendations as `Predictor.recommend_all` has those of all nodes."""
    import pyarrow as pa

    return pa.RecordBatch.from_pydict(
        {
            "node_id": [node] * len(links),
            "rank": list(range(1, len(links) + 1)),
            "recommended_id": [link.node for link in links],
            "score": [link.score for link in links],
            "probability": [link.probability for link in links],
        }
    )


def _file(out: Path | None) -> Path | None:
    """Return the file to write to; None: standard output."""
    return None if out is None or str(out) == "-" else out


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
        yield copy


def _write(file: Path | None, batches: Iterator[Any], safe: bool = False) -> int:
    from mgae.serving.outfiles import print_batches, write_batches

    if file is None:
        return print_batches(sys.stdout.buffer, batches, safe)
    return write_batches(file, batches, safe)


def _sum_up(file: Path | None, what: str, quiet: bool) -> None:
    """Say what was written, unless standard output has it."""
    if file is not None:
        typer.echo(f"{file}: {what}")
    elif not quiet:
        typer.echo(what, err=True)


def _say(notes: list[str]) -> None:
    for note in notes:
        typer.echo(f"note: {note}", err=True)


def _print(
    node: Any, what: str, rows: list[dict[str, Any]], as_json: bool, notes: Sequence[str] = ()
) -> None:
    if as_json:
        plain = [{key: _plain(value) for key, value in row.items()} for row in rows]
        whole = {"node": node, what: plain, "notes": list(notes)}
        typer.echo(json.dumps(whole, ensure_ascii=False))
        return
    from mgae.cli.printing import print_rows

    shown = [{key: _shown(key, value) for key, value in row.items()} for row in rows]
    if shown:
        print_rows(shown, tuple(shown[0]))
    else:
        typer.echo(f"no {what}: {node} is joined to every node that it could be joined to")


def _plain(value: Any) -> Any:
    """Return None for what JSON cannot hold."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _shown(key: str, value: Any) -> str:
    return str(value) if key == "node" else f"{value:.4f}"
