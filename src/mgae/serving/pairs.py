"""Score files of pairs, piece by piece; read files of ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import torch

from mgae.core.errors import GraphError
from mgae.data.ids import Ids, counted, listed
from mgae.data.io.delimited import DelimitedTable, OnProgress, open_bytes
from mgae.data.io.edges import as_columns, edge_columns, edge_hints
from mgae.data.io.headers import Hints
from mgae.data.io.noderows import ID_NAMES
from mgae.data.io.options import InputSettings
from mgae.data.io.tables import Table, find_column, header_notes, open_table
from mgae.serving.nodeindex import NodeIndex
from mgae.serving.predictor import Predictor

Unknown = Literal["refuse", "skip", "nan"]


def scored_pairs(
    predictor: Predictor,
    path: Path,
    settings: InputSettings,
    on_progress: OnProgress,
    on_note: Callable[[str], None] = lambda note: None,
    unknown: Unknown = "refuse",
) -> Iterator[pa.RecordBatch]:
    """Yield the pairs of a file with ``score`` and ``balanced_probability``, as they are read.

    Args:
        predictor: scores them.
        path: the file.
        settings: which columns have the ids.
        on_progress: called with the stage and the share that is done.
        on_note: gets what the user should know, at the end.
        unknown: what becomes of a pair with an id that is no node: ``refuse``, ``skip`` it, or
            keep it with scores of ``nan``; then ids are written as they were read, as texts.

    Raises:
        GraphError: if the file cannot be read, or an id is refused, with its line.
    """
    settings = as_columns(path, settings, predictor.fields.get("edge_columns"))
    table = open_table(path, edge_hints(settings), on_progress)
    columns = edge_columns(table, settings)[:2]
    if ignored := [name for n, name in enumerate(table.names) if n not in columns]:
        on_note(f"{table.where}: columns ignored: {listed(ignored, 20)}")
    for note in header_notes(table):
        on_note(note)
    names = [table.names[n] for n in columns] if table.named else ["source", "target"]
    before, missed = 0, 0
    for cells in table.pieces(columns):
        piece = _Piece.read(predictor.nodes, table, cells, before)
        if unknown == "refuse":
            piece.require_known()
        missed += int((~piece.known).sum())
        yield piece.scored(predictor, names, as_nan=unknown == "nan")
        before += len(cells[0])
    if before == 0:
        raise GraphError(f"{path} has no pairs")
    if missed:
        fate = "left out" if unknown == "skip" else "without a score"
        on_note(f"{missed:,} of {counted(before, 'pair')} {fate}: an id of theirs is no node")


@dataclass(frozen=True)
class _Piece:
    """Some rows of a file: their ids, and the nodes' numbers [2, n], -1 for what is no node."""

    nodes: NodeIndex
    table: Table
    ids: Ids
    numbers: np.ndarray

    @classmethod
    def read(
        cls, nodes: NodeIndex, table: Table, cells: list[pa.ChunkedArray], before: int
    ) -> _Piece:
        """Look up the ids; ``before`` rows stand above."""
        ids = Ids.of(cells, lambda row: table.locate(before + row))
        # Ids of two sides that have prefixes may come without: the column says which side it is.
        columns = [nodes.numbers_of(ids.texts, side) for side in (0, 1)]
        numbers = [own[codes] for own, codes in zip(columns, ids.codes, strict=True)]
        return cls(nodes, table, ids, np.stack(numbers))

    @property
    def known(self) -> np.ndarray:
        """Return whether both ends are nodes: [n]."""
        return np.asarray((self.numbers >= 0).all(axis=0))

    def require_known(self) -> None:
        """Refuse an id that is no node."""
        if self.known.all():
            return
        row = int(np.argmin(self.known))
        end = int(np.argmin(self.numbers[:, row]))
        where, text = self.ids.locate(row), self.ids.texts[int(self.ids.codes[end][row])].as_py()
        names = not self.table.named and where == self.table.locate(0)
        hint = "; if row 1 names the columns, give --source-column and --target-column"
        way = " (--unknown skip leaves such pairs out)"
        raise GraphError(f"{where}: {self.nodes.unknown(text)}{hint if names else way}")

    def scored(self, predictor: Predictor, names: list[str], as_nan: bool) -> pa.RecordBatch:
        """Return the pairs that are known with their scores; ``as_nan``: the others too."""
        known = self.known
        scores = predictor.score_numbers(torch.from_numpy(self.numbers[:, known]))
        columns = [scores.logit, scores.balanced_probability]
        if as_nan:
            ends = [self.ids.texts.take(pa.array(codes)) for codes in self.ids.codes]
            filled = [_spread(values, known) for values in columns]
        else:
            ends = [self.nodes.column.take(pa.array(row)) for row in self.numbers[:, known]]
            filled = columns
        added = [pa.array(values) for values in filled]
        written = [*names, "score", "balanced_probability"]
        if (titles := self.nodes.titles) is not None:
            rows = self.numbers if as_nan else self.numbers[:, known]
            # What is no node has no title.
            added += [titles.take(pa.array(row, mask=row < 0)) for row in rows]
            written += [f"{name}_title" for name in names]
        return pa.RecordBatch.from_arrays([*ends, *added], written)


def _spread(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    spread = np.full(len(known), np.nan)
    spread[known] = values
    return spread


def listed_nodes(
    nodes: NodeIndex, path: Path, on_progress: OnProgress, encoding: str | None = None
) -> list[int]:
    """Return the numbers of the nodes that a file lists: one id per row, in a column of ids.

    Raises:
        GraphError: if the file cannot be read, or an id is no node, with its line.
    """
    encoding = InputSettings(encoding=encoding).encoding
    table = open_table(path, Hints(known=ID_NAMES, keys=1, encoding=encoding), on_progress)
    if isinstance(table, DelimitedTable) and table.layout.delimiter == " ":
        ids = _lines(path, table.encoding)  # blanks are part of names here, as in New York
    else:
        column = find_column(table, "the ids", None, ID_NAMES) or 0
        ids = Ids.of(table.read([column], [column]), table.locate)
    numbers = nodes.numbers_of(ids.texts)
    if (unknown := np.flatnonzero(numbers < 0)).size:
        where, text = ids.location_of(int(unknown[0])), ids.texts[int(unknown[0])].as_py()
        raise GraphError(f"{where}: {nodes.unknown(text)}")
    return [int(number) for number in numbers]


def _lines(path: Path, encoding: str | None) -> Ids:
    """Return the lines of a text that are not blank as ids."""
    with open_bytes(path, encoding) as stream:
        lines = [line.strip().decode("utf-8", "replace") for line in stream]
    kept = [number for number, line in enumerate(lines) if line]
    column = pa.chunked_array([pa.array([lines[number] for number in kept], pa.string())])
    return Ids.of([column], lambda row: f"{path}, line {kept[row] + 1}")
