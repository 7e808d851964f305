"""What a table says about its edges besides their ends and weights: time and type."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from mgae.core.errors import GraphError
from mgae.data.columns.parsing import (
    date_layout,
    days_of,
    is_ambiguous,
    is_text,
    readable_layout,
    texts_of,
)
from mgae.data.columns.parsing import numbers_of as columns_numbers
from mgae.data.ids import Ids, decoded, first_refused
from mgae.data.io.tables import Table

_DAY = 86_400_000_000  # in microseconds


@dataclass(frozen=True, eq=False)
class Times:
    """When edges came about.

    Attributes:
        values: [m].
        dated: whether these are days since 1970.
        note: what the user should know of how they were read; or "".
    """

    values: np.ndarray
    dated: bool
    note: str = ""


def times_of(column: pa.ChunkedArray, table: Table) -> Times:
    """Return a column of times, numbers or dates.

    Raises:
        GraphError: at the first that is neither.
    """
    column, dated, note = trimmed(column), False, ""
    try:
        times = plain_numbers(column)
        if (days := _compact_days(times)) is not None:
            times, dated, note = days, True, "times such as 20241231 are read as dates"
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        try:
            (times, note), dated = _days(column), True
        except pa.ArrowNotImplementedError:
            text = f"a time must be a number or a date, got a {column.type}"
            raise GraphError(f"{table.where}: {text}") from None
        except pa.ArrowInvalid:
            # What the first rows are is what the others should be.
            row = max(first_refused(column, kind) for kind in (plain_numbers, _iso_days))
            raise _wrong(table, row, column[row].as_py()) from None
    if (wrong := ~np.isfinite(times)).any():
        row = int(np.argmax(wrong))
        raise _wrong(table, row, column[row].as_py())
    return Times(times, dated, note)


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
    column = trimmed(column)
    try:
        numbers = written_numbers(column)
        row = None if np.isfinite(numbers).all() else int(np.argmin(np.isfinite(numbers)))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        row = first_wrong(column) if len(column) else 0
    if row is None:
        return numbers
    wanted = f"the edge feature {name!r} must be a finite number"
    raise GraphError(f"{table.locate(row)}: {wanted}, got {column[row].as_py()!r}")


def _wrong(table: Table, row: int, value: object) -> GraphError:
    wanted = "the time must be a number or a date as 2024-12-31 or 2024-12-31T23:59:59"
    return GraphError(f"{table.locate(row)}: {wanted}, got {value!r}")


def plain_numbers(column: pa.ChunkedArray) -> np.ndarray:
    """Return numbers [m] as a program writes them."""
    if types.is_date(column.type) or types.is_timestamp(column.type):
        raise pa.ArrowInvalid("a date")
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), np.float64)


def trimmed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts without the blanks around them, other values as they are."""
    column = decoded(column)
    return pc.utf8_trim_whitespace(column) if is_text(column.type) else column


def written_numbers(column: pa.ChunkedArray) -> np.ndarray:
    """Return numbers [m] as people write them too: 12,5 or € 1.200,00."""
    try:
        return plain_numbers(column)
    except pa.ArrowInvalid:
        written = columns_numbers(column) if is_text(column.type) else None
        if written is None or not np.isfinite(written).all():
            raise
        return written


def first_wrong(column: pa.ChunkedArray) -> int:
    """Return the row of the first value that `written_numbers` refuses."""
    if not is_text(column.type):
        return first_refused(column, plain_numbers)
    return int(np.argmin(np.isfinite(columns_numbers(column))))


def _compact_days(times: np.ndarray) -> np.ndarray | None:
    """Return days since 1970 [m] if all numbers are dates such as 20241231."""
    distinct = np.unique(times)
    known = distinct.size and (distinct >= 19000101).all() and (distinct < 21000101).all()
    if not known or (distinct % 1 != 0).any():
        return None
    texts = pa.array(distinct.astype(np.int64)).cast(pa.string())
    days = pc.strptime(texts, format="%Y%m%d", unit="s", error_is_null=True)
    if days.null_count:
        return None
    seconds = days.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return np.asarray(seconds / 86_400, np.float64)[np.searchsorted(distinct, times)]


def _days(column: pa.ChunkedArray) -> tuple[np.ndarray, str]:
    """Return days since 1970 [m], and a note on how they were read."""
    try:
        return _iso_days(column), ""
    except pa.ArrowInvalid:
        texts = texts_of(column) if is_text(column.type) else None
        layout = None if texts is None else date_layout(texts, 0.9)
        if texts is None or layout is None:
            raise
    days = days_of(column, layout)  # not a number where another layout would fit
    order = readable_layout(layout)
    if not is_ambiguous(texts, layout):
        return days, f"times are read as {order}"
    return days, f"times are read as {order}, and might be meant otherwise: 2024-12-31 is clear"


def _iso_days(column: pa.ChunkedArray) -> np.ndarray:
    zone = column.type.tz if types.is_timestamp(column.type) else None
    microseconds = column.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64())
    return np.asarray(microseconds.cast(pa.float64(), safe=False).to_numpy()) / _DAY
