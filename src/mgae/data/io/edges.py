"""Edges as a file or an object lists them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mgae.core.errors import GraphError
from mgae.data.ids import Ids, counted, listed
from mgae.data.io.edgecolumns import (
    first_wrong,
    numbers_of,
    times_of,
    trimmed,
    types_of,
    written_numbers,
)
from mgae.data.io.headers import Hints, is_number, shape
from mgae.data.io.options import InputSettings
from mgae.data.io.tables import Table, find_column, header_notes, open_table

_SOURCES = (
    "source src from u head node1 node_1 id1 id_1 source_id src_id from_id fromnodeid from_node "
    "start subject citing"
)
_TARGETS = (
    "target dst dest destination to v tail node2 node_2 id2 id_2 target_id dst_id to_id tonodeid "
    "to_node end object cited"
)
SOURCE_NAMES = frozenset(_SOURCES.split())
TARGET_NAMES = frozenset(_TARGETS.split())
WEIGHT_NAMES = frozenset({"weight", "w"})
_TIMES = "time timestamp date datetime year day when created created_at ts"
_TYPES = "type kind relation rel predicate action event interaction"
_FEWEST_COLUMNS = 3  # of a table, above which it may be a matrix
_TYPES_PER_HEAD = 10  # so many heads for each value of a column, and it may be a type
_TIME_NAMES, _TYPE_NAMES = frozenset(_TIMES.split()), frozenset(_TYPES.split())


@dataclass(frozen=True)
class EdgeList:
    """Edges as a file or an object lists them.

    Attributes:
        where: its name in messages.
        ids: two columns [m], sources and targets.
        weight: [m], or None.
        nodes: one column with nodes that may have no edge, or None.
        notes: remarks for the user.
        columns: the names of the two columns.
        node_side: 0, 1 or -1 (unknown) for each of ``nodes``, where the source says so.
        sides: what the ids of the two columns are called, if they are the sides of the graph.
        prefixes: what the ids of each side begin with, if they had to be kept apart.
        time: [m], or None.
        dated: whether these are days since 1970.
        kind: the index of each edge's type in ``kinds`` [m], or None.
        features: numbers of each edge [m, F], or None, and the columns' names.
    """

    where: str
    ids: Ids
    weight: np.ndarray | None = None
    nodes: Ids | None = None
    notes: tuple[str, ...] = ()
    columns: tuple[str, str] = ("source", "target")
    node_side: np.ndarray | None = None
    sides: tuple[str, str] | None = None
    prefixes: tuple[str, str] | None = None
    time: np.ndarray | None = None
    dated: bool = False
    kind: np.ndarray | None = None
    kinds: tuple[str, ...] = ()
    features: np.ndarray | None = None
    feature_names: tuple[str, ...] = ()

    def signed(self, how: str) -> EdgeList:
        """Return the edges without negative weights: without their sign, or without the edge.

        Raises:
            GraphError: at the first negative weight, if ``how`` is ``refuse``.
        """
        negative = None if self.weight is None else self.weight < 0
        if self.weight is None or negative is None or not negative.any():
            return self
        if how == "refuse":
            row = int(np.argmax(negative))
            wrong = wrong_weight(self.ids.locate(row), float(self.weight[row]))
            raise GraphError(f"{wrong} (--weights abs or drop takes negative ones)")
        count = counted(int(negative.sum()), "negative weight")
        if how == "abs":
            note = f"{self.where}: {count} taken without the sign"
            return replace(self, weight=np.abs(self.weight), notes=(*self.notes, note))
        rows = np.flatnonzero(~negative)
        codes = tuple(column[rows] for column in self.ids.codes)
        ids = Ids(self.ids.texts, codes, lambda row: self.ids.locate(int(rows[row])))
        note = f"{self.where}: edges of {count} dropped"
        return replace(self, ids=ids, weight=self.weight[rows], notes=(*self.notes, note))


def edge_hints(settings: InputSettings) -> Hints:
    """Return what distinguishes the header of a table of edges from its first edge."""
    chosen = (
        settings.source_column,
        settings.target_column,
        settings.weight_column,
        settings.time_column,
        settings.type_column,
        *settings.edge_features,
    )
    # One known name alone may well be a node: "to" is a word in a graph of words.
    known = SOURCE_NAMES | TARGET_NAMES | WEIGHT_NAMES
    return Hints(settings.header, known, 2, chosen, encoding=settings.encoding)


def as_columns(path: Path, settings: InputSettings, names: Sequence[str] | None) -> InputSettings:
    """Return settings that take the columns ``names`` as the ends, if row 1 of a text has both.

    So a file that joins a run may have the header of the run's own file, whatever its words are.
    """
    if not names or settings.source_column or settings.target_column or settings.header == "no":
        return settings
    source, target = names
    chosen = settings.model_copy(update={"source_column": source, "target_column": target})
    table = open_table(path, edge_hints(chosen), lambda stage, share: None)
    return chosen if table.named and {source, target} <= set(table.names) else settings


def edges_of_table(table: Table, settings: InputSettings) -> EdgeList:
    """Return the edges in the rows of a table.

    Raises:
        GraphError: if a column, an id or a weight is missing or wrong.
    """
    time = find_column(table, "input.time_column", settings.time_column)
    kind = find_column(table, "input.type_column", settings.type_column)
    about = [find_column(table, "input.edge_features", name) for name in settings.edge_features]
    source, target, weight = edge_columns(table, settings, {time, kind, *about})
    if kind in (source, target) and kind is not None:
        raise GraphError(f"{table.where}: {table.names[kind]!r} is not the type, but an end")
    if time in (source, target, weight) and time is not None:
        raise GraphError(
            f"{table.where}: {table.names[time]!r} is not the time, but an end or weight"
        )
    extra = [number for number in (weight, time, kind, *about) if number is not None]
    used = list(dict.fromkeys([source, target, *extra]))
    columns = table.read(used, used)
    by_number = dict(zip(used, columns, strict=True))
    ids = Ids.of(columns[:2], table.locate)
    _refuse_matrix(table, ids)
    ignored = [name for number, name in enumerate(table.names) if number not in used]
    notes = _ignored_notes(table.where, ignored)
    notes += header_notes(table)
    if settings.header == "auto" and not table.named:
        notes += doubtful_first_row(table.where, ids)
    if (source, target, len(table.names)) == (0, 1, 3) and not table.named:
        notes += _likely_types(table, ids)
    weights = None if weight is None else weights_of(by_number[weight], table)
    edges = EdgeList(table.where, ids, weights)
    if time is not None:
        times = times_of(by_number[time], table)
        notes += [f"{table.where}: {times.note}"] if times.note else []
        edges = replace(edges, time=times.values, dated=times.dated)
    edges = replace(edges, notes=tuple(notes))
    if kind is not None:
        codes, kinds = types_of(by_number[kind], table)
        edges = replace(edges, kind=codes, kinds=kinds)
    if about:
        values = [numbers_of(by_number[n], table, table.names[n]) for n in about if n is not None]
        edges = replace(
            edges, features=np.stack(values, axis=1), feature_names=settings.edge_features
        )
    if table.named:
        edges = replace(edges, columns=(table.names[source], table.names[target]))
    return edges.signed(settings.weights)


def edge_columns(
    table: Table, settings: InputSettings, others: Collection[int | None] = ()
) -> tuple[int, int, int | None]:
    """Return the numbers of the columns with the source, the target and the weight, if any.

    ``others`` have a use of their own: they are no ends unless the settings say so.

    Raises:
        GraphError: if there are too few columns, or not those that were asked for.
    """
    names = WEIGHT_NAMES if table.named else frozenset()
    weight = find_column(table, "input.weight_column", settings.weight_column, names)
    source = find_column(table, "input.source_column", settings.source_column, SOURCE_NAMES)
    target = find_column(table, "input.target_column", settings.target_column, TARGET_NAMES)
    free = [n for n in range(len(table.names)) if n not in (source, target, weight, *others)]
    source = free.pop(0) if source is None and free else source
    target = free.pop(0) if target is None and free else target
    if source is None or target is None:
        raise GraphError(f"{table.where} needs two columns with ids, got {listed(table.names)}")
    if len({source, target, weight}) < 3:
        raise GraphError(
            f"{table.where}: source, target and weight must be different columns, got "
            + listed([table.names[n] for n in (source, target, weight) if n is not None])
        )
    return source, target, weight


def weights_of(column: pa.ChunkedArray, table: Table) -> np.ndarray:
    """Return a column of weights [m].

    Raises:
        GraphError: at the first that is no finite number.
    """
    column = trimmed(column)
    try:
        weights = written_numbers(column)
    except pa.ArrowNotImplementedError:
        got = column.type
        raise GraphError(f"{table.where}: a weight must be a number, got a {got}") from None
    except pa.ArrowInvalid:
        row = first_wrong(column)
        raise wrong_weight(table.locate(row), column[row].as_py()) from None
    return checked_weights(weights, table.locate)


def checked_weights(weights: np.ndarray, locate: Callable[[int], str]) -> np.ndarray:
    """Return the same weights [m], all finite as single floats.

    Raises:
        GraphError: at the first that is not.
    """
    with np.errstate(over="ignore"):
        wrong = ~np.isfinite(weights.astype(np.float32))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise wrong_weight(locate(row), float(weights[row]))
    return weights


def wrong_weight(where: str, value: object) -> GraphError:
    """Return the error for a value that is no weight."""
    return GraphError(f"{where}: the weight must be a finite number ≥ 0, got {value!r}")


def _refuse_matrix(table: Table, ids: Ids) -> None:
    """Refuse an adjacency matrix, whose first two columns are no ends of edges."""
    rows, width = len(ids.codes[0]), len(table.names)
    texts = set(ids.texts.to_pylist()) if width > _FEWEST_COLUMNS else set()
    first = set(ids.texts.take(pa.array(ids.codes[0])).to_pylist()) if texts else set()
    bare = not table.named and rows == width and texts <= {"0", "1", "0.0", "1.0"}
    titled = table.named and rows == width - 1 and first == set(table.names[1:])
    if texts and (bare or titled):
        raise GraphError(
            f"{table.where} is an adjacency matrix of {rows:,} nodes: write it as Matrix Market "
            "(.mtx) or a scipy .npz, or as a table with a pair of ids in each row"
        )


def _ignored_notes(where: str, names: list[str]) -> list[str]:
    """Return a note on columns that are not read, with the options that would read some."""
    if not names:
        return []
    options = [
        f"--{what}-column {shlex.quote(name)}"
        for what, known in (("time", _TIME_NAMES), ("type", _TYPE_NAMES))
        for name in names
        if name.lower() in known
    ]
    ways = f" ({' and '.join(options)} would read them)" if options else ""
    return [f"{where}: columns ignored: {listed(names, 20)}{ways}"]


def _likely_types(table: Table, ids: Ids) -> list[str]:
    """Return a note if rows without a header may be (head, type, tail), as in knowledge graphs."""
    heads, types = (np.unique(codes) for codes in ids.codes)
    if _TYPES_PER_HEAD * len(types) > len(heads) or np.isin(types, heads).any():
        return []
    (third,) = table.read([2], [2])
    if all(is_number(text) for text in third.slice(0, 10).to_pylist()):
        return []
    if pc.count_distinct(third).as_py() <= len(types):
        return []
    return [
        f"{table.where}: column 2 has {len(types)} values only: if these are types of edges from "
        "column 1 to column 3, add --type-column 2"
    ]


def doubtful_first_row(where: str, ids: Ids) -> list[str]:
    """Return a note if row 1 may be a header of unusual names: texts that no other row has."""
    ends = [int(codes[0]) for codes in ids.codes if len(codes) > 1]
    texts = [ids.texts[end].as_py() for end in ends]
    again = (np.count_nonzero(codes[1:] == end) for codes in ids.codes for end in ends)
    if not texts or any(is_number(text) for text in texts) or any(again):
        return []
    # u9 among u1 and u2 is one of them.
    others = {shape(text) for text in ids.texts.to_pylist() if text not in texts}
    if all(shape(text) in others and any(map(str.isdigit, text)) for text in texts):
        return []
    row = f"row 1 ({listed(texts)}) taken as an edge, though no other has its ids"
    return [f"{where}: {row}; if it names the columns, give --source-column and --target-column"]
