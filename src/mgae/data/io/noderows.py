"""Tables about nodes: which column has the ids, and which the features or labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from mgae.core.errors import GraphError
from mgae.data.ids import Ids, listed
from mgae.data.io.encoding import TEXT_MARKS
from mgae.data.io.header import Hints
from mgae.data.io.tables import Table, find_column
from mgae.runs.sections import InputSettings

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


def node_hints(settings: InputSettings) -> Hints:
    """What tells the header of a table of nodes from its first node."""
    chosen = (settings.id_column, settings.label_column)
    number = settings.id_column or ""
    key = max(int(number) - 1, 0) if number.isdecimal() else 0
    # A label may be called y itself, as beside n.
    return Hints(settings.header, ID_NAMES | LABEL_NAMES, 1, chosen, LABEL_NAMES, key)


def feature_rows(
    table: Table, settings: InputSettings, with_labels: bool, known: Sequence[str] = ()
) -> NodeRows:
    """The ids and features in a table; ``with_labels`` says that it has the labels too.

    ``known`` are the names of the columns that a model was trained on.

    Raises:
        GraphError: where an id is missing or stands there twice, or there are no features.
    """
    ids = _id_column(table, settings)
    label = _label_column(table, settings, ids) if with_labels else None
    columns = [number for number in range(len(table.names)) if number not in (ids, label)]
    if not columns:
        raise GraphError(f"{table.where} has no column beside {table.names[ids]!r}, the ids")
    return _rows(table, ids, columns, [ids], _once_words(table, columns, known))


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


def origin(known: str, names: Sequence[str]) -> int | None:
    """The number of the column that a known one came of: the longest name that fits.

    >>> origin("zip=0102", ["age", "zip"]), origin("age", ["age", "zip"]), origin("town=Ulm", [])
    (1, 0, None)
    """
    marks = [place for place, letter in enumerate(known) if letter in "=:["]
    fitting = (known[:end] for end in (len(known), *reversed(marks)))
    return next((names.index(name) for name in fitting if name in names), None)


def _once_words(table: Table, columns: list[int], known: Sequence[str]) -> list[int]:
    """The columns that were texts in training: 0102 is a zip code there, and no number here."""
    names = [table.names[column] for column in columns]
    places = [(name, place) for name in known if (place := origin(name, names)) is not None]
    words = {place for name, place in places if name[len(names[place]) :][:1] in TEXT_MARKS}
    return [columns[place] for place in sorted(words)]


def _rows(
    table: Table, ids: int, columns: list[int], text: list[int], words: Sequence[int] = ()
) -> NodeRows:
    first, *others = table.read([ids, *columns], text, words)
    keys = Ids.of([first], table.place)
    if len(twice := keys.second_rows()):
        name = keys.texts[int(keys.codes[0][twice[0]])]
        raise GraphError(f"{table.place(int(twice[0]))}: a second row for the id {listed([name])}")
    names = tuple(table.names[number] for number in columns)
    return NodeRows(table, keys, names, tuple(others))
