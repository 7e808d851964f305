"""Tell the names of columns in row 1 from a first row of data.

What is certain is a header silently; what is likely is one with a note, and what is doubtful is
asked about by whoever reads the rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

NULLS = ("", "NA", "N/A", "null", "NULL", "None")
Header = Literal["no", "likely", "yes"]

# What people call the two ends of an edge, or a node.
_NOUN_LIST = (
    "user item follower followee followed follows customer client product article paper cites "
    "cited citing citation reference author coauthor gene protein drug disease target "
    "compound person people friend buyer seller sender receiver recipient caller callee "
    "parent child movie film book song artist track playlist page word term node vertex "
    "vertice entity subject object company firm employee manager supervisor student teacher "
    "course member group team player actor director city country airport station stop origin "
    "destination start end left right first second source sink from to head tail account "
    "merchant shop store order patient doctor species host domain router device ip repo "
    "package dependency question answer post comment reply recipe ingredient tag category "
    "query document doc influencer subscriber channel video artwork organization institution "
    "email name key who whom predecessor successor upstream downstream"
)
_NOUNS = frozenset(_NOUN_LIST.split())
_SUFFIX = re.compile(r"(?:[\s_.-]*(?:ids?|names?|keys?|nr|num|number|code|uri|\d)|[\s_.-][a-z])$")
_ID = re.compile(r"(?:^|[\s_.-])id$|[a-z]Id$|[a-z]ID$")
# The last letters of two names that are alike but for them: gene_a and gene_b, u and v.
_TWINS = frozenset({("a", "b"), ("1", "2"), ("0", "1"), ("x", "y"), ("u", "v"), ("i", "j")})
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf|infinity)", re.IGNORECASE)
_INTEGER = re.compile(r"[+-]?\d+")
_ENOUGH = 3  # rows below, to judge row 1 by how they look


@dataclass(frozen=True)
class Hints:
    """What is known of a table before its first line is read.

    Attributes:
        header: ``auto``, ``yes`` or ``no``.
        known: names, in lower case, of which ``needed`` in row 1 make it a header.
        chosen: columns that the user asked for.
        values: those of the known names that may as well be values of a row.
        key: the number of the column with the ids, which tells ``values`` from names.
        keys: how many columns hold ids, from ``key`` on.
        encoding: of the file, if it is not UTF-8.
    """

    header: str = "auto"
    known: frozenset[str] = frozenset()
    needed: int = 1
    chosen: tuple[str | None, ...] = ()
    values: frozenset[str] = frozenset()
    key: int = 0
    keys: int = 2
    encoding: str | None = None


def is_number(cell: str) -> bool:
    """Return whether a cell reads as a number.

    >>> is_number("-1e3"), is_number("1st")
    (True, False)
    """
    return _NUMBER.fullmatch(cell) is not None


def shape(cell: str) -> str:
    """Return what a cell is built of.

    >>> shape("u17-AB")
    'a9-a'
    """
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", cell))


def column_name(cell: str, number: int) -> str:
    """Return the name in a cell of the header, or one by its number."""
    name = " ".join(cell.split())
    return (name.lstrip("#% ") if number == 1 else name) or f"column{number}"


def detect_header(rows: list[list[str]], hints: Hints) -> Header:
    """Return whether row 1 has the names of the columns, judged by the rows below."""
    if hints.header != "auto":
        return "yes" if hints.header == "yes" else "no"
    first = [column_name(cell, number) for number, cell in enumerate(rows[0], 1)]
    if any(name in first for name in hints.chosen if name and not name.isdecimal()):
        return "yes"
    hits = [name.lower() for name in first if name.lower() in hints.known]
    if len(hits) >= hints.needed and not (hints.values.issuperset(hits) and _is_row(rows, hints)):
        return "yes"
    if any(_is_heading(cells) for cells in zip(*rows, strict=False)):
        return "yes"
    return "likely" if _is_likely(first, rows, hints) else "no"


def _is_row(rows: list[list[str]], hints: Hints) -> bool:
    """Return whether row 1 is like those below: an integer as its id, or a repeated value."""
    columns = [[cell.strip() for cell in cells] for cells in zip(*rows, strict=False)]
    keys = columns[hints.key] if hints.key < len(columns) else []
    if len(keys) > 1 and all(_INTEGER.fullmatch(key) for key in keys):
        return True
    return any(top.lower() in hints.values and top in below for top, *below in columns)


def _is_heading(cells: tuple[str, ...]) -> bool:
    """Return whether the first cell is a text and all below are numbers."""
    top, *below = [cell.strip() for cell in cells]
    below = [cell for cell in below if cell not in NULLS]
    numbers = bool(below) and all(map(is_number, below))
    return numbers and top not in NULLS and not is_number(top)


def _is_likely(first: list[str], rows: list[list[str]], hints: Hints) -> bool:
    """Return whether row 1 reads as names, and none of its ids occurs again."""
    columns = slice(hints.key, hints.key + hints.keys)
    names = [name.strip() for name in first[columns]]
    below = [[cell.strip() for cell in row[columns]] for row in rows[1:]]
    again = {cell for row in below for cell in row}
    if not names or not below or any(name in again or is_number(name) for name in names):
        return False
    if all(map(_is_noun, names)):
        return True
    return _are_twins(names, below) or _lack_digits(names, below)


def _is_noun(name: str) -> bool:
    """Return whether a name is what people call a node, or ends in id.

    >>> [_is_noun(name) for name in ("customer_id", "userId", "gene_a", "Movies", "xyz_id", "Ann")]
    [True, True, True, True, True, False]
    """
    if _ID.search(name):
        return True
    lower = name.lower()
    forms = {lower, _SUFFIX.sub("", lower), lower.removesuffix("s")}
    return bool(forms & _NOUNS)


def _are_twins(names: Sequence[str], below: list[list[str]]) -> bool:
    """Return whether two names differ in a last letter that counts, and no row is named so."""
    if len(names) != 2 or len({name[:-1].lower() for name in names}) != 1:
        return False
    stem, ends = names[0][:-1].lower(), (names[0][-1].lower(), names[1][-1].lower())
    rest = [cell.lower().removeprefix(stem) for row in below for cell in row]
    # Where all nodes are single letters, or p1, p2, …, these two are nodes like them.
    alike = [len(cell) <= 1 or cell.isdecimal() for cell in rest]
    return ends in _TWINS and not any(alike)


def _lack_digits(names: Sequence[str], below: list[list[str]]) -> bool:
    """Return whether every id below has a digit, and row 1 has none."""
    digits = [any(letter.isdigit() for letter in cell) for row in below for cell in row]
    plain = not any(letter.isdigit() for name in names for letter in name)
    return len(below) >= _ENOUGH and all(digits) and plain
