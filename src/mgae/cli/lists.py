"""``mgae methods``: what the registries know."""

from __future__ import annotations

import json

import typer

from mgae.cli.options import Json


def methods(as_json: Json = False) -> None:
    """List the methods, and the parts that can be swapped."""
    from mgae.cli.tables import print_rows
    from mgae.registry import METHODS, PARTS

    rows = [
        {"what": registry.what, "name": entry.name, "summary": entry.summary, "paper": entry.paper}
        for registry in (METHODS, *PARTS.values())
        for entry in registry
    ]
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        print_rows(rows, ("what", "name", "summary"))
