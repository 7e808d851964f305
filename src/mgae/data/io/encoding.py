"""Encode a column of any type as numbers.

Numbers stay as they are, booleans are 0 and 1, dates are days since 1970. A text column with few
values gets a column for each of them, ``column=value``; one with many gets a column for each of its
most frequent words, ``column:word``, which says whether a text contains the word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from mgae.core.errors import GraphError
from mgae.data.ids import counted, decoded, listed

TEXT_MARKS = ("=", ":")  # behind the name of a text column: before a value, before a word
MOST_VALUES = 100  # of a text column that gets a column for each
MOST_CATEGORIES = 1000  # … where its type says that it is categorical
MOST_WORDS = 512
_BETWEEN_WORDS = r"[^\pL\pM\pN_]+"
_DAY = 86_400_000_000  # in microseconds

Locate = Callable[[int], str]


@dataclass(frozen=True)
class Block:
    """The columns that one is encoded as.

    Attributes:
        values: [rows, k] in single floats; NaN where a number is missing.
        names: of the k columns.
        note: how it was encoded, if that is not obvious.
    """

    values: np.ndarray
    names: tuple[str, ...]
    note: str = ""


def encoded(name: str, column: pa.ChunkedArray, locate: Locate) -> Block:
    """Return a column as numbers.

    Raises:
        GraphError: if a number is not finite, or the type is not supported.

    >>> encoded("color", pa.chunked_array([["red", "blue", "red"]]), str).values.tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    """
    categorical = types.is_dictionary(column.type)
    column = decoded(column)
    kind = column.type
    if column.null_count == len(column):
        return Block(np.empty((len(column), 0), np.float32), (), "no values, ignored")
    if categorical or _is_text(kind):
        texts = column.cast(pa.string()).combine_chunks()
        return _encoded_texts(name, texts, MOST_CATEGORIES if categorical else MOST_VALUES)
    if types.is_date(kind) or types.is_timestamp(kind):
        zone = kind.tz if types.is_timestamp(kind) else None
        microseconds = column.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64())
        days = pc.divide(microseconds.cast(pa.float64(), safe=False), float(_DAY))
        return Block(_numbers(name, days, locate), (name,), "as days since 1970")
    if types.is_fixed_size_list(kind) and kind.list_size and _is_number(kind.value_type):
        return _vectors(name, column, locate)
    if not _is_number(kind):
        raise GraphError(
            f"{locate(0)}: column {name!r} holds {kind}: "
            "features must be numbers, booleans, dates or texts"
        )
    return Block(_numbers(name, column, locate), (name,))


def encoded_as(name: str, column: pa.ChunkedArray, known: Sequence[str], locate: Locate) -> Block:
    """Return a column as numbers in the ``known`` columns that it was encoded as in training.

    An unknown value or word leaves zeros; the note counts the rows that have nothing else.

    Raises:
        GraphError: if the column is of another kind than in training.

    >>> column = pa.chunked_array([["red", "green"]])
    >>> encoded_as("color", column, ("color=blue", "color=red"), str).values.tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    mark = known[0][len(name) : len(name) + 1]
    if mark in TEXT_MARKS:
        texts = pc.utf8_trim_whitespace(decoded(column).cast(pa.string()).combine_chunks())
        values = [entry.removeprefix(name + mark) for entry in known]
        contents = _words(texts) if mark == ":" else _values(texts)
        indicators = contents.indicators(values)
        return Block(indicators, tuple(known), _unknown(texts, indicators, mark))
    block = encoded(name, column, locate)
    if block.names and block.names != tuple(known):
        raise GraphError(
            f"{locate(0)}: column {name!r} was {listed(known)} in training, and is "
            f"{listed(block.names)} here: give it the same type"
        )
    return block if block.names else Block(np.full((len(column), len(known)), np.nan), tuple(known))


def _unknown(texts: pa.Array, indicators: np.ndarray, mark: str) -> str:
    """Return how many of the given texts leave zeros alone, and which; "" if none."""
    given = pc.fill_null(pc.not_equal(texts, ""), False).to_numpy(zero_copy_only=False)
    unknown = given & ~indicators.any(axis=1)
    if not unknown.any():
        return ""
    what = "without a word that is known" if mark == ":" else "unknown"
    which = listed(texts.filter(pa.array(unknown)).unique().to_pylist(), 3)
    count = f"{unknown.sum():,} of {counted(int(given.sum()), 'value')}"
    return f"{count} {what} to the model, set to zero: {which}"


def _is_text(kind: pa.DataType) -> bool:
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return bool(text or types.is_time(kind))


def _is_number(kind: pa.DataType) -> bool:
    simple = types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)
    return bool(simple or types.is_decimal(kind))


def _numbers(name: str, column: pa.ChunkedArray, locate: Locate, width: int = 1) -> np.ndarray:
    """Return single floats [rows, width], NaN for missing ones and for nothing else."""
    floats = column.cast(pa.float64(), safe=False).to_numpy()
    with np.errstate(over="ignore"):
        values: np.ndarray = floats.astype(np.float32)
    missing = column.is_null().to_numpy()
    wrong = ~(np.isfinite(values) | missing)
    if wrong.any():
        entry = int(np.argmax(wrong))
        raise GraphError(
            f"{locate(entry // width)}: column {name!r} must hold finite numbers, "
            f"got {floats[entry]} (leave a cell empty where there is none)"
        )
    return values.reshape(-1, width)


def _vectors(name: str, column: pa.ChunkedArray, locate: Locate) -> Block:
    """Return a column whose cells are vectors of one length, such as embeddings."""
    width = column.type.list_size
    if column.null_count:
        row = pc.index(column.is_null(), True).as_py()
        raise GraphError(f"{locate(row)}: column {name!r} has no vector")
    entries = pa.chunked_array([chunk.flatten() for chunk in column.chunks])
    names = tuple(f"{name}[{entry}]" for entry in range(width))
    return Block(_numbers(name, entries, locate, width), names)


def _encoded_texts(name: str, texts: pa.Array, most_values: int) -> Block:
    """Return a column per value, or per frequent word if there are too many values."""
    texts = pc.utf8_trim_whitespace(texts)
    contents, mark, kind = _values(texts), "=", "values"
    missing = len(texts) - len(contents.row)
    if len(contents.vocabulary) > most_values:
        contents, mark, kind = _words(texts), ":", "words"
        most_values = MOST_WORDS
    kept = contents.most_frequent(most_values)
    names = tuple(f"{name}{mark}{text}" for text in kept)
    note = f"text, a column for each of {len(names):,} {kind}"
    note += f", {missing:,} missing" if missing else ""
    return Block(contents.indicators(kept), names, note)


@dataclass(frozen=True)
class _Contents:
    """What a column of texts contains: ``vocabulary[code[i]]`` is in the row ``row[i]``."""

    row: np.ndarray
    code: np.ndarray
    vocabulary: pa.Array
    num_rows: int

    def most_frequent(self, most: int) -> list[str]:
        """Return the most frequent entries in alphabetical order, which decides ties too."""
        order = pc.sort_indices(self.vocabulary).to_numpy()
        frequency = np.bincount(self.code, minlength=len(order))[order]
        kept = np.sort(np.argsort(-frequency, kind="stable")[:most])
        return [str(text) for text in self.vocabulary.take(pa.array(order[kept])).to_pylist()]

    def indicators(self, columns: Sequence[str]) -> np.ndarray:
        """Return 1 where a row contains the text of a column: [rows, columns]."""
        index = pc.index_in(self.vocabulary, pa.array(columns, pa.string()))
        column = pc.fill_null(index, -1).to_numpy()[self.code]
        known = column >= 0
        indicators = np.zeros((self.num_rows, len(columns)), np.float32)
        indicators[self.row[known], column[known]] = 1
        return indicators


def _values(texts: pa.Array) -> _Contents:
    """Return the one value of each text that is not empty."""
    coded = pc.if_else(pc.equal(texts, ""), None, texts).dictionary_encode()
    row = np.flatnonzero(coded.is_valid().to_numpy(zero_copy_only=False))
    return _Contents(row, coded.indices.drop_null().to_numpy(), coded.dictionary, len(texts))


def _words(texts: pa.Array) -> _Contents:
    """Return the words that each text contains, once per text."""
    lists = pc.split_pattern_regex(pc.fill_null(pc.utf8_lower(texts), ""), _BETWEEN_WORDS)
    words, row = pc.list_flatten(lists), pc.list_parent_indices(lists)
    is_word = pc.not_equal(words, "")  # which the split leaves at the ends of a text
    coded = words.filter(is_word).dictionary_encode()
    count = max(1, len(coded.dictionary))
    keys = np.unique(row.filter(is_word).to_numpy() * np.int64(count) + coded.indices.to_numpy())
    return _Contents(*np.divmod(keys, count), coded.dictionary, len(texts))
