"""Number the ids of all pieces in one order; memory follows the distinct ids, not the edges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mgae.core.errors import GraphError
from mgae.data.ids import in_order
from mgae.data.io.delimited import OnProgress
from mgae.data.large.listing import ROWS, Piece


@dataclass(frozen=True)
class Numbering:
    """All ids in order, and how often each is an end.

    Attributes:
        ids: integers or texts [n], as the graph has them.
        degree: listed edges, without self-loops, that have the id as an end [n].
        is_source, is_target: whether it is in the first and in the second column [n].
        loops: how many self-loops are listed.
    """

    ids: pa.Array
    degree: np.ndarray
    is_source: np.ndarray
    is_target: np.ndarray
    loops: int


def number_ids(pieces: Sequence[Piece], where: str, on_progress: OnProgress) -> Numbering:
    """Put all ids into the order of `Nodes`, and rewrite the ends of all pieces as their numbers.

    Raises:
        GraphError: if an id does not fit, or there are too many.
    """
    ids, texts = in_order(_distinct(pieces, on_progress), lambda text: where)
    count = len(ids)
    if count >= np.iinfo(np.int32).max:
        raise GraphError(f"{where}: {count:,} nodes, and 2,147,483,646 are the most")
    degree = np.zeros(count, np.int64)
    sides = np.zeros((2, count), bool)
    loops, done = 0, 0
    for group in _groups(pieces, max(count, ROWS)):
        numbers = pc.index_in(pa.chunked_array(list(_chunks(group))), texts).to_numpy()
        for piece in group:
            own, numbers = np.split(numbers, [len(piece.ids())])
            ends = own.astype(np.int32)[np.load(piece.ends_file)]
            np.save(piece.ends_file, ends)
            for side, column in zip(sides, ends, strict=True):
                side[column] = True
            kept = ends[0] != ends[1]
            loops += int((~kept).sum())
            for column in ends:
                degree += np.bincount(column[kept], minlength=count)
            done += 1
            on_progress("numbering the nodes", done / len(pieces))
    return Numbering(ids, degree, sides[0], sides[1], loops)


def _chunks(pieces: Iterable[Piece]) -> Iterator[pa.Array]:
    for piece in pieces:
        yield from piece.ids().chunks


def _distinct(pieces: Sequence[Piece], on_progress: OnProgress) -> pa.Array:
    """Return the distinct ids of all pieces; repeated ones are dropped whenever they are many."""
    known, waiting, count = pa.chunked_array([], pa.string()), list[pa.Array](), 0
    for number, piece in enumerate(pieces):
        chunks = piece.ids().chunks
        waiting, count = waiting + chunks, count + sum(map(len, chunks))
        if count > max(len(known), 2 * ROWS) or number == len(pieces) - 1:
            known = pa.chunked_array([*known.chunks, *waiting]).unique()
            known, waiting, count = pa.chunked_array([known]), [], 0
        on_progress("collecting the nodes", (number + 1) / len(pieces))
    return known.combine_chunks()


def _groups(pieces: Sequence[Piece], size: int) -> Iterator[list[Piece]]:
    """Yield pieces that have about ``size`` ids together: each look-up hashes all ids anew."""
    group, count = list[Piece](), 0
    for piece in pieces:
        group.append(piece)
        count += len(piece.ids())
        if count >= size:
            yield group
            group, count = [], 0
    if group:
        yield group
