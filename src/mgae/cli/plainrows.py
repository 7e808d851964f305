"""Print rows as a plain table."""

from __future__ import annotations

from typing import Any

import typer


def print_rows(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> None:
    """Print a plain table, never wrapped or cut, so that it can be searched; numbers right."""
    cells = [
        [f"{row[c]:,}" if isinstance(row[c], int) else str(row[c]) for c in columns] for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    right = [isinstance(rows[0][column], int) for column in columns]
    for line in (columns, *cells):
        padded = (
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(line, widths, right, strict=True)
        )
        typer.echo("  ".join(padded).rstrip())
