"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable


def table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Return a table as one piece of a page."""
    lines = [_row(titles), _row(("---",) * len(titles)), *map(_row, rows)]
    return ["\n".join(lines) + "\n"]


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
