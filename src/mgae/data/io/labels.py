"""Labels as classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from mgae.core.errors import GraphError
from mgae.data.ids import Ids, Nodes, as_texts, counted, listed, no_texts, undictionaried
from mgae.data.io.header import NULLS
from mgae.data.io.noderows import NodeRows


@dataclass(frozen=True)
class Labels:
    """Classes of all nodes: ``y`` [nodes], -1 without one, and the classes' names in order."""

    y: Tensor
    class_names: list[str]
    notes: list[str]


def labels(rows: NodeRows, nodes: Nodes) -> Labels:
    """Classes of all nodes, in the order of their names; ids that are no node are left out.

    Raises:
        GraphError: where no node has a label.
    """
    texts = _label_texts(rows)
    position = nodes.positions(rows.ids.texts)[rows.ids.codes[0]]
    given = ~pc.is_in(texts, pa.array([*NULLS, None])).to_numpy()
    kept = given & (position >= 0)
    if not kept.any():
        raise GraphError(f"{rows.table.where} has no label for any node of the graph")
    labeled = np.flatnonzero(kept)
    found = Ids.of([texts.filter(pa.array(kept))], lambda row: rows.table.place(int(labeled[row])))
    classes = Nodes.of(found)
    y = np.full(len(nodes.ids), -1)
    y[position[kept]] = classes.positions(found.texts)[found.codes[0]]
    notes = _label_notes(rows, position, y)
    return Labels(torch.from_numpy(y), classes.texts.to_pylist(), notes)


def _label_texts(rows: NodeRows) -> pa.ChunkedArray:
    column = undictionaried(rows.columns[0])
    try:
        return as_texts(column)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise no_texts("a label", column, error, rows.table.place) from None


def _label_notes(rows: NodeRows, position: np.ndarray, y: np.ndarray) -> list[str]:
    notes = []
    ids = rows.ids.texts.take(pa.array(rows.ids.codes[0]))
    if unknown := ids.filter(pa.array(position < 0)).to_pylist():
        count = counted(len(unknown), "unknown id")
        notes.append(f"{rows.table.where}: labels of {count} left out: {listed(unknown)}")
    if without := int((y < 0).sum()):
        count = counted(without, "node")
        notes.append(f"{rows.table.where}: {count} of {len(y):,} without a label")
    return notes
