"""``mgae methods`` and ``mgae settings``: what can be named, without loading torch."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any

import typer

from mgae.cli.flags import Json, Quiet
from mgae.cli.plainrows import print_rows


def methods(as_json: Json = False, quiet: Quiet = False) -> None:
    """List the methods, the parts that can be swapped, and the tools that can follow a training."""
    from mgae.registry import METHODS, PARTS, TRACKERS

    rows = [
        {"what": registry.what, "name": entry.name, "summary": entry.summary, "paper": entry.paper}
        for registry in (METHODS, *PARTS.values(), TRACKERS)
        for entry in registry
    ]
    print_list(rows, ("what", "name", "summary"), as_json)


def settings(
    section: Annotated[
        str | None,
        typer.Argument(help="Such as train, encoder or method; run has those in no section."),
    ] = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of a configuration file.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List every setting with its default, what is allowed, and what it does."""
    from mgae.runs import reference

    if schema:
        return typer.echo(json.dumps(reference.schema(), indent=2))
    listed = reference.all_settings(section)
    if as_json:
        return typer.echo(json.dumps([asdict(one) for one in listed], indent=2))
    for one in listed:
        of = f" ({', '.join(one.kinds)})" if one.kinds else ""
        typer.echo(f"{one.name} = {one.default}{of}")
        typer.echo(f"    {one.help + '; ' if one.help else ''}{one.allowed}")
    return None


def print_list(rows: list[dict[str, Any]], columns: tuple[str, ...], as_json: bool) -> None:
    """Print rows as JSON, or some columns of them as a table."""
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        print_rows(rows, columns)
