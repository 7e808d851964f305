"""``mgae compare``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from mgae.cli import flags
from mgae.cli.flags import Json, Quiet
from mgae.cli.watching import observing, stoppable


def compare(
    graph: Annotated[str, typer.Argument(help="A dataset's name or a file of edges.")],
    methods: Annotated[
        str, typer.Option(metavar="all|A,B", help="Methods, by comma; all: every one that trains.")
    ] = "all",
    task: Annotated[
        str | None, typer.Option(help="links or nodes: what to evaluate. \\[default: links]")
    ] = None,
    runs: Annotated[
        int | None, typer.Option(help="Runs; run k has seed + k. \\[default: 1]")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the first run. \\[default: 0]")] = None,
    protocol: Annotated[
        str | None,
        typer.Option(help="paper or strict. \\[default: paper for the paper's datasets]"),
    ] = None,
    nodes: flags.Nodes = None,
    title_column: flags.TitleColumn = None,
    attribute: flags.Attributes = None,
    features: flags.Features = None,
    labels: flags.Labels = None,
    source_column: flags.SourceColumn = None,
    target_column: flags.TargetColumn = None,
    weight_column: flags.WeightColumn = None,
    time_column: flags.TimeColumn = None,
    edge_feature: flags.EdgeFeatures = None,
    type_column: flags.TypeColumn = None,
    node_type_column: flags.NodeTypeColumn = None,
    weights: flags.Weights = None,
    negatives: flags.Negatives = None,
    id_column: flags.IdColumn = None,
    directed: flags.Directed = False,
    bipartite: flags.Bipartite = None,
    missing: flags.Missing = None,
    encoding: flags.Encoding = None,
    device: flags.Device = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting for all, as train.epochs=50."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Directory; the same again continues. \\[default: below runs/]"),
    ] = None,
    jobs: flags.Jobs = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train methods side by side on one graph, and rank them.

    Each has the settings that mgae train would give it. The same command again continues where it
    stopped.
    """
    from mgae.runs.comparison import compare as run
    from mgae.runs.layering import assignments, merge

    table = flags.input_table(
        features=features, labels=labels, source_column=source_column, target_column=target_column,
        weight_column=weight_column, weights=weights, negatives=negatives, id_column=id_column,
        directed=directed, missing=missing, bipartite=bipartite, encoding=encoding,
        time_column=time_column, type_column=type_column, node_type_column=node_type_column,
        edge_features=edge_feature, nodes=nodes, title_column=title_column, attributes=attribute,
    )  # fmt: skip
    chosen = {
        "task": task,
        "runs": runs,
        "seed": seed,
        "protocol": protocol,
        "input": table or None,
        "train": None if device is None else {"device": device},
    }
    names = [] if methods == "all" else [name.strip() for name in methods.split(",")]
    given = merge(chosen, assignments(set_ or []))
    with observing(as_json, quiet) as observer, stoppable("go on with the same command"):
        comparison = run(graph, names, out, observer, jobs, **given)
    if as_json:
        whole = {**comparison.to_json(), "notes": observer.notes}
        return typer.echo(json.dumps(whole, ensure_ascii=False))
    from mgae.cli.printing import print_comparison

    return print_comparison(comparison)
