"""``mgae compare``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from mgae.cli import flags
from mgae.cli.flags import Json, Quiet
from mgae.cli.graphoptions import graph_options
from mgae.cli.watching import observing, stoppable


@graph_options()
def compare(
    graph: Annotated[str, typer.Argument(help="A dataset's name or a file of edges.")],
    methods: Annotated[
        str, typer.Option(metavar="all|A,B", help="Methods, by comma; all: every one that trains.")
    ] = "all",
    task: flags.Task = None,
    runs: flags.Runs = None,
    seed: flags.Seed = None,
    protocol: flags.Protocol = None,
    *,
    given: dict[str, Any],
    device: flags.Device = None,
    set_: flags.Set = None,
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

    chosen = {
        "task": task,
        "runs": runs,
        "seed": seed,
        "protocol": protocol,
        "input": given or None,
        "train": None if device is None else {"device": device},
    }
    names = [] if methods == "all" else [name.strip() for name in methods.split(",")]
    settings = merge(chosen, assignments(set_ or []))
    with observing(as_json, quiet) as observer, stoppable("go on with the same command"):
        comparison = run(graph, names, out, observer, jobs, **settings)
    if as_json:
        whole = {**comparison.to_json(), "notes": observer.notes}
        return typer.echo(json.dumps(whole, ensure_ascii=False))
    from mgae.cli.printing import print_comparison

    return print_comparison(comparison)
