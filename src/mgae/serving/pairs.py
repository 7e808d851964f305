"""Score files of pairs, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch

from mgae.core.errors import GraphError
from mgae.data.ids import Ids, listed
from mgae.data.io.delimited import OnProgress
from mgae.data.io.edges import edge_columns, edge_hints
from mgae.data.io.options import InputSettings
from mgae.data.io.tables import Table, open_table
from mgae.serving.predictor import Predictor


def scored_pairs(
    predictor: Predictor,
    path: Path,
    settings: InputSettings,
    on_progress: OnProgress,
    on_note: Callable[[str], None] = lambda note: None,
) -> Iterator[pa.RecordBatch]:
    """Yield the pairs of a file with ``score`` and ``probability``, as they are read.

    ``on_note`` gets the names of columns that are left out.

    Raises:
        GraphError: if the file cannot be read, or an id is no node, with its line.
    """
    table = open_table(path, edge_hints(settings), on_progress)
    columns = edge_columns(table, settings)[:2]
    if ignored := [name for n, name in enumerate(table.names) if n not in columns]:
        on_note(f"{table.where}: columns ignored: {listed(ignored, 20)}")
    names = [table.names[n] for n in columns] if table.named else ["source", "target"]
    before, empty = 0, True
    for piece in table.pieces(columns):
        yield _score(predictor, names, _numbers(predictor, table, piece, before))
        before, empty = before + len(piece[0]), False
    if empty:
        raise GraphError(f"{path} has no pairs")


def _numbers(
    predictor: Predictor, table: Table, piece: list[pa.ChunkedArray], before: int
) -> np.ndarray:
    """Return the nodes' numbers [2, n]; ``before`` rows stand above."""
    ids = Ids.of(piece, lambda row: table.locate(before + row))
    # The ids of two sides that have prefixes may come without them: the column says the side.
    columns = [predictor.nodes.numbers_of(ids.texts, side) for side in (0, 1)]
    numbers = np.stack([own[codes] for own, codes in zip(columns, ids.codes, strict=True)])
    if (numbers < 0).any():
        row = int((numbers < 0).any(axis=0).argmax())
        code = ids.codes[int((numbers[:, row] < 0).argmax())][row]
        where, text = ids.locate(row), ids.texts[int(code)].as_py()
        names = not table.named and where == table.locate(0)
        hint = "; if row 1 names the columns, give --source-column and --target-column"
        raise GraphError(f"{where}: {predictor.nodes.unknown(text)}{hint if names else ''}")
    return numbers


def _score(predictor: Predictor, names: list[str], numbers: np.ndarray) -> pa.RecordBatch:
    scores = predictor.score_numbers(torch.from_numpy(numbers))
    ends = [predictor.nodes.column.take(pa.array(row)) for row in numbers]
    columns = [*ends, pa.array(scores.logit), pa.array(scores.probability)]
    return pa.RecordBatch.from_arrays(columns, [*names, "score", "probability"])
