"""Columns of categories: a column for each of a few values, a hash of many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mgae.data.columns.base import ColumnEncoder
from mgae.data.columns.parsing import texts_of
from mgae.data.ids import counted, listed

HASHED_WIDTH = 64
_MISSING = ""  # as a category; a text is never empty


@dataclass(frozen=True, eq=False)
class Category(ColumnEncoder):
    """One of a few values: 1 in the column ``column=value``; an unknown one leaves zeros."""

    kind = "category"
    reads_text = True

    categories: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return ``column=value`` for each value."""
        missing = f"{self.name} (missing)"
        return tuple(f"{self.name}={value}" if value else missing for value in self.categories)

    def values(self, column: pa.ChunkedArray) -> np.ndarray:
        """Return the indicators."""
        texts = pc.fill_null(texts_of(column), _MISSING)
        index = pc.fill_null(pc.index_in(texts, pa.array(self.categories, pa.string())), -1)
        column_of = index.to_numpy()
        indicators = np.zeros((len(column_of), len(self.categories)), np.float32)
        known = np.flatnonzero(column_of >= 0)
        indicators[known, column_of[known]] = 1
        return indicators

    def unknown(self, column: pa.ChunkedArray, values: np.ndarray) -> str:
        """Count the values that the training did not have."""
        return zeros_note(texts_of(column), values, "unknown")


def fit_category(name: str, texts: pa.Array) -> Category:
    """Return an encoder with the values of these texts, in alphabetical order."""
    values = sorted(texts.drop_null().unique().to_pylist())
    what = f"a category, a column for each of {len(values):,} values"
    if texts.null_count:
        values.append(_MISSING)
        what += f", and one for {texts.null_count:,} missing"
    return Category(name, what, tuple(values))


@dataclass(frozen=True, eq=False)
class Hashed(ColumnEncoder):
    """One of many values: 1 or -1 in a column that its hash names."""

    kind = "hash"
    reads_text = True

    width: int

    @property
    def names(self) -> tuple[str, ...]:
        """Return ``column#0``, ``column#1``, …"""
        return tuple(f"{self.name}#{number}" for number in range(self.width))

    def values(self, column: pa.ChunkedArray) -> np.ndarray:
        """Return the hashes; a missing value leaves zeros."""
        from sklearn.feature_extraction import FeatureHasher  # noqa: PLC0415 - slow to load

        coded = texts_of(column).dictionary_encode()
        hasher = FeatureHasher(self.width, input_type="string", dtype=np.float32)
        vocabulary = hasher.transform([[text] for text in coded.dictionary.to_pylist()] or [[]])
        rows = np.concatenate([vocabulary.toarray(), np.zeros((1, self.width), np.float32)])
        hashed: np.ndarray = rows[pc.fill_null(coded.indices, len(rows) - 1).to_numpy()]
        return hashed


def fit_hash(name: str, texts: pa.Array) -> Hashed:
    """Return an encoder for texts with many values."""
    count = len(texts.drop_null().unique())
    what = f"a category of {count:,} values, hashed into {HASHED_WIDTH} columns"
    return Hashed(name, what, HASHED_WIDTH)


def zeros_note(texts: pa.Array, values: np.ndarray, what: str) -> str:
    """Return how many of the given texts leave zeros alone, and which; "" if none."""
    given = texts.is_valid().to_numpy(zero_copy_only=False)
    unknown = given & ~values.any(axis=1)
    if not unknown.any():
        return ""
    which = listed(texts.filter(pa.array(unknown)).unique().to_pylist(), 3)
    count = f"{unknown.sum():,} of {counted(int(given.sum()), 'value')}"
    return f"{count} {what} to the model, set to zero: {which}"
