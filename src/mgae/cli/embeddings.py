"""``mgae embed`` and ``mgae similar``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mgae.cli.answering import about, print_answer, print_notes, with_title
from mgae.cli.flags import Count, DeviceAgain, Json, Quiet, Run, RunNumber, SafeCsv
from mgae.cli.graphoptions import graph_options, refuse
from mgae.cli.predictors import load

if TYPE_CHECKING:
    from mgae.serving import Predictor


@graph_options(
    "features", "source_column", "target_column", "weight_column", "weights", "id_column",
    "directed", "bipartite", "missing", "encoding",
)  # fmt: skip
def embed(
    run: Run,
    out: Annotated[Path, typer.Option("--out", "-o", help="A .parquet, .csv or .npy file.")],
    graph: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Embed the nodes of this graph instead, untrained on."),
    ] = None,
    *,
    given: dict[str, Any],
    safe_csv: SafeCsv = False,
    number: RunNumber = 0,
    device: DeviceAgain = None,
    quiet: Quiet = False,
) -> None:
    """Write the embeddings of a run's nodes, or of another graph with the same features."""
    from mgae.cli.stages import StageProgress
    from mgae.serving.nodeindex import NodeIndex
    from mgae.serving.outfiles import MATRICES, check_out, write_matrix

    check_out(out, MATRICES, graph, given.get("features"))
    if graph is None:
        refuse(given, "needs --graph")
    notes: list[str] = []
    with StageProgress(shown=not quiet) as progress:
        predictor = load(run, number, device, progress)
        if graph is None:
            nodes, matrix = predictor.nodes, predictor.embed()
        else:
            data = _open(predictor, graph, given, progress)
            notes = list(data.get("notes") or [])
            progress.on_share("embedding", 0.0)
            nodes, matrix = NodeIndex(data.node_ids), predictor.embed_graph(data)
        progress.on_share(f"writing {out.name}", 0.0)
        write_matrix(out, nodes.column, matrix, safe_csv)
    print_notes(notes)
    typer.echo(f"{out}: {matrix.shape[0]:,} nodes, {matrix.shape[1]} numbers each")


def similar(
    run: Run,
    node: Annotated[str, typer.Option(help="The node's id.")],
    k: Count = 10,
    number: RunNumber = 0,
    device: DeviceAgain = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the nodes whose embeddings are nearest to a node's."""
    from mgae.cli.stages import StageProgress

    with StageProgress(shown=not (as_json or quiet)) as progress:
        predictor = load(run, number, device, progress)
        rows = [
            with_title({"node": other, "cosine": value, "title": predictor.title(other)}, predictor)
            for other, value in predictor.similar(node, k)
        ]
    node_id = predictor.nodes.id_of(node)
    print_answer(node_id, "similar", rows, as_json, more=about(predictor, node_id))


def _open(predictor: Predictor, graph: str, given: dict[str, Any], progress: Any) -> Any:
    from mgae.data.io.assembly import user_path
    from mgae.data.io.edges import as_columns
    from mgae.data.io.formats import is_table
    from mgae.data.io.options import InputSettings
    from mgae.data.opening import open_graph
    from mgae.serving.newcomers import preparation_of

    preparing = preparation_of(predictor.fields)
    settings = InputSettings(**given)
    if settings.bipartite == "auto" and predictor.fields.get("side") is None:
        settings = settings.model_copy(update={"bipartite": "no"})  # as few edges may look
    path = user_path(graph)
    if path.is_file() and is_table(path):
        settings = as_columns(path, settings, predictor.fields.get("edge_columns"))
    return open_graph(graph, settings, progress.on_share, preparing)
