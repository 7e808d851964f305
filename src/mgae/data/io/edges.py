"""Edges as a file or an object lists them, and how a table does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mgae.core.errors import GraphError
from mgae.data.ids import Ids, first_refused, listed, undictionaried
from mgae.data.io.header import Hints, is_number
from mgae.data.io.tables import Table, find_column
from mgae.runs.sections import InputSettings

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


@dataclass(frozen=True)
class EdgeList:
    """Edges as a file or an object lists them.

    Attributes:
        where: what messages call it.
        ids: two columns [m], sources and targets.
        weight: [m], or None.
        nodes: one column with nodes that may have no edge, or None.
        notes: remarks for the user.
    """

    where: str
    ids: Ids
    weight: np.ndarray | None = None
    nodes: Ids | None = None
    notes: tuple[str, ...] = ()


def edge_hints(settings: InputSettings) -> Hints:
    """What tells the header of a table of edges from its first edge."""
    chosen = (settings.source_column, settings.target_column, settings.weight_column)
    # One known name alone may well be a node: "to" is a word in a graph of words.
    return Hints(settings.header, SOURCE_NAMES | TARGET_NAMES | WEIGHT_NAMES, 2, chosen)


def edges_of_table(table: Table, settings: InputSettings) -> EdgeList:
    """The edges in the rows of a table.

    Raises:
        GraphError: where a column, an id or a weight is missing or wrong.
    """
    source, target, weight = edge_columns(table, settings)
    used = [source, target] if weight is None else [source, target, weight]
    columns = table.read(used, used)
    ids = Ids.of(columns[:2], table.place)
    ignored = [name for number, name in enumerate(table.names) if number not in used]
    notes = [f"{table.where}: columns ignored: {listed(ignored, 20)}"] if ignored else []
    if settings.header == "auto" and not table.named:
        notes += _doubtful_row(table.where, ids)
    weights = None if weight is None else weights_of(columns[2], table)
    return EdgeList(table.where, ids, weights, notes=tuple(notes))


def _doubtful_row(where: str, ids: Ids) -> list[str]:
    """A note where row 1 may be a header of unusual names: texts, and in no other row."""
    ends = [int(codes[0]) for codes in ids.codes if len(codes) > 1]
    texts = [ids.texts[end].as_py() for end in ends]
    again = (np.count_nonzero(codes[1:] == end) for codes in ids.codes for end in ends)
    if not texts or any(is_number(text) for text in texts) or any(again):
        return []
    row = f"row 1 ({listed(texts)}) taken as an edge, though no other has its ids"
    return [f"{where}: {row}; if it names the columns, give --source-column and --target-column"]


def edge_columns(table: Table, settings: InputSettings) -> tuple[int, int, int | None]:
    """The numbers of the columns with the source, the target and the weight, if there is one.

    Raises:
        GraphError: where there are not enough columns, or not those that were asked for.
    """
    names = WEIGHT_NAMES if table.named else frozenset()
    weight = find_column(table, "input.weight_column", settings.weight_column, names)
    source = find_column(table, "input.source_column", settings.source_column, SOURCE_NAMES)
    target = find_column(table, "input.target_column", settings.target_column, TARGET_NAMES)
    free = [n for n in range(len(table.names)) if n not in (source, target, weight)]
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
    """A column of weights [m].

    Raises:
        GraphError: at the first that is no finite number, or negative.
    """
    column = undictionaried(column)
    try:
        weights = _floats(column)
    except pa.ArrowNotImplementedError:
        got = column.type
        raise GraphError(f"{table.where}: a weight must be a number, got a {got}") from None
    except pa.ArrowInvalid:
        row = first_refused(column, _floats)
        raise wrong_weight(table.place(row), column[row].as_py()) from None
    return checked_weights(weights.to_numpy(), table.place)


def _floats(column: pa.ChunkedArray) -> pa.ChunkedArray:
    text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    return (pc.utf8_trim_whitespace(column) if text else column).cast(pa.float64(), safe=False)


def checked_weights(weights: np.ndarray, place: Callable[[int], str]) -> np.ndarray:
    """The same weights [m], all finite as single floats and none negative.

    Raises:
        GraphError: at the first that is not.
    """
    with np.errstate(over="ignore"):
        wrong = ~(np.isfinite(weights.astype(np.float32)) & (weights >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise wrong_weight(place(row), float(weights[row]))
    return weights


def wrong_weight(place: str, value: object) -> GraphError:
    """What to say of a weight that cannot be one."""
    return GraphError(f"{place}: the weight must be a finite number ≥ 0, got {value!r}")
