"""``mgae recommend``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mgae.cli.answering import (
    about,
    file_of,
    print_answer,
    print_notes,
    sum_up,
    with_title,
    write_rows,
)
from mgae.cli.flags import Count, DeviceAgain, Json, Quiet, RowsOut, RunNumber, RunOrGraph, SafeCsv
from mgae.cli.graphoptions import UNTRAINED, graph_options
from mgae.cli.predictors import is_graph, load_or_open
from mgae.cli.recommendall import AllNodes
from mgae.core.errors import ConfigError

if TYPE_CHECKING:
    from mgae.serving import Predictor
    from mgae.serving.answers import Recommendation
    from mgae.serving.explanations import Why


@graph_options(*UNTRAINED)
def recommend(
    run: RunOrGraph,
    node: Annotated[str | None, typer.Option(help="The node's id.")] = None,
    k: Count = 10,
    everyone: Annotated[bool, typer.Option("--all", help="For every node, as CSV.")] = False,
    out: RowsOut = None,
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
    why: Annotated[
        bool, typer.Option("--why", help="With --node: say why, a sentence for each link.")
    ] = False,
    edge_type: Annotated[
        str | None, typer.Option("--type", help="With --node: links of this type, such as buys.")
    ] = None,
    *,
    given: dict[str, Any],
    safe_csv: SafeCsv = False,
    number: RunNumber = 0,
    device: DeviceAgain = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Recommend new links of a node, or of all nodes."""
    from mgae.cli.stages import StageProgress
    from mgae.serving.outfiles import TABLES, check_out

    _choose_one(node, everyone, as_json)
    if everyone and edge_type is not None:
        raise ConfigError("--type goes with --node ID: leave one of them out")
    if why and (everyone or out is not None or edge_type is not None):
        raise ConfigError("--why goes with --node ID alone: leave out --all, --out and --type")
    if (file := file_of(out)) is not None:
        check_out(file, TABLES, among, exclude)
    rows, recall = 0, None
    with StageProgress(shown=not (quiet or as_json)) as progress:
        of_graph = given if is_graph(run) else {k: v for k, v in given.items() if k != "encoding"}
        predictor = load_or_open(run, number, device, of_graph, progress)
        chosen = _chosen_nodes(predictor, among, exclude, progress, given.get("encoding"))
        if everyone:
            request = AllNodes(predictor, k, not known, exact, chosen, progress)
            rows = request.write(file, safe_csv)
            ranks_all = chosen is not None or predictor.ranks_all(exact)
            recall = None if ranks_all else predictor.recall(k)
        else:
            links = predictor.recommend(node, k, not known, chosen, exact, edge_type)
            reasons = predictor.why(node, [link.node for link in links]) if why else []
            node_id = predictor.nodes.id_of(node)
    if not as_json:
        print_notes(predictor.notes)
    if everyone:
        sum_up(file, f"{rows:,} recommendations for {predictor.num_nodes:,} nodes", quiet)
        if recall is not None:
            line = f"ranked among candidates: recall@{k} {recall:.3f} on a sample of nodes"
            typer.echo(line, err=file is None)
    elif out is not None:
        titled = predictor.nodes.titles is not None
        rows = write_rows(file, iter([_batch(node_id, links, titled)]), safe_csv)
        sum_up(file, f"{rows:,} recommendations for {node_id}", quiet)
    else:
        typed = edge_type is not None
        _print_links(predictor, node_id, links, reasons, as_json, typed)


def _choose_one(node: str | None, everyone: bool, as_json: bool) -> None:
    if everyone == (node is not None):
        raise ConfigError("give --node ID for one node, or --all for all of them")
    if everyone and as_json:
        raise ConfigError("--json goes with --node; --all writes CSV, or Parquet by -o FILE")


def _chosen_nodes(
    predictor: Predictor,
    among: Path | None,
    exclude: Path | None,
    progress: Any,
    encoding: str | None,
) -> list[Any] | None:
    """Return the ids of the nodes that may be recommended; None: all."""
    if among is None and exclude is None:
        return None
    from mgae.serving.pairs import listed_nodes

    def numbers(path: Path) -> list[int]:
        return listed_nodes(predictor.nodes, path.expanduser(), progress.on_share, encoding)

    kept = range(predictor.num_nodes) if among is None else numbers(among)
    gone = set() if exclude is None else set(numbers(exclude))
    chosen = [predictor.nodes.ids[number] for number in kept if number not in gone]
    if not chosen:
        raise ConfigError("--among and --exclude leave no node to recommend")
    return chosen


def _print_links(
    predictor: Predictor,
    node: Any,
    links: list[Recommendation],
    reasons: list[Why],
    as_json: bool,
    typed: bool,
) -> None:
    listed = [with_title(asdict(link), predictor) for link in links]
    if as_json:
        for row, reason in zip(listed, reasons, strict=False):
            row["why"] = asdict(reason)
    precision = [] if typed else predictor.rank_precision[: len(links)]
    more = {**about(predictor, node), "rank_precision": precision}
    print_answer(node, "recommendations", listed, as_json, predictor.notes, more)
    if as_json:
        return
    if precision:
        typer.echo(_meaning(precision))
    _print_reasons(links, reasons)


def _print_reasons(links: list[Recommendation], reasons: list[Why]) -> None:
    from mgae.serving.explanations import sum_of

    for link, why in zip(links, reasons, strict=False):
        name = str(link.node) if link.title is None else f"{link.node} {link.title}"
        typer.echo(f"\n{name}: {why.sentence}")
        typer.echo(f"    {link.score:.2f} = {sum_of(why.contributions)}")


def _batch(node: Any, links: list[Recommendation], titled: bool) -> Any:
    """Return one node's recommendations as `Predictor.recommend_all` has those of all nodes."""
    import pyarrow as pa

    titles = {"recommended_title": [link.title for link in links]} if titled else {}
    return pa.RecordBatch.from_pydict(
        {
            "node_id": [node] * len(links),
            "rank": list(range(1, len(links) + 1)),
            "recommended_id": [link.node for link in links],
            "score": [link.score for link in links],
            "probability": [link.probability for link in links],
            **titles,
        }
    )


def _meaning(precision: Sequence[float]) -> str:
    """Return what the probabilities mean, and what links of each rank are worth."""
    shares = [f"{round(100 * share)}%" for share in precision]
    return (
        "probability: that the link is a missing edge, if a tenth of the graph's edges are missing"
        f"; of all nodes' links at rank 1, 2, …: {', '.join(shares)}"
    )
