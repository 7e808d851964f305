"""Tables about nodes: which column has the ids, which the features, and which the labels."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from mgae.core.errors import GraphError
from mgae.data.ids import Ids, Nodes, as_texts, counted, decoded, listed, not_texts
from mgae.data.io.headers import NULLS, Hints
from mgae.data.io.options import InputSettings
from mgae.data.io.tables import Table, find_column

ID_NAMES = frozenset({"id", "node", "node_id", "nodeid", "name", "__index_level_0__"})
LABEL_NAMES = frozenset({"label", "class", "y", "target"})
TITLE_NAMES = frozenset({"title", "name", "label"})


@dataclass(frozen=True)
class NodeRows:
    """A table with a row per node.

    Attributes:
        table: where the rows come from.
        ids: one column [rows], all distinct.
        names: of the other columns.
        columns: these, [rows] each.
        order: the row of the table that each row is, or None if they are in its order.
        id_name: of the column with the ids.
    """

    table: Table
    ids: Ids
    names: tuple[str, ...]
    columns: tuple[pa.ChunkedArray, ...]
    order: np.ndarray | None = None
    id_name: str = ""

    @property
    def num_rows(self) -> int:
        """Return the number of rows."""
        return len(self.ids.codes[0])

    def take(self, order: np.ndarray) -> NodeRows:
        """Return the rows in another order."""
        ids = Ids(self.ids.texts, (self.ids.codes[0][order],), self.ids.locate)
        columns = tuple(column.take(pa.array(order)) for column in self.columns)
        return replace(self, ids=ids, columns=columns, order=order)

    def origin(self, row: int) -> int:
        """Return the row of the table that a row is."""
        return row if self.order is None else int(self.order[row])

    def positions(self, nodes: Nodes) -> np.ndarray:
        """Return the node of each row [rows], -1 for an id that is no node."""
        positions: np.ndarray = nodes.positions(self.ids.texts)[self.ids.codes[0]]
        return positions


def node_hints(settings: InputSettings) -> Hints:
    """Return what distinguishes the header of a table of nodes from its first node."""
    chosen = (settings.id_column, settings.label_column)
    number = settings.id_column or ""
    key = max(int(number) - 1, 0) if number.isdecimal() else 0
    # A label may itself be y, as opposed to n.
    known = ID_NAMES | LABEL_NAMES
    return Hints(settings.header, known, 1, chosen, LABEL_NAMES, key, 1, settings.encoding)


def feature_rows(
    table: Table, settings: InputSettings, with_labels: bool, text: Collection[str] = ()
) -> NodeRows:
    """Return the ids and features in a table; ``with_labels``: it has the labels too.

    ``text`` are the names of columns that must not be read as numbers, besides those that write
    numbers with leading zeros, as zip codes are.

    Raises:
        GraphError: if an id is missing or repeated, or there are no features.
    """
    ids = _id_column(table, settings)
    label = _label_column(table, settings, ids) if with_labels else None
    columns = [number for number in range(len(table.names)) if number not in (ids, label)]
    if not columns:
        raise GraphError(f"{table.where} has no column beside {table.names[ids]!r}, the ids")
    coded = table.zero_led
    words = [number for number in columns if table.names[number] in text or number in coded]
    return _rows(table, ids, columns, [ids], words)


def label_rows(table: Table, settings: InputSettings) -> NodeRows:
    """Return the ids and labels in a table.

    Raises:
        GraphError: if an id is missing or repeated, or there are no labels.
    """
    ids = _id_column(table, settings)
    label = _label_column(table, settings, ids)
    return _rows(table, ids, [label], [ids, label])


def text_rows(table: Table, settings: InputSettings) -> tuple[NodeRows, str | None]:
    """Return the ids and the texts to show in a table, and the name of the titles' column.

    Raises:
        GraphError: if an id is missing or repeated, or there is no column to show.
    """
    ids = _id_column(table, settings)
    title = find_column(table, "input.title_column", settings.title_column, TITLE_NAMES, {ids})
    columns = [
        number
        for name in settings.attributes
        if (number := find_column(table, "input.attributes", name)) is not None
    ]
    if title is not None:
        columns.insert(0, title)
    if not columns:
        raise GraphError(
            f"{table.where}: which column holds the titles? name it by input.title_column "
            f"(--title-column): columns are {listed(table.names, 20)}"
        )
    columns = list(dict.fromkeys(columns))
    rows = _rows(table, ids, columns, [ids, *columns])
    return rows, None if title is None else table.names[title]


def labels(rows: NodeRows, nodes: Nodes) -> tuple[Tensor, list[str], list[str]]:
    """Return the classes [nodes], -1 without one, their names in order, and notes.

    Raises:
        GraphError: if no node has a label.
    """
    column = decoded(rows.columns[0])
    try:
        texts = as_texts(column)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise not_texts("a label", column, error, rows.table.locate) from None
    position = rows.positions(nodes)
    kept = ~pc.is_in(texts, pa.array([*NULLS, None])).to_numpy() & (position >= 0)
    if not kept.any():
        raise GraphError(f"{rows.table.where} has no label for any node of the graph")
    labeled = np.flatnonzero(kept)
    ids = Ids.of([texts.filter(pa.array(kept))], lambda row: rows.table.locate(int(labeled[row])))
    classes = Nodes.of(ids)
    y = np.full(len(nodes.ids), -1)
    y[position[kept]] = classes.positions(ids.texts)[ids.codes[0]]
    return torch.from_numpy(y), classes.texts.to_pylist(), _label_notes(rows, position, y)


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


def _rows(
    table: Table, ids: int, columns: list[int], text: list[int], words: Sequence[int] = ()
) -> NodeRows:
    first, *others = table.read([ids, *columns], text, words)
    keys = Ids.of([first], table.locate)
    if len(repeated := keys.repeated_rows()):
        row = int(repeated[0])
        name = keys.texts[int(keys.codes[0][row])]
        raise GraphError(f"{table.locate(row)}: a second row for the id {listed([name])}")
    names = tuple(table.names[number] for number in columns)
    return NodeRows(table, keys, names, tuple(others), id_name=table.names[ids])


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
