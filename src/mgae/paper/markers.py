"""Where a page takes a table: between two comments, each on a line of its own.

<!-- results:NAME -->
<!-- end -->
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from mgae.core.errors import RunDirectoryError, hint

_MARKER = re.compile(r"^<!-- (?:results:(.*)|end) -->$", re.MULTILINE)
_Pair = tuple[re.Match[str], re.Match[str]]


def asked_for(text: str) -> set[str]:
    """The names of the tables that a page takes."""
    return {marker[1] for marker in _MARKER.finditer(text) if marker[1] is not None}


def filled(text: str, page: Path, tables: Mapping[str, str]) -> str:
    """A page with the tables between their markers, and all else as it was.

    Raises:
        RunDirectoryError: where a marker has no partner, or asks for a table that is not there.
    """
    parts, at = [], 0
    for start, end in _pairs(text, page):
        if start[1] not in tables:
            raise RunDirectoryError(
                f"{page} asks for results:{start[1]}, and there are {', '.join(tables)}"
                f"{hint(start[1], tables)}: mend the marker, or run mgae reproduce first"
            )
        parts += [text[at : start.end()], f"\n\n{tables[start[1]]}\n\n"]
        at = end.start()
    return "".join([*parts, text[at:]])


def _pairs(text: str, page: Path) -> list[_Pair]:
    pairs: list[_Pair] = []
    begun: re.Match[str] | None = None
    for marker in _MARKER.finditer(text):
        ends = marker[1] is None
        if begun is not None and ends:
            pairs.append((begun, marker))
            begun = None
        elif begun is None and not ends:
            begun = marker
        else:
            raise _unpaired(begun or marker, page)
    if begun is not None:
        raise _unpaired(begun, page)
    return pairs


def _unpaired(marker: re.Match[str], page: Path) -> RunDirectoryError:
    line = marker.string.count("\n", 0, marker.start()) + 1
    partner = "<!-- results:NAME --> before it" if marker[1] is None else "<!-- end --> of its own"
    return RunDirectoryError(f"{page}, line {line}: {marker[0]} has no {partner}: put it there")
