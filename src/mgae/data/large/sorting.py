"""Sort the edges of all pieces by target and source, a range of targets at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mgae.data.io.delimited import OnProgress
from mgae.data.large.listing import Piece

ENTRIES = 1 << 23  # of a range, so that it is sorted in memory
_MOST_RANGES = 256  # each has an open file
_ITEM = np.dtype([("code", np.int64), ("weight", np.float64)])


@dataclass(frozen=True)
class SortedRange:
    """The merged edges into a range of targets.

    Attributes:
        keys: ``target * num_nodes + source``, rising [m].
        weight: [m], or None.
        duplicates: how many listed edges were merged into another of their direction.
        twice: how many edges were listed both ways; each counts in the ranges of both its ends.
    """

    keys: np.ndarray
    weight: np.ndarray | None
    duplicates: int
    twice: int


def sorted_ranges(
    pieces: Sequence[Piece],
    degree: np.ndarray,
    weighted: bool,
    folder: Path,
    on_progress: OnProgress,
) -> Iterator[SortedRange]:
    """Yield all edges in both directions, range by range, merged and without self-loops.

    Args:
        pieces: the listed edges, as numbers of nodes.
        degree: how many of them have a node as an end [num_nodes].
        weighted: whether they have weights.
        folder: for files that are removed as they are read.
        on_progress: called with the stage and the share that is done.
    """
    ends = np.cumsum(degree)
    size = max(ENTRIES, -(-int(ends[-1]) // _MOST_RANGES))
    starts = np.searchsorted(ends, np.arange(size, int(ends[-1]) + 1, size)) + 1
    bounds = np.unique(starts[starts < len(degree)])
    files = [folder / f"range-{number}.bin" for number in range(len(bounds) + 1)]
    _distribute(pieces, len(degree), bounds, files, weighted, on_progress)
    for number, file in enumerate(files):
        items = np.fromfile(file, _ITEM if weighted else np.int64)
        file.unlink()
        yield _merged(items) if weighted else _distinct(items)
        on_progress("sorting the edges", (number + 1) / len(files))


def _distribute(
    pieces: Sequence[Piece],
    num_nodes: int,
    bounds: np.ndarray,
    files: Sequence[Path],
    weighted: bool,
    on_progress: OnProgress,
) -> None:
    """Append each edge and its reverse to the file of its target's range."""
    with ExitStack() as stack:
        streams = [stack.enter_context(file.open("wb")) for file in files]
        for done, piece in enumerate(pieces, 1):
            ends = np.load(piece.ends_file).astype(np.int64)
            kept = ends[0] != ends[1]
            source, target = ends[:, kept]
            # The last bit says whether the edge is listed or the reverse of a listed one.
            codes = np.concatenate(
                [(target * num_nodes + source) * 2, (source * num_nodes + target) * 2 + 1]
            )
            items = codes
            if weighted:
                items = np.empty(len(codes), _ITEM)
                items["code"] = codes
                items["weight"] = np.tile(np.load(piece.weight_file)[kept], 2)
            into = np.searchsorted(bounds, np.concatenate([target, source]), side="right")
            order = np.argsort(into.astype(np.uint16), kind="stable")
            parts = np.searchsorted(into[order], np.arange(1, len(files)))
            for stream, part in zip(streams, np.split(items[order], parts), strict=True):
                part.tofile(stream)
            on_progress("distributing the edges", done / len(pieces))


def _distinct(codes: np.ndarray) -> SortedRange:
    codes.sort()
    listed = codes[_first(codes)]
    keys = listed >> 1
    once = _first(keys)
    return SortedRange(keys[once], None, len(codes) - len(listed), int((~once).sum()))


def _merged(items: np.ndarray) -> SortedRange:
    """Add the weights of equal edges; of the two sums of a pair listed both ways take the mean."""
    # In a fixed order, so that rounding does not depend on the order of the rows.
    order = np.lexsort((items["weight"], items["code"]))
    codes, weight = items["code"][order], items["weight"][order]
    start = np.flatnonzero(_first(codes))
    total = np.add.reduceat(weight, start) if len(start) else weight
    keys = codes[start] >> 1
    once = np.flatnonzero(_first(keys))
    ways = np.diff(np.append(once, len(keys)))
    mean = np.add.reduceat(total, once) / ways if len(once) else total
    return SortedRange(keys[once], mean, len(codes) - len(start), int((ways == 2).sum()))


def _first(values: np.ndarray) -> np.ndarray:
    """Return which of sorted values [n] differ from the one before."""
    first = np.ones(len(values), bool)
    first[1:] = values[1:] != values[:-1]
    return first
