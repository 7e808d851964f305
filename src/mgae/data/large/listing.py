"""Read tables of edges piece by piece, and leave each piece in files of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from mgae.core.errors import GraphError
from mgae.data.ids import Ids
from mgae.data.io.delimited import OnProgress
from mgae.data.io.edges import EdgeList, edge_columns, edge_hints, weights_of
from mgae.data.io.options import InputSettings
from mgae.data.io.tables import Table, header_notes, open_table

ROWS = 1 << 20  # of a piece


@dataclass(frozen=True)
class Piece:
    """Some listed edges in files: distinct ids, and the two ends of each edge as their numbers."""

    folder: Path
    number: int

    @property
    def ids_file(self) -> Path:
        """Return where the distinct ids are, an Arrow file."""
        return self.folder / f"ids-{self.number}.arrow"

    @property
    def ends_file(self) -> Path:
        """Return where the ends are [2, rows], first as numbers of this piece, then of all ids."""
        return self.folder / f"ends-{self.number}.npy"

    @property
    def weight_file(self) -> Path:
        """Return where the weights are [rows], if there are any."""
        return self.folder / f"weight-{self.number}.npy"

    def write(self, edges: EdgeList) -> None:
        """Write what was read."""
        texts = pa.table({"id": edges.ids.texts})
        with pa.OSFile(str(self.ids_file), "wb") as sink, pa.ipc.new_file(sink, texts.schema) as to:
            to.write_table(texts)
        np.save(self.ends_file, np.stack(edges.ids.codes).astype(np.int32))
        if edges.weight is not None:
            np.save(self.weight_file, edges.weight.astype(np.float64))

    def ids(self) -> pa.ChunkedArray:
        """Return the distinct ids, mapped from the file."""
        with pa.memory_map(str(self.ids_file)) as source:
            return pa.ipc.open_file(source).read_all()["id"]


@dataclass(frozen=True)
class Listing:
    """All pieces, and what the tables say of themselves.

    Attributes:
        pieces: in the order of the rows.
        columns: the names of the two columns with the ends.
        weighted: whether each edge has a weight.
        notes: remarks for the user.
    """

    pieces: tuple[Piece, ...]
    columns: tuple[str, str]
    weighted: bool
    notes: tuple[str, ...]


def list_edges(
    paths: Sequence[Path], settings: InputSettings, folder: Path, on_progress: OnProgress
) -> Listing:
    """Write the edges of all tables into ``folder``, piece by piece.

    Raises:
        GraphError: if a table cannot be read, or only some of the tables have weights.
    """
    pieces: list[Piece] = []
    names, weighted, notes = ("source", "target"), None, dict[str, None]()
    for index, path in enumerate(paths):
        table = open_table(path, edge_hints(settings), _share_of(index, len(paths), on_progress))
        source, target, weight = edge_columns(table, settings)
        if weighted is not None and weighted != (weight is not None):
            raise GraphError(
                f"{path}: {'has' if weight is not None else 'has no'} weights, unlike "
                f"{paths[0]}: prepare them apart, or name no weight column"
            )
        weighted = weight is not None
        if index == 0 and table.named:
            names = table.names[source], table.names[target]
        notes |= dict.fromkeys(header_notes(table))
        for edges in _pieces(table, source, target, weight):
            pieces.append(Piece(folder, len(pieces)))
            pieces[-1].write(edges.signed(settings.weights))
    return Listing(tuple(pieces), names, bool(weighted), tuple(notes))


def _share_of(index: int, count: int, on_progress: OnProgress) -> OnProgress:
    """Return a callback that turns the share of one file into that of all."""
    return lambda stage, share: on_progress(stage, (index + share) / count)


def _pieces(table: Table, source: int, target: int, weight: int | None) -> Iterator[EdgeList]:
    columns = [number for number in (source, target, weight) if number is not None]
    before = 0
    for parts in _gathered(table, columns):
        first = before
        ids = Ids.of(parts[:2], lambda row, first=first: table.locate(row + first))  # type: ignore[misc]
        weights = None if weight is None else weights_of(parts[2], table)
        yield EdgeList(table.where, ids, weights)
        before += len(parts[0])


def _gathered(table: Table, columns: Sequence[int]) -> Iterator[list[pa.ChunkedArray]]:
    """Yield columns of at least `ROWS` rows, but for the last, and of at most twice as many."""
    waiting: list[list[pa.ChunkedArray]] = []
    for part in table.pieces(columns):
        for start in range(0, len(part[0]), ROWS):
            waiting.append([column.slice(start, ROWS) for column in part])
            if sum(len(one[0]) for one in waiting) >= ROWS:
                yield _joined(waiting)
                waiting = []
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[list[pa.ChunkedArray]]) -> list[pa.ChunkedArray]:
    return [
        pa.chunked_array([chunk for column in columns for chunk in column.chunks])
        for columns in zip(*parts, strict=True)
    ]
