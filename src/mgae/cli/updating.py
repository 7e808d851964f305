"""``mgae update``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from mgae.cli.answering import print_notes
from mgae.cli.flags import Json, Quiet, Run
from mgae.cli.graphoptions import graph_options


@graph_options(
    "features", "source_column", "target_column", "weight_column", "id_column", "encoding"
)
def update(
    run: Run,
    edges: Annotated[Path, typer.Argument(help="A file of new edges, also of new nodes.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A new run directory. \\[default: RUN is replaced]"),
    ] = None,
    *,
    given: dict[str, Any],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Let new edges and nodes join a run without training, and say when to train again."""
    from mgae.cli.stages import StageProgress
    from mgae.data.ids import counted
    from mgae.data.io.options import InputSettings
    from mgae.serving.updates import update_run

    features = given.pop("features", None)
    with StageProgress(shown=not (quiet or as_json)) as progress:
        done = update_run(run, edges, features, out, InputSettings(**given), progress.on_share)
    growth, drift = done.growth, done.drift
    if as_json:
        facts = {"directory": str(done.directory), **asdict(growth), "notes": list(done.notes)}
        about = {**asdict(drift), "train_again": drift.reasons, "text": drift.text}
        typer.echo(json.dumps({**facts, "drift": about}, ensure_ascii=False))
        return
    print_notes(list(done.notes))
    left_out = [
        f"{count:,} {what}"
        for count, what in ((growth.known, "known already"), (growth.loops, "loops"))
        if count
    ]
    rest = f" ({', '.join(left_out)} left out)" if left_out else ""
    joined = f"{counted(growth.edges, 'edge')} and {counted(growth.nodes, 'node')}"
    typer.echo(f"{done.directory}: {joined} joined{rest}")
    typer.echo(f"drift: {drift.text}")
