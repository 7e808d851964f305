"""Tables about nodes: features for every node, and labels as classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from mgae.errors import GraphError
from mgae.graphs.encoding import encoded, encoded_as
from mgae.graphs.ids import Ids, Nodes, as_texts, counted, first_refused, listed, undictionaried
from mgae.graphs.layout import NULLS, Hints
from mgae.graphs.tables import Table, find_column
from mgae.sections import InputSettings

ID_NAMES = frozenset({"id", "node", "node_id", "nodeid", "name", "__index_level_0__"})
LABEL_NAMES = frozenset({"label", "class", "y", "target"})


@dataclass(frozen=True)
class NodeRows:
    """A table with a row per node.

    Attributes:
        table: where the rows come from.
        ids: one column [rows], all distinct.
        names: of the other columns.
        columns: these, [rows] each.
    """

    table: Table
    ids: Ids
    names: tuple[str, ...]
    columns: tuple[pa.ChunkedArray, ...]


@dataclass(frozen=True)
class Features:
    """Features of all nodes: ``x`` [nodes, F], the columns' names, and how they came about."""

    x: Tensor
    names: list[str]
    notes: list[str]


@dataclass(frozen=True)
class KnownFeatures:
    """Columns that features must come in: their names [F], and what a missing number is, [F]."""

    names: tuple[str, ...]
    mean: np.ndarray


@dataclass(frozen=True)
class Labels:
    """Classes of all nodes: ``y`` [nodes], -1 without one, and the classes' names in order."""

    y: Tensor
    class_names: list[str]
    notes: list[str]


def node_hints(settings: InputSettings) -> Hints:
    """What tells the header of a table of nodes from its first node."""
    chosen = (settings.id_column, settings.label_column)
    return Hints(settings.header, ID_NAMES | LABEL_NAMES, 1, chosen)


def feature_rows(table: Table, settings: InputSettings, with_labels: bool) -> NodeRows:
    """The ids and features in a table; ``with_labels`` says that it has the labels too.

    Raises:
        GraphError: where an id is missing or stands there twice, or there are no features.
    """
    ids = _id_column(table, settings)
    label = _label_column(table, settings, ids) if with_labels else None
    columns = [number for number in range(len(table.names)) if number not in (ids, label)]
    if not columns:
        raise GraphError(f"{table.where} has no column beside {table.names[ids]!r}, the ids")
    return _rows(table, ids, columns, [ids])


def label_rows(table: Table, settings: InputSettings) -> NodeRows:
    """The ids and labels in a table.

    Raises:
        GraphError: where an id is missing or stands there twice, or there are no labels.
    """
    ids = _id_column(table, settings)
    label = _label_column(table, settings, ids)
    return _rows(table, ids, [label], [ids, label])


def _id_column(table: Table, settings: InputSettings) -> int:
    return find_column(table, "input.id_column", settings.id_column, ID_NAMES) or 0


def _label_column(table: Table, settings: InputSettings, ids: int) -> int:
    label = find_column(table, "input.label_column", settings.label_column, LABEL_NAMES, {ids})
    others = [number for number in range(len(table.names)) if number != ids]
    if label is None and others:
        label = others[0]
    if label is None or label == ids:
        raise GraphError(f"{table.where} has no labels beside {table.names[ids]!r}, the ids")
    return label


def _rows(table: Table, ids: int, columns: list[int], text: list[int]) -> NodeRows:
    first, *others = table.read([ids, *columns], text)
    keys = Ids.of([first], table.place)
    if len(twice := keys.second_rows()):
        name = keys.texts[int(keys.codes[0][twice[0]])]
        raise GraphError(f"{table.place(int(twice[0]))}: a second row for the id {listed([name])}")
    names = tuple(table.names[number] for number in columns)
    return NodeRows(table, keys, names, tuple(others))


def features(
    rows: NodeRows, nodes: Nodes, missing: str, known: KnownFeatures | None = None
) -> Features:
    """Features of all nodes; a missing number gets the mean of its column.

    ``missing`` is what a node without a row gets: ``zero``, the ``mean``, or ``refuse``. With
    ``known`` the features come in the columns that a model was trained on.

    Raises:
        GraphError: at a number that is not finite, or where a node without a row is refused.
    """
    where, position = rows.table.where, nodes.positions(rows.ids.texts)[rows.ids.codes[0]]
    # By node, so that a mean does not depend on the order of the rows.
    order = np.argsort(position)
    if known is None:
        values, names, notes = _encoded_columns(rows, order)
    else:
        values, names, notes = _known_columns(rows, known)[order], list(known.names), []
    if not names:
        raise GraphError(f"{where} has no values beside the ids")
    x = np.zeros((len(nodes.ids), len(names)), np.float32)
    x[position[order]] = values
    notes += _fill_absent(x, position, rows, nodes, missing)
    return Features(torch.from_numpy(x), names, [f"{where}: {note}" for note in notes])


def _encoded_columns(rows: NodeRows, order: np.ndarray) -> tuple[np.ndarray, list[str], list[str]]:
    """The rows' features in this order, [rows, F], the names of the F columns, and notes."""
    blocks: list[np.ndarray] = []
    names: list[str] = []
    notes, gaps = [], []
    for name, column in zip(rows.names, rows.columns, strict=True):
        block = encoded(name, column, rows.table.place)
        values, count = _filled(block.values[order])
        blocks.append(values)
        names += block.names
        notes += [f"column {name!r}: {block.note}"] if block.note else []
        gaps += [f"{name} ({count:,})"] if count else []
    if gaps:
        notes.append(f"missing numbers set to the mean of their column: {listed(gaps)}")
    return np.concatenate(blocks, axis=1), names, notes


def _known_columns(rows: NodeRows, known: KnownFeatures) -> np.ndarray:
    """The rows' features in the known columns, [rows, F]."""
    found = np.empty((len(rows.ids.codes[0]), len(known.names)), np.float32)
    origin = [_origin(name, rows) for name in known.names]
    for number, name in enumerate(rows.names):
        places = [place for place, column in enumerate(origin) if column == number]
        if places:
            names = [known.names[place] for place in places]
            found[:, places] = encoded_as(
                name, rows.columns[number], names, rows.table.place
            ).values
    return np.where(np.isnan(found), known.mean, found)


def _origin(known: str, rows: NodeRows) -> int:
    """The number of the column that a known one comes of: the longest name that fits."""
    fitting = [
        name
        for name in rows.names
        if known == name or known.startswith(tuple(name + m for m in "=:["))
    ]
    if not fitting:
        raise GraphError(
            f"{rows.table.where} has no column for {known!r}, which the model was trained on: "
            f"its columns are {listed(rows.names, 20)}"
        )
    return rows.names.index(max(fitting, key=len))


def _filled(values: np.ndarray) -> tuple[np.ndarray, int]:
    """The values with the mean of their column for NaN, and how many of these there were."""
    gaps = np.isnan(values)
    if not gaps.any():
        return values, 0
    mean = np.nanmean(values, axis=0, dtype=np.float64)
    return np.where(gaps, mean, values).astype(np.float32), int(gaps.sum())


def _fill_absent(
    x: np.ndarray, position: np.ndarray, rows: NodeRows, nodes: Nodes, missing: str
) -> list[str]:
    """Fill the rows of ``x`` that no row of the table fills."""
    absent = np.setdiff1d(np.arange(len(x)), position)
    if len(absent) == 0:
        return []
    names = listed([nodes.ids[node] for node in absent])
    if missing == "refuse":
        raise GraphError(
            f"{rows.table.where} has no features for {counted(len(absent), 'node')}: {names} "
            "(input.missing = zero or mean fills them)"
        )
    if missing == "mean":
        x[absent] = np.delete(x, absent, axis=0).mean(axis=0, dtype=np.float64)
    return [f"{counted(len(absent), 'node')} without features, set to {missing}: {names}"]


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
    except pa.ArrowNotImplementedError:
        row, got = 0, f"a {column.type}"
    except pa.ArrowInvalid:
        row = first_refused(column, as_texts)
        got = repr(column[row].as_py())
    raise GraphError(f"{rows.table.place(row)}: a label must be an integer or a text, got {got}")


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
