"""``mgae embed``, ``mgae score``, ``mgae recommend`` and ``mgae similar``."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mgae.cli import flags
from mgae.cli.flags import Json, Quiet
from mgae.core.errors import ConfigError

if TYPE_CHECKING:
    from mgae.serving import Predictor

Run = Annotated[Path, typer.Argument(metavar="RUN", help="A finished run's directory.")]
Seed = Annotated[int, typer.Option("--run", help="Which of its runs; the first is 0.")]
Node = Annotated[str | None, typer.Option(help="The node's id.")]
Count = Annotated[int, typer.Option("-k", min=1, help="How many.")]


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
    id_column: flags.IdColumn = None,
    directed: flags.Directed = False,
    bipartite: flags.Bipartite = None,
    missing: flags.Missing = None,
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
        weight_column=weight_column, id_column=id_column, directed=directed, missing=missing,
        bipartite=bipartite,
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
        write_matrix(out, nodes.column, matrix)
    _say(notes, quiet)
    typer.echo(f"{out}: {matrix.shape[0]:,} nodes, {matrix.shape[1]} numbers each")


def score(
    run: Run,
    pairs: Annotated[Path, typer.Argument(help="A table with a pair of ids in each row.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="A .parquet or .csv file.")],
    source_column: flags.SourceColumn = None,
    target_column: flags.TargetColumn = None,
    number: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Score pairs of nodes: how likely is a link between them."""
    from mgae.cli.progress import StageProgress
    from mgae.data.io.options import InputSettings
    from mgae.serving.outfiles import TABLES, check_out, write_batches
    from mgae.serving.pairs import scored_pairs

    check_out(out, TABLES, pairs)
    settings = InputSettings(source_column=source_column, target_column=target_column)
    notes: list[str] = []
    with StageProgress(shown=not quiet) as progress:
        predictor = _load(run, number, progress)
        rows = write_batches(
            out,
            scored_pairs(predictor, pairs.expanduser(), settings, progress.on_share, notes.append),
        )
    _say([*notes, *predictor.notes], quiet)
    typer.echo(f"{out}: {rows:,} pairs")


def recommend(
    run: Run,
    node: Node = None,
    k: Count = 10,
    everyone: Annotated[bool, typer.Option("--all", help="For every node, into a file.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="With --all: a .parquet or .csv file.")
    ] = None,
    known: Annotated[
        bool, typer.Option("--known", help="Existing neighbors may be recommended too.")
    ] = False,
    exact: Annotated[
        bool | None,
        typer.Option("--exact/--fast", help="Rank all nodes, or candidates. [default: by size]"),
    ] = None,
    edge_type: Annotated[
        str | None, typer.Option("--type", help="With --node: links of this type, such as buys.")
    ] = None,
    number: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Recommend new links of a node, or of all nodes."""
    from mgae.cli.progress import StageProgress
    from mgae.serving.outfiles import TABLES, check_out, write_batches

    _choose_one(node, everyone, out)
    if everyone and edge_type is not None:
        raise ConfigError("--type goes with --node ID: leave one of them out")
    if out is not None:
        check_out(out, TABLES)
    with StageProgress(shown=not (quiet or as_json)) as progress:
        predictor = _load(run, number, progress)
        if out is not None:
            batches = predictor.recommend_all(
                k, not known, exact, lambda share: progress.on_share("recommending", share)
            )
            rows = write_batches(out, batches)
            recall = None if predictor.ranks_all(exact) else predictor.recall(k)
        else:
            links = predictor.recommend(node, k, not known, exact=exact, edge_type=edge_type)
    _say(predictor.notes, quiet or as_json)
    if out is not None:
        typer.echo(f"{out}: {rows:,} recommendations for {predictor.num_nodes:,} nodes")
        if recall is not None:
            typer.echo(f"ranked among candidates: recall@{k} {recall:.3f} on a sample of nodes")
    else:
        _print(predictor.nodes.id_of(node), "recommendations", list(map(asdict, links)), as_json)


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


def _open(predictor: Predictor, graph: str, given: dict[str, Any], progress: Any) -> Any:
    from mgae.data.io.options import InputSettings
    from mgae.data.opening import open_graph
    from mgae.serving.newcomers import known_features

    known = known_features(predictor.graph)
    return open_graph(graph, InputSettings(**given), progress.on_share, known)


def _choose_one(node: str | None, everyone: bool, out: Path | None) -> None:
    if everyone == (node is not None):
        raise ConfigError("give --node ID for one node, or --all -o FILE for all of them")
    if everyone != (out is not None):
        raise ConfigError("--all and --out FILE go together")


def _say(notes: list[str], hidden: bool) -> None:
    for note in [] if hidden else notes:
        typer.echo(f"note: {note}", err=True)


def _print(node: Any, what: str, rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        plain = [{key: _plain(value) for key, value in row.items()} for row in rows]
        typer.echo(json.dumps({"node": node, what: plain}, ensure_ascii=False))
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
