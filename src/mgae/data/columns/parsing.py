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
    "%m/%d/%Y %H:%M", "%d %b %Y", "%b %d, %Y", "%d-%b-%Y", "%d-%b-%y", "%d.%m.%Y %H:%M:%S",
    "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%d/%m/%y", "%m/%d/%y", "%m/%d/%Y %I:%M %p",
    "%m/%d/%Y %I:%M:%S %p", "%Y-%m-%d %H:%M",
)  # fmt: skip
_LAYOUT_ROWS = 1000  # tell which formats are worth trying on all of them
_THOUSANDS = r"^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$"
_DECIMAL_COMMA = r"^([+-]?\d+),(\d+)$"
# What only a decimal comma explains, or only a decimal point.
_COMMA_ALONE = r",\d{1,2}$|,\d{4,}$|^[+-]?\d{4,},|\.\d{3}[.,]"
_POINT_ALONE = r"\.\d{1,2}$|\.\d{4,}$|^[+-]?\d{4,}\.|,\d{3}[.,]"


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


def numbers_of(column: pa.ChunkedArray, comma: bool | None = None) -> np.ndarray:
    """Return doubles [rows], NaN where there is no number.

    ``comma`` says whether a comma is the decimal sign wherever it may be one, and dots and blanks
    separate thousands; if absent, `has_decimal_comma` tells it.

    >>> numbers_of(pa.chunked_array([["1,200.5", " 3,5 ", "$ 7", "12 %", "n/a"]])).tolist()
    [1200.5, 3.5, 7.0, 12.0, nan]
    >>> numbers_of(pa.chunked_array([["1.418,64", "90,3", "1,200", "2.500"]])).tolist()
    [1418.64, 90.3, 1.2, 2500.0]
    """
    column = decoded(column)
    if is_text(column.type):
        texts = texts_of(column)
        return _numbers_in_texts(texts, has_decimal_comma(texts) if comma is None else comma)
    floats: np.ndarray = column.cast(pa.float64(), safe=False).to_numpy()
    return floats


def has_decimal_comma(texts: pa.Array) -> bool:
    """Return whether some texts are numbers by a decimal comma alone, and none by a point.

    >>> has_decimal_comma(pa.array(["1,200", "90,33"])), has_decimal_comma(pa.array(["1,200"]))
    (True, False)
    """
    plain = _bare(texts)

    def any_by(sign: str) -> bool:
        return bool(pc.any(pc.match_substring_regex(plain, sign), min_count=0).as_py())

    return any_by(_COMMA_ALONE) and not any_by(_POINT_ALONE)


def _bare(texts: pa.Array) -> pa.Array:
    """Return texts without currencies, percent signs, and blanks or ' between thousands."""
    plain = pc.replace_substring_regex(texts, r"^[€$£]\s*|[\s\x{a0}]*[€$£%]$", "")
    apart = r"^[+-]?\d{1,3}([ '’\x{a0}\x{202f}]\d{3})+([.,]\d+)?$"
    grouped = pc.fill_null(pc.match_substring_regex(plain, apart), False)
    return pc.if_else(grouped, pc.replace_substring_regex(plain, r"[ '’\x{a0}\x{202f}]", ""), plain)


def _numbers_in_texts(texts: pa.Array, comma: bool) -> np.ndarray:
    plain = _bare(texts)
    if comma:
        grouped = pc.match_substring_regex(plain, r"^[+-]?\d{1,3}(\.\d{3})+(,\d+)?$")
        ungrouped = pc.replace_substring(plain, ".", "")
    else:
        grouped = pc.match_substring_regex(plain, _THOUSANDS)
        ungrouped = pc.replace_substring(plain, ",", "")
    plain = pc.if_else(pc.fill_null(grouped, False), ungrouped, plain)
    plain = pc.replace_substring_regex(plain, _DECIMAL_COMMA, r"\1.\2")
    number = pc.match_substring_regex(plain, r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
    kept = pc.if_else(pc.fill_null(number, False), plain, pa.scalar(None, pa.string()))
    kept = pc.replace_substring_regex(kept, r"^\+", "")
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
        column = _dates(texts, layout)
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
    sample = texts.drop_null()[:_LAYOUT_ROWS]
    tried = [layout for layout in DATE_FORMATS if _count_dates(sample, layout)]
    counts = {layout: _count_dates(texts, layout) for layout in tried}
    best = max(counts, key=lambda layout: counts[layout], default="")
    return best if counts and counts[best] >= least * given else None


def readable_layout(layout: str) -> str:
    """Return the order of a layout in words.

    >>> readable_layout("%m/%d/%Y %H:%M")
    'month/day/year'
    """
    words = {"%d": "day", "%m": "month", "%Y": "year", "%y": "year", "%b": "month"}
    for sign, word in words.items():
        layout = layout.partition(" %H")[0].partition(" %I")[0].replace(sign, word)
    return layout


def is_ambiguous(texts: pa.Array, layout: str) -> bool:
    """Return whether every date would be one with day and month the other way round.

    >>> is_ambiguous(pa.array(["03/04/2024"]), "%d/%m/%Y")
    True
    """
    if "/" not in layout or "%d" not in layout or layout.startswith("%Y"):
        return False
    swapped = layout.translate(str.maketrans("dm", "md"))
    return _count_dates(texts, swapped) == _count_dates(texts, layout)


def _count_dates(texts: pa.Array, layout: str) -> int:
    dates = _dates(texts, layout)
    return len(dates) - int(dates.null_count)


def _dates(texts: pa.Array, layout: str) -> pa.Array:
    """Return moments [n], null where a text is none; 1/5/24 is not of the first century."""
    dates = pc.strptime(texts, format=layout, unit="us", error_is_null=True)
    year = pc.fill_null(pc.year(dates), 0)
    there = pc.and_(pc.greater(year, 1500), pc.less(year, 2500))
    return pc.if_else(there, dates, pa.scalar(None, dates.type))
