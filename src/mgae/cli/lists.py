"""``mgae datasets`` and ``mgae methods``: what the registries know."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def datasets(as_json: Json = False) -> None:
    """List the datasets that can be named."""
    from mgae.registry import DATASETS

    rows = [
        {"name": entry.name, **entry.extras["statistics"], "state": entry.extras["state"],
         "summary": entry.summary}
        for entry in DATASETS
    ]  # fmt: skip
    _print(rows, as_json)


def methods(as_json: Json = False) -> None:
    """List the methods, and the parts that can be swapped."""
    from mgae.registry import METHODS, PARTS

    rows = [
        {"what": registry.what, "name": entry.name, "summary": entry.summary, "paper": entry.paper}
        for registry in (METHODS, *PARTS.values())
        for entry in registry
    ]
    _print(rows, as_json)


def _print(rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name, value in rows[0].items():
        table.add_column(name, justify="right" if isinstance(value, int) else "left")
    for row in rows:
        cells = (f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row.values())
        table.add_row(*cells)
    Console().print(table)
