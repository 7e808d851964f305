"""Choose an encoder for a column, by its content or as the user says."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from mgae.data.columns.base import ColumnEncoder
from mgae.data.columns.categories import Category, Hashed, fit_category, fit_hash
from mgae.data.columns.dates import Date, fit_date
from mgae.data.columns.numbers import Number, Vector, fit_number, fit_vector
from mgae.data.columns.parsing import (
    date_layout,
    days_of,
    has_decimal_comma,
    is_ambiguous,
    is_date,
    is_number,
    is_text,
    numbers_of,
    readable_layout,
    texts_of,
)
from mgae.data.columns.texts import Text, Words, fit_text
from mgae.data.ids import decoded, listed

_MOST_VALUES = 100  # of a category that gets a column for each
_MOST_CATEGORIES = 1000  # … where its type says that it is categorical
_FEWEST_ROWS = 20  # below that values that are all different say nothing
_NEARLY_ALL = 0.9
_WORDS_OF_TEXT = 3.0  # on average, from which on texts are sentences and not names
_NUMBER_SCALES = ("none", "standard", "robust", "quantile")


@dataclass(frozen=True, eq=False)
class Dropped(ColumnEncoder):
    """A column that is left out; ``what`` says why."""

    kind = "drop"

    note: int = 1  # whether the user should read of it

    @property
    def names(self) -> tuple[str, ...]:
        """Return none."""
        return ()

    def values(self, column: pa.ChunkedArray) -> np.ndarray:
        """Return no numbers."""
        return np.empty((len(column), 0), np.float32)


KINDS: dict[str, type[ColumnEncoder]] = {
    encoder.kind: encoder
    for encoder in (Number, Vector, Category, Hashed, Text, Words, Date, Dropped)
}


def choose_encoder(
    name: str, column: pa.ChunkedArray, choice: str = "auto", scale: str = "auto"
) -> ColumnEncoder:
    """Return an encoder for a column.

    Args:
        name: of the column.
        column: its cells.
        choice: ``auto``, or a scale or kind that the user asks for.
        scale: of numbers, if ``choice`` does not say it.

    Raises:
        ValueError: if the column does not fit the choice, or its type has no numbers.
    """
    if choice == "drop" or column.null_count == len(column) or _is_blank(column):
        asked = choice == "drop"
        why = "left out, as features.columns says" if asked else "left out: it is empty"
        return Dropped(name, why, int(not asked))
    if types.is_fixed_size_list(column.type) and is_number(column.type.value_type):
        return fit_vector(name, column, choice if choice != "auto" else scale)
    _require_cells(decoded(column).type)
    if choice in _NUMBER_SCALES:
        return _chosen_number(name, column, choice)
    if choice == "date":
        return _chosen_date(name, column, scale)
    if choice in ("category", "hash", "text"):
        return _chosen_texts(name, texts_of(column), choice)
    return _usual(name, column, scale)


def _usual(name: str, column: pa.ChunkedArray, scale: str) -> ColumnEncoder:
    categorical, kind = types.is_dictionary(column.type), decoded(column).type
    if categorical:
        return _categories(name, texts_of(column), _MOST_CATEGORIES)
    if is_date(kind):
        days = days_of(column, "")
        return _constant(name, days) or fit_date(name, days, "", scale)
    if is_number(kind):
        return _number(name, decoded(column), scale)
    return _texts(name, column, scale)


def _number(name: str, column: pa.ChunkedArray, scale: str) -> ColumnEncoder:
    numbers = numbers_of(column)
    if types.is_integer(column.type) and _is_numbering(numbers):
        return Dropped(
            name,
            f"left out: whole numbers that are all different from {numbers.min():.0f} to "
            f"{numbers.max():.0f} look like an id by another name (features.columns.{name}=robust "
            "keeps them)",
        )
    constant = None if scale == "none" else _constant(name, numbers)
    return constant or fit_number(name, numbers, scale)


def _texts(name: str, column: pa.ChunkedArray, scale: str) -> ColumnEncoder:
    texts = texts_of(column)
    given = len(texts) - texts.null_count
    if (layout := date_layout(texts, _NEARLY_ALL)) is not None:
        days = days_of(column, layout)
        return _constant(name, days) or _dated(name, texts, days, layout, scale)
    comma = has_decimal_comma(texts)
    numbers = numbers_of(column, comma)
    # 0102 reads as a number, and is a code.
    coded = pc.any(pc.match_substring_regex(texts, r"^0\d"), min_count=0).as_py()
    if not coded and np.isfinite(numbers).sum() >= _NEARLY_ALL * given:
        return fit_number(name, numbers, scale, _not_numbers(texts, numbers), comma)
    distinct = len(texts.drop_null().unique())
    words = pc.sum(pc.count_substring_regex(texts, r"\S+")).as_py() / given
    if words >= _WORDS_OF_TEXT and distinct > min(_MOST_VALUES, max(_FEWEST_ROWS, given // 10)):
        text = fit_text(name, texts)
        return text or Dropped(name, "left out: it has no words")
    if given >= _FEWEST_ROWS and distinct >= _NEARLY_ALL * given:
        return Dropped(
            name,
            f"left out: {distinct:,} different values in {given:,} rows look like an id by another "
            f"name (features.columns.{name}=text or hash keeps it)",
        )
    return _categories(name, texts, _MOST_VALUES)


def _categories(name: str, texts: pa.Array, most: int) -> ColumnEncoder:
    values = texts.drop_null().unique()
    if len(values) == 1 and not texts.null_count:
        return Dropped(name, f"left out: it is always {listed(values.to_pylist())}")
    return fit_category(name, texts) if len(values) <= most else fit_hash(name, texts)


def _chosen_number(name: str, column: pa.ChunkedArray, scale: str) -> Number:
    numbers = numbers_of(column) if not is_date(column.type) else days_of(column, "")
    if not np.isfinite(numbers).any():
        raise ValueError(f"holds no numbers, and features.columns says {scale}")
    if not is_text(decoded(column).type):
        return fit_number(name, numbers, scale)
    texts = texts_of(column)
    return fit_number(name, numbers, scale, _not_numbers(texts, numbers), has_decimal_comma(texts))


def _chosen_date(name: str, column: pa.ChunkedArray, scale: str) -> Date:
    kind = decoded(column).type
    layout = date_layout(texts_of(column), 1e-9) if is_text(kind) else ""
    if layout is None or not (is_text(kind) or is_date(kind)):
        raise ValueError("holds no dates, and features.columns says date: write them as 2026-01-31")
    days = days_of(column, layout)
    if not is_text(kind):
        return fit_date(name, days, layout, scale)
    return _dated(name, texts_of(column), days, layout, scale)


def _dated(name: str, texts: pa.Array, days: np.ndarray, layout: str, scale: str) -> Date:
    """Return an encoder for dates that stand as texts; say how they are read if that is unclear."""
    date = fit_date(name, days, layout, scale)
    if not is_ambiguous(texts, layout):
        return date
    return replace(date, what=f"{date.what}; {readable_layout(layout)}, as far as one can tell")


def _chosen_texts(name: str, texts: pa.Array, choice: str) -> ColumnEncoder:
    if choice == "category":
        if (count := len(texts.drop_null().unique())) > _MOST_CATEGORIES:
            raise ValueError(
                f"has {count:,} values, and a category can have {_MOST_CATEGORIES:,}: choose hash"
            )
        return fit_category(name, texts)
    if choice == "hash":
        return fit_hash(name, texts)
    text = fit_text(name, texts)
    if text is None:
        raise ValueError("has no words, and features.columns says text")
    return text


def _constant(name: str, numbers: np.ndarray) -> Dropped | None:
    given = numbers[~np.isnan(numbers)]
    same = given.size == numbers.size and (given == given[0]).all()
    return Dropped(name, f"left out: it is always {given[0]:g}") if same else None


def _is_numbering(numbers: np.ndarray) -> bool:
    """Return whether whole numbers are all different and close to each other."""
    rows = len(numbers)
    if rows < _FEWEST_ROWS or np.isnan(numbers).any() or np.ptp(numbers) > 1.5 * rows:
        return False
    return len(np.unique(numbers)) == rows


def _not_numbers(texts: pa.Array, numbers: np.ndarray) -> str:
    """Return which of the texts are no numbers, as part of a sentence; "" if all are."""
    wrong = texts.filter(pa.array(np.isnan(numbers))).drop_null()
    return (
        f", of these {len(wrong):,} no numbers: {listed(wrong.unique().to_pylist(), 3)}"
        if len(wrong)
        else ""
    )


def _is_blank(column: pa.ChunkedArray) -> bool:
    return is_text(decoded(column).type) and texts_of(column).null_count == len(column)


def _require_cells(kind: pa.DataType) -> None:
    if not (is_text(kind) or is_number(kind) or is_date(kind)):
        raise ValueError(f"holds {kind}: features must be numbers, booleans, dates or texts")
