"""Whether the first row of a table holds the names of its columns."""

from __future__ import annotations

import re
from dataclasses import dataclass

NULLS = ("", "NA", "N/A", "null", "NULL", "None")
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf|infinity)", re.IGNORECASE)
_INTEGER = re.compile(r"[+-]?\d+")


@dataclass(frozen=True)
class Hints:
    """What is known of a table before its first line is seen.

    Attributes:
        header: ``auto``, ``yes`` or ``no``.
        known: names, in lower case, of which ``needed`` in row 1 make it a header.
        chosen: columns that the user asked for.
        values: those of the known names that may as well be values of a row.
        key: the number of the column with the ids, where ``values`` are to be told from names.
    """

    header: str = "auto"
    known: frozenset[str] = frozenset()
    needed: int = 1
    chosen: tuple[str | None, ...] = ()
    values: frozenset[str] = frozenset()
    key: int = 0


def has_header(rows: list[list[str]], hints: Hints) -> bool:
    """Whether row 1 of a table holds names, as far as the rows below tell."""
    if hints.header != "auto":
        return hints.header == "yes"
    first = [column_name(cell, number) for number, cell in enumerate(rows[0], 1)]
    if any(name in first for name in hints.chosen if name and not name.isdecimal()):
        return True
    hits = [name.lower() for name in first if name.lower() in hints.known]
    if len(hits) >= hints.needed and not (hints.values.issuperset(hits) and _is_row(rows, hints)):
        return True
    return any(_is_heading(cells) for cells in zip(*rows, strict=False))


def _is_row(rows: list[list[str]], hints: Hints) -> bool:
    """Whether row 1 is like those below: an integer for its id, or a value that comes again."""
    columns = [[cell.strip() for cell in cells] for cells in zip(*rows, strict=False)]
    keys = columns[hints.key] if hints.key < len(columns) else []
    if len(keys) > 1 and all(_INTEGER.fullmatch(key) for key in keys):
        return True
    return any(top.lower() in hints.values and top in below for top, *below in columns)


def _is_heading(cells: tuple[str, ...]) -> bool:
    """Whether there are only numbers below a text."""
    top, *below = [cell.strip() for cell in cells]
    below = [cell for cell in below if cell not in NULLS]
    numbers = bool(below) and all(map(is_number, below))
    return numbers and top not in NULLS and not is_number(top)


def is_number(cell: str) -> bool:
    """Whether a cell reads as a number.

    >>> is_number("-1e3"), is_number("1st")
    (True, False)
    """
    return _NUMBER.fullmatch(cell) is not None


def column_name(cell: str, number: int) -> str:
    """The name in a cell of the header, or one by its number."""
    name = " ".join(cell.split())
    return (name.lstrip("#% ") if number == 1 else name) or f"column{number}"
