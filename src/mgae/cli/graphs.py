"""``mgae datasets`` and ``mgae inspect``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from mgae.cli.flags import Json, Quiet
from mgae.cli.graphoptions import graph_options
from mgae.cli.naming import print_list
from mgae.core.errors import ConfigError

_COLUMNS = ("name", "tasks", "nodes", "edges", "features", "classes", "state", "license")

datasets = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


@datasets.callback()
def listed(context: typer.Context, as_json: Json = False, quiet: Quiet = False) -> None:
    """List the datasets that can be named, or get some of them."""
    if context.invoked_subcommand is not None:
        return
    from mgae.data.datasets.catalogue import dataset_state
    from mgae.registry import DATASETS

    rows = [
        {
            "name": entry.name,
            "tasks": ", ".join(entry.extras["tasks"]),
            **entry.extras["statistics"],
            "state": dataset_state(entry.name),
            "license": entry.extras["license"],
            "summary": entry.summary,
        }
        for entry in DATASETS
    ]
    print_list(rows, _COLUMNS, as_json)


@datasets.command("get")
def get(
    names: Annotated[list[str], typer.Argument(help="Datasets, as mgae datasets lists them.")],
    quiet: Quiet = False,
) -> None:
    """Fetch datasets into the cache, and check them."""
    from mgae.cli.stages import StageProgress
    from mgae.data.datasets.catalogue import dataset_state, fetch
    from mgae.data.datasets.loading import load_graph
    from mgae.registry import DATASETS

    for name in [DATASETS[name].name for name in names]:
        with StageProgress(shown=not quiet) as progress:
            fetch(name, progress.on_bytes)
            progress.on_share("checking", 0.0)
            load_graph(name)
        typer.echo(f"{name}: {dataset_state(name)}, verified")


@graph_options()
def inspect(
    graph: Annotated[str, typer.Argument(help="A dataset's name or a file.")],
    *,
    given: dict[str, Any],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Settings of input and features."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Draw the degrees into this file.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print what was understood of a graph: counts, degrees, components, what to start with."""
    from mgae.cli.stages import StageProgress
    from mgae.core.graph import MessageGraph
    from mgae.data.columns.choices import FeatureSettings
    from mgae.data.inspection import inspect_graph, plot_degrees
    from mgae.data.io.options import InputSettings
    from mgae.data.opening import open_graph
    from mgae.runs.layering import assignments
    from mgae.runs.memory import training_bytes
    from mgae.runs.presets import paper_config
    from mgae.serving.outfiles import check_out

    if plot is not None:
        inputs = (graph, given.get("features"), given.get("labels"))
        check_out(plot, (".png", ".svg", ".pdf"), *inputs, option="--plot")
    with StageProgress(shown=not (as_json or quiet)) as progress:
        sections = assignments(set_ or [])
        if unused := sections.keys() - {"input", "features"}:
            raise ConfigError(f"--set {min(unused)} is for training: inspect reads input, features")
        settings = FeatureSettings(**sections.get("features", {}))
        reading = InputSettings(**{**sections.get("input", {}), **given})
        data = open_graph(graph, reading, progress.on_share, settings)
    preparation = data.get("preparation")
    inspected = {
        **inspect_graph(data),
        "columns": None if preparation is None else preparation.described(),
        "notes": list(data.get("notes") or []),
    }
    config = paper_config(graph=graph)
    need = training_bytes(config, MessageGraph.of(data))
    if config.mask is not None:
        inspected["suggestion"]["mask"] = config.mask.kind
    inspected["suggestion"]["memory_mib"] = round(need / 2**20)
    if plot is not None:
        plot_degrees(data, plot)
    if as_json:
        typer.echo(json.dumps(inspected, indent=2, ensure_ascii=False))
    else:
        _print_inspection(data.get("name") or graph, inspected)


def _print_inspection(name: str, inspected: dict[str, Any]) -> None:
    typer.echo(name)
    for key, value in inspected.items():
        if key not in ("notes", "suggestion", "columns") and value is not None:
            typer.echo(f"  {key.replace('_', ' '):18} {_readable(value)}")
    for one in inspected["columns"] or ():
        typer.echo(f"  {'column ' + one['column']:18} {one['became']}")
    advice = inspected["suggestion"]
    takes = f"K = {advice['num_layers']}, about {advice['memory_mib']:,} MiB"
    typer.echo(f"  {'training takes':18} --mask {advice['mask']} by default, {takes}")
    for line in advice["reason"].split("; "):
        typer.echo(f"  {'':18} {line}")
    for note in inspected["notes"]:
        typer.echo(f"  note: {note}")


def _readable(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_readable(part)}" for name, part in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int | float) else str(value)
