"""``mgae report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer


def report(
    run: Annotated[Path, typer.Argument(help="A finished run's directory.")],
    map_: Annotated[
        Literal["pca", "umap"] | None,
        typer.Option("--map", help="The map's projection. [default: umap where it is installed]"),
    ] = None,
) -> None:
    """Draw a finished run's report.html again, one page that needs no network."""
    from mgae.reporting import write_report
    from mgae.serving.maps import best_projection

    typer.echo(write_report(run, map_ or best_projection()))
