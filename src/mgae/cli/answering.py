"""Print or write what a predictor answers."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from mgae.serving import Predictor


def with_title(row: dict[str, Any], predictor: Predictor) -> dict[str, Any]:
    """Return a row with its title beside the id; without one if the graph has no titles."""
    title = row.pop("title")
    node = row.pop("node")
    named = {} if predictor.nodes.titles is None else {"title": title}
    return {"node": node, **named, **row}


def about(predictor: Predictor, node: Any) -> dict[str, Any]:
    """Return the title and the attributes of the node that was asked about, if there are any."""
    if predictor.texts is None:
        return {}
    return {"title": predictor.title(node), "attributes": predictor.attributes(node)}


def file_of(out: Path | None) -> Path | None:
    """Return the file to write to; None: standard output."""
    return None if out is None or str(out) == "-" else out


def write_rows(file: Path | None, batches: Iterator[Any], safe: bool = False) -> int:
    """Write rows to a file or to standard output, and return their number."""
    from mgae.serving.outfiles import print_batches, write_batches

    if file is None:
        return print_batches(sys.stdout.buffer, batches, safe)
    return write_batches(file, batches, safe)


def sum_up(file: Path | None, what: str, quiet: bool) -> None:
    """Say what was written, unless standard output has it."""
    if file is not None:
        typer.echo(f"{file}: {what}")
    elif not quiet:
        typer.echo(what, err=True)


def print_notes(notes: list[str]) -> None:
    """Print notes on stderr, a line each."""
    for note in notes:
        typer.echo(f"note: {note}", err=True)


def print_answer(
    node: Any,
    what: str,
    rows: list[dict[str, Any]],
    as_json: bool,
    notes: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
) -> None:
    """Print the nodes that are the answer for ``node``, as a table or as JSON."""
    if as_json:
        plain = [{key: _plain(value) for key, value in row.items()} for row in rows]
        whole = {"node": node, what: plain, **(more or {}), "notes": list(notes)}
        typer.echo(json.dumps(whole, ensure_ascii=False))
        return
    from mgae.cli.plainrows import print_rows

    # Without validation edges no link has a probability.
    known = [key for key in rows[0] if any(row[key] == row[key] for row in rows)] if rows else []
    shown = [{key: _shown(key, row[key]) for key in known} for row in rows]
    if shown:
        print_rows(shown, tuple(shown[0]))
    else:
        typer.echo(f"no {what}: {node} is joined to every node that it could be joined to")


def _plain(value: Any) -> Any:
    """Return None for what JSON cannot hold."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _shown(key: str, value: Any) -> str:
    if key in ("node", "title"):
        return "" if value is None else str(value)
    return f"{value:.4f}"
