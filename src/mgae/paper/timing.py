"""How long the rest of a table will take."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from mgae.paper.document import DONE, Record
from mgae.paper.plan import Cell


def seconds_left(
    cells: Sequence[Cell],
    records: Mapping[int, Record],
    earlier: Mapping[int, Record],
    finished: Mapping[int, int],
    jobs: int,
) -> float | None:
    """An estimate from the cells that have figures; None before the first.

    A run takes as long as the mean run on its graph, of the same kind (floors apart), or else as
    the mean of all; what an ``earlier`` reproduction has measured counts. Of each cell so many
    runs are ``finished`` and only read again.
    """
    known: dict[tuple[str, bool], list[float]] = {}
    for index, record in {**earlier, **records}.items():
        if record["status"] == DONE:
            known.setdefault(_kind(cells[index]), []).extend(record["seconds"])
    if not known:
        return None
    usual = statistics.fmean(value for values in known.values() for value in values)
    means = {kind: statistics.fmean(values) for kind, values in known.items()}
    rest = [(index, cell) for index, cell in enumerate(cells) if index not in records]
    missing = ((cell, cell.config.runs - finished.get(index, 0)) for index, cell in rest)
    return sum(runs * means.get(_kind(cell), usual) for cell, runs in missing) / jobs


def in_words(seconds: float | None) -> str:
    """A time as one says it.

    >>> in_words(40), in_words(400), in_words(40000), in_words(None)
    ('40 s', '7 min', '11.1 h', 'unknown')
    """
    if seconds is None:
        return "unknown"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _kind(cell: Cell) -> tuple[str, bool]:
    return cell.dataset, cell.row.group == "floor"
