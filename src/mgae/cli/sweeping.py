"""``mgae sweep``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from mgae.cli import flags
from mgae.cli.flags import Json, Quiet
from mgae.cli.graphoptions import graph_options
from mgae.cli.watching import observing, stoppable
from mgae.core.errors import ConfigError


@graph_options(
    "features", "source_column", "target_column", "weight_column", "id_column", "directed",
    "bipartite", "missing",
)  # fmt: skip
def sweep(
    graph: Annotated[
        str, typer.Argument(help="A dataset's name, a file of edges, or a prepared folder.")
    ],
    space: Annotated[
        Path, typer.Option(metavar="TOML", help="Settings to try: lists, or {low, high}.")
    ],
    trials: Annotated[
        int,
        typer.Option(
            parser=flags.at_least_one("--trials"),
            metavar="N",
            help="How many, those before included.",
        ),
    ] = 30,
    timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="No trial begins after it, as 30m or 2h.")
    ] = None,
    jobs: flags.Jobs = 1,
    method: Annotated[str | None, typer.Option(help="As mgae train has it.")] = None,
    *,
    given: dict[str, Any],
    config: flags.Config = None,
    set_: flags.Set = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder; the same again goes on. \\[default: runs/sweep-GRAPH]"),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Search for settings that predict validation edges best; test edges are never looked at.

    The best settings are written as best.toml, for mgae train --config. The same command again
    goes on where it stopped.
    """
    from mgae.runs.layering import assignments, merge, read_toml
    from mgae.runs.sweep import Space
    from mgae.runs.sweep import sweep as run

    settings = merge(
        read_toml(config) if config else {},
        {"method": method, "input": given or None},
        assignments(set_ or []),
    )
    settings.pop("graph", None)
    folder = out or Path("runs") / f"sweep-{Path(graph).stem}"
    seconds = None if timeout is None else _seconds(timeout)
    with observing(as_json, quiet) as observer, stoppable("go on with the same command"):
        result = run(graph, Space.read(space), trials, folder, seconds, jobs, observer, **settings)
    if as_json:
        return typer.echo(json.dumps({**result.to_json(), "notes": observer.notes}))
    counts = ", ".join(f"{count} {what}" for what, count in result.trials.items() if count)
    typer.echo(f"{counts}; best validation {result.metric} {result.value:.4f}")
    if result.default is not None:
        typer.echo(f"  the settings as they were: {result.default:.4f}")
    for path, value in result.params.items():
        typer.echo(f"  {path} = {value}")
    best = folder / "best.toml"
    return typer.echo(f"{best}: go on with mgae train {graph} --config {best}")


def _seconds(text: str) -> float:
    from mgae.runs.times import seconds

    try:
        return seconds(text)
    except ValueError as error:
        raise ConfigError(f"--timeout {error}") from None
