"""Ids that look alike and are not the same: 007 and 7, Ann and ann."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from mgae.data.ids import counted, listed

_MOST = 200_000  # ids to compare; more take seconds


def looks(text: str) -> str:
    """Return what an id looks like: without case, leading zeros and odd blanks.

    >>> looks("007") == looks("7"), looks("Ann Lee") == looks("ann  lee")
    (True, True)
    """
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return plain.lstrip("0") or "0" if plain.isdecimal() else plain


def alike_notes(where: str, texts: Iterable[str]) -> list[str]:
    """Return a note if some of these different ids look alike; none if they are too many."""
    ids = list(texts)
    if len(ids) > _MOST:
        return []
    by_look: dict[str, list[str]] = {}
    for text in ids:
        by_look.setdefault(looks(text), []).append(text)
    groups = sorted(group for group in by_look.values() if len(group) > 1)
    if not groups:
        return []
    shown = listed([" and ".join(map(repr, sorted(group))) for group in groups], 3)
    count = "1 node looks" if len(groups) == 1 else f"{len(groups):,} nodes look"
    return [f"{where}: {count} like another and has another id: {shown}; write them the same way "
            "if they are the same"]  # fmt: skip


def alike_hint(unknown: Iterable[str], known: Iterable[str]) -> str:
    """Return which ids of ``known`` some of ``unknown`` look like, in brackets; or ""."""
    by_look = {looks(text): text for text in known}
    pairs = [(text, by_look[look]) for text in unknown if (look := looks(text)) in by_look]
    if not pairs:
        return ""
    shown = listed([f"{mine} is {theirs} there" for mine, theirs in pairs], 3)
    return f" ({counted(len(pairs), 'id')} written in another way: {shown})"
