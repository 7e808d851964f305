"""What a table says about its edges besides their ends and weights: time and type."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from mgae.core.errors import GraphError
from mgae.data.ids import Ids, decoded, first_refused
from mgae.data.io.tables import Table

_DAY = 86_400_000_000  # in microseconds


def times_of(column: pa.ChunkedArray, table: Table) -> tuple[np.ndarray, bool]:
    """Return a column of times [m], and whether they are dates, as days since 1970.

    Raises:
        GraphError: at the first that is neither.
    """
    column = decoded(column)
    if types.is_string(column.type) or types.is_large_string(column.type):
        column = pc.utf8_trim_whitespace(column)
    dated = False
    try:
        times = _numbers(column)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        try:
            times, dated = _days(column), True
        except pa.ArrowNotImplementedError:
            text = f"a time must be a number or a date, got a {column.type}"
            raise GraphError(f"{table.where}: {text}") from None
        except pa.ArrowInvalid:
            # What the first rows are is what the others should be.
            row = max(first_refused(column, kind) for kind in (_numbers, _days))
            raise _wrong(table, row, column[row].as_py()) from None
    if (wrong := ~np.isfinite(times)).any():
        row = int(np.argmax(wrong))
        raise _wrong(table, row, column[row].as_py())
    return times, dated


def types_of(column: pa.ChunkedArray, table: Table) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the index of each row's type [m], and the types' names in order.

    Raises:
        GraphError: if a type is missing.
    """
    ids = Ids.of([column], table.locate)
    order = pc.sort_indices(ids.texts).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[ids.codes[0]], tuple(ids.texts.take(pa.array(order)).to_pylist())


def numbers_of(column: pa.ChunkedArray, table: Table, name: str) -> np.ndarray:
    """Return a numeric column [m].

    Raises:
        GraphError: at the first that is no finite number.
    """
    column = decoded(column)
    if types.is_string(column.type) or types.is_large_string(column.type):
        column = pc.utf8_trim_whitespace(column)
    try:
        numbers = _numbers(column)
        row = None if np.isfinite(numbers).all() else int(np.argmin(np.isfinite(numbers)))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        row = first_refused(column, _numbers) if len(column) else 0
    if row is None:
        return numbers
    wanted = f"the edge feature {name!r} must be a finite number"
    raise GraphError(f"{table.locate(row)}: {wanted}, got {column[row].as_py()!r}")


def _wrong(table: Table, row: int, value: object) -> GraphError:
    wanted = "the time must be a number or a date as 2024-12-31 or 2024-12-31T23:59:59"
    return GraphError(f"{table.locate(row)}: {wanted}, got {value!r}")


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    if types.is_date(column.type) or types.is_timestamp(column.type):
        raise pa.ArrowInvalid("a date")
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), np.float64)


def _days(column: pa.ChunkedArray) -> np.ndarray:
    zone = column.type.tz if types.is_timestamp(column.type) else None
    microseconds = column.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64())
    return np.asarray(microseconds.cast(pa.float64(), safe=False).to_numpy()) / _DAY
