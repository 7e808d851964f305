"""Read numbers and dates out of cells, also those that stand as texts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from mgae.data.ids import decoded

_DAY = 86_400_000_000  # in microseconds
# Day before month where both fit: the month comes first in one country only.
DATE_FORMATS = (
    "%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%d.%m.%y",
    "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M", "%d %b %Y", "%b %d, %Y", "%d-%b-%Y",
)  # fmt: skip
_THOUSANDS = r"^-?\d{1,3}(,\d{3})+(\.\d+)?$"
_DECIMAL_COMMA = r"^(-?\d+),(\d+)$"


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type holds texts."""
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_number(kind: pa.DataType) -> bool:
    """Return whether a type holds numbers, or true and false."""
    simple = types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)
    return bool(simple or types.is_decimal(kind))


def is_date(kind: pa.DataType) -> bool:
    """Return whether a type holds days or moments."""
    return bool(types.is_date(kind) or types.is_timestamp(kind) or types.is_time(kind))


def texts_of(column: pa.ChunkedArray) -> pa.Array:
    """Return texts without surrounding blanks [rows], null if there is none."""
    column = decoded(column).cast(pa.string())
    texts = pc.utf8_trim_whitespace(column)
    joined = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined


def numbers_of(column: pa.ChunkedArray) -> np.ndarray:
    """Return doubles [rows], NaN where there is no number.

    >>> numbers_of(pa.chunked_array([["1,200.5", " 3,5 ", "$ 7", "12 %", "n/a"]])).tolist()
    [1200.5, 3.5, 7.0, 12.0, nan]
    """
    column = decoded(column)
    if is_text(column.type):
        return _numbers_in_texts(texts_of(column))
    floats: np.ndarray = column.cast(pa.float64(), safe=False).to_numpy()
    return floats


def _numbers_in_texts(texts: pa.Array) -> np.ndarray:
    plain = pc.replace_substring_regex(texts, r"^[€$£]\s*|\s*[€$£%]$", "")
    grouped = pc.fill_null(pc.match_substring_regex(plain, _THOUSANDS), False)
    plain = pc.if_else(grouped, pc.replace_substring(plain, ",", ""), plain)
    plain = pc.replace_substring_regex(plain, _DECIMAL_COMMA, r"\1.\2")
    number = pc.match_substring_regex(plain, r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
    kept = pc.if_else(pc.fill_null(number, False), plain, pa.scalar(None, pa.string()))
    floats: np.ndarray = kept.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return floats


def days_of(column: pa.ChunkedArray, layout: str) -> np.ndarray:
    """Return days since 1970 as doubles [rows], NaN where there is no date.

    ``layout`` is one of `DATE_FORMATS` for texts, or "" for the one that fits them best; for other
    types it does not count.
    """
    column = decoded(column)
    if is_text(column.type):
        texts = texts_of(column)
        layout = layout or date_layout(texts, 1e-9) or DATE_FORMATS[0]
        column = pc.strptime(texts, format=layout, unit="us", error_is_null=True)
    elif types.is_time(column.type):
        column = column.cast(pa.time64("us")).cast(pa.int64())
    elif types.is_date(column.type) or types.is_timestamp(column.type):
        zone = column.type.tz if types.is_timestamp(column.type) else None
        column = column.cast(pa.timestamp("us", zone), safe=False)
    else:
        raise ValueError(f"it was a date in training, and is {column.type} here")
    microseconds = column.cast(pa.int64()).cast(pa.float64(), safe=False)
    days = (
        microseconds.to_numpy()
        if isinstance(column, pa.ChunkedArray)
        else (microseconds.to_numpy(zero_copy_only=False))
    )
    return np.asarray(days, np.float64) / _DAY


def date_layout(texts: pa.Array, least: float) -> str | None:
    """Return the format in which at least this share of the texts are dates; None if none is."""
    given = len(texts) - texts.null_count
    if not given:
        return None
    # Without a digit there is no date, and trying all formats takes time.
    digits = pc.sum(pc.fill_null(pc.match_substring_regex(texts, r"\d"), False)).as_py()
    if digits < least * given:
        return None
    counts = {layout: _count_dates(texts, layout) for layout in DATE_FORMATS}
    best = max(counts, key=lambda layout: counts[layout])
    return best if counts[best] >= least * given else None


def _count_dates(texts: pa.Array, layout: str) -> int:
    dates = pc.strptime(texts, format=layout, unit="us", error_is_null=True)
    return len(dates) - int(dates.null_count)
