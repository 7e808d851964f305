"""Bound what a small file can claim or expand to, before memory is taken for it."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

from mgae.core.errors import GraphError

# Tables of zeros shrink to a two-hundredth; what shrinks further holds nothing.
_MOST_RATIO = 300
_ALWAYS_ALLOWED = 4 * 2**20
LONGEST_ROW = 1 << 25
LONGEST_ID = 1000  # as much as the service lets a client ask for
_MOST_LONELY = 1_000_000
_NODES_PER_EDGE = 100
_ROWS_PER_BYTE = 20  # an edge takes a byte and more, however it is packed


def most_expanded(compressed: int) -> int:
    """Return how many bytes a compressed file of so many may hold."""
    return max(_ALWAYS_ALLOWED, _MOST_RATIO * compressed)


def check_num_rows(path: Path, rows: int) -> None:
    """Refuse a Parquet file that claims more rows than ids of its size can make.

    Raises:
        GraphError: if it does.
    """
    if rows > max(_MOST_LONELY, _ROWS_PER_BYTE * path.stat().st_size):
        raise GraphError(f"{path} says that it has {rows:,} rows, more than its size can hold")


def too_long(path: Path, what: str) -> GraphError:
    """Return the error for a row that does not end."""
    return GraphError(
        f"{path}: {what} is longer than {LONGEST_ROW:,} bytes, or a quote is never closed: "
        "is this a table?"
    )


def check_num_nodes(where: str, num_nodes: int, num_edges: int) -> None:
    """Refuse a number of nodes that no edges stand behind.

    Raises:
        GraphError: if there are far more nodes than edges join.

    >>> check_num_nodes("a.mtx", 2**31, 3)
    Traceback (most recent call last):
    mgae.core.errors.GraphError: a.mtx: 2,147,483,648 nodes for 3 edges: 1,000,000 nodes, or 100 \
for each edge, are allowed; leave out nodes without an edge
    """
    if num_nodes > max(_MOST_LONELY, _NODES_PER_EDGE * num_edges):
        raise GraphError(
            f"{where}: {num_nodes:,} nodes for {num_edges:,} edges: {_MOST_LONELY:,} nodes, or "
            f"{_NODES_PER_EDGE} for each edge, are allowed; leave out nodes without an edge"
        )


class BoundedGzip(gzip.GzipFile):
    """A gzip file that refuses to expand to hundreds of times its size.

    Raises:
        GraphError: where it does.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._path = path

    def read(self, size: int | None = -1) -> bytes:
        """Read piece by piece, so that what expands too far is noticed early."""
        pieces, left = [], sys.maxsize if size is None or size < 0 else size
        while left and (piece := self._checked(super().read(min(left, _ALWAYS_ALLOWED)))):
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)

    def read1(self, size: int = -1) -> bytes:
        """Read what is there."""
        return self._checked(super().read1(size))

    def readline(self, size: int | None = -1) -> bytes:
        """Read a line; one without an end is refused, not kept."""
        line = super().readline(LONGEST_ROW + 1 if size is None or size < 0 else size)
        if len(line) > LONGEST_ROW:
            raise too_long(self._path, "a line")
        return self._checked(line)

    def _checked(self, content: bytes) -> bytes:
        # What is read of the file by now, not all of it: a long tail excuses no beginning.
        compressed: Any = self.fileobj
        if self.tell() > most_expanded(compressed.tell()):
            raise GraphError(
                f"{self._path} expands to more than {_MOST_RATIO} times its size: if that is "
                "right, unpack it with gzip -d and name the unpacked file"
            )
        return content
