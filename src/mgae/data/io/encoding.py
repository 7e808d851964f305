"""A column as numbers, whatever its type.

Numbers stay as they are, booleans are 0 and 1, dates are days since 1970. A text column with few
values has a column for each of them, ``column=value``; one with many has a column for each of its
most frequent words, ``column:word``, which says whether a text holds the word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from mgae.core.errors import GraphError
from mgae.data.ids import counted, listed, undictionaried

TEXT_MARKS = ("=", ":")  # behind the name of a text column: before a value, before a word
MOST_VALUES = 100  # of a text column that gets a column for each
MOST_CATEGORIES = 1000  # … where its type says that it is categorical
MOST_WORDS = 512
_BETWEEN_WORDS = r"[^\pL\pM\pN_]+"
_DAY = 86_400_000_000  # in microseconds

Place = Callable[[int], str]


@dataclass(frozen=True)
class Block:
    """The columns that come of one.

    Attributes:
        values: [rows, k] in single floats; NaN where a number is missing.
        names: of the k columns.
        note: how it was encoded, where that is not plain.
    """

    values: np.ndarray
    names: tuple[str, ...]
    note: str = ""


def encoded(name: str, column: pa.ChunkedArray, place: Place) -> Block:
    """A column as numbers.

    Raises:
        GraphError: at a number that is not finite, or where the type has no numbers in it.

    >>> encoded("color", pa.chunked_array([["red", "blue", "red"]]), str).values.tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    """
    categorical = types.is_dictionary(column.type)
    column = undictionaried(column)
    kind = column.type
    if column.null_count == len(column):
        return Block(np.empty((len(column), 0), np.float32), (), "no values, ignored")
    if categorical or _is_text(kind):
        texts = column.cast(pa.string()).combine_chunks()
        return _encoded_texts(name, texts, MOST_CATEGORIES if categorical else MOST_VALUES)
    if types.is_date(kind) or types.is_timestamp(kind):
        days = pc.divide(_microseconds(column).cast(pa.float64(), safe=False), float(_DAY))
        return Block(_numbers(name, days, place), (name,), "as days since 1970")
    if types.is_fixed_size_list(kind) and kind.list_size and _is_number(kind.value_type):
        return _vectors(name, column, place)
    if not _is_number(kind):
        raise GraphError(
            f"{place(0)}: column {name!r} holds {kind}: "
            "features must be numbers, booleans, dates or texts"
        )
    return Block(_numbers(name, column, place), (name,))


def encoded_as(name: str, column: pa.ChunkedArray, known: Sequence[str], place: Place) -> Block:
    """A column as numbers in the ``known`` columns that once came of it, and in no others.

    A value or word that was not among them leaves zeros, and the note counts what has only these.

    Raises:
        GraphError: where the column is of another kind than it was.

    >>> column = pa.chunked_array([["red", "green"]])
    >>> encoded_as("color", column, ("color=blue", "color=red"), str).values.tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    mark = known[0][len(name) : len(name) + 1]
    if mark in TEXT_MARKS:
        texts = pc.utf8_trim_whitespace(undictionaried(column).cast(pa.string()).combine_chunks())
        values = [entry.removeprefix(name + mark) for entry in known]
        row, value = _held_texts(texts) if mark == ":" else (np.arange(len(texts)), texts)
        indicators = _indicators(row, value, values, len(texts))
        return Block(indicators, tuple(known), _unknown(texts, indicators, mark))
    block = encoded(name, column, place)
    if block.names and block.names != tuple(known):
        raise GraphError(
            f"{place(0)}: column {name!r} was {listed(known)} in training, and is "
            f"{listed(block.names)} here: give it the same type"
        )
    return block if block.names else Block(np.full((len(column), len(known)), np.nan), tuple(known))


def _unknown(texts: pa.Array, indicators: np.ndarray, mark: str) -> str:
    """How many of the texts that are there leave zeros alone, and which; nothing where none do."""
    given = pc.fill_null(pc.not_equal(texts, ""), False).to_numpy(zero_copy_only=False)
    strange = given & ~indicators.any(axis=1)
    if not strange.any():
        return ""
    what = "without a word that is known" if mark == ":" else "unknown"
    which = listed(texts.filter(pa.array(strange)).unique().to_pylist(), 3)
    count = f"{strange.sum():,} of {counted(int(given.sum()), 'value')}"
    return f"{count} {what} to the model, set to zero: {which}"


def _held_texts(texts: pa.Array) -> tuple[np.ndarray, pa.Array]:
    row, word, vocabulary = _held_words(texts)
    return row, pa.array(vocabulary, pa.string()).take(pa.array(word))


def _indicators(
    row: np.ndarray, value: pa.Array, values: Sequence[str], num_rows: int
) -> np.ndarray:
    """1 where a row has one of the values: [rows, values]."""
    column = pc.fill_null(pc.index_in(value, pa.array(values, pa.string())), -1).to_numpy()
    found = column >= 0
    indicators = np.zeros((num_rows, len(values)), np.float32)
    indicators[row[found], column[found]] = 1
    return indicators


def _is_text(kind: pa.DataType) -> bool:
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return bool(text or types.is_time(kind))


def _is_number(kind: pa.DataType) -> bool:
    simple = types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)
    return bool(simple or types.is_decimal(kind))


def _microseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    zone = column.type.tz if types.is_timestamp(column.type) else None
    return column.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64())


def _numbers(name: str, column: pa.ChunkedArray, place: Place, width: int = 1) -> np.ndarray:
    """Single floats [rows, width], NaN for what is missing and for nothing else."""
    floats = column.cast(pa.float64(), safe=False).to_numpy()
    with np.errstate(over="ignore"):
        values: np.ndarray = floats.astype(np.float32)
    missing = column.is_null().to_numpy()
    wrong = ~(np.isfinite(values) | missing)
    if wrong.any():
        entry = int(np.argmax(wrong))
        raise GraphError(
            f"{place(entry // width)}: column {name!r} must hold finite numbers, "
            f"got {floats[entry]} (leave a cell empty where there is none)"
        )
    return values.reshape(-1, width)


def _vectors(name: str, column: pa.ChunkedArray, place: Place) -> Block:
    """A column whose cells are vectors of one length, as embeddings are."""
    width = column.type.list_size
    if column.null_count:
        row = pc.index(column.is_null(), True).as_py()
        raise GraphError(f"{place(row)}: column {name!r} has no vector")
    entries = pa.chunked_array([chunk.flatten() for chunk in column.chunks])
    names = tuple(f"{name}[{entry}]" for entry in range(width))
    return Block(_numbers(name, entries, place, width), names)


def _encoded_texts(name: str, texts: pa.Array, most_values: int) -> Block:
    texts = pc.utf8_trim_whitespace(texts)
    coded = pc.if_else(pc.equal(texts, ""), None, texts).dictionary_encode()
    missing = f", {coded.null_count:,} missing" if coded.null_count else ""
    if len(coded.dictionary) > most_values:
        return _words(name, texts, missing)
    order = pc.sort_indices(coded.dictionary)
    rank = np.argsort(order.to_numpy())
    values = np.zeros((len(texts), len(order)), np.float32)
    rows = np.flatnonzero(coded.is_valid().to_numpy(zero_copy_only=False))
    values[rows, rank[coded.indices.drop_null().to_numpy()]] = 1
    names = tuple(f"{name}={value}" for value in coded.dictionary.take(order).to_pylist())
    return Block(values, names, f"text, a column for each of {len(names):,} values{missing}")


def _words(name: str, texts: pa.Array, missing: str) -> Block:
    """Which of the most frequent words a text holds; ties and columns go by the alphabet."""
    row, word, vocabulary = _held_words(texts)
    frequency = np.bincount(word, minlength=len(vocabulary))
    kept = np.sort(np.lexsort((np.arange(len(vocabulary)), -frequency))[:MOST_WORDS])
    column = np.full(len(vocabulary), -1)
    column[kept] = np.arange(len(kept))
    frequent = column[word] >= 0
    values = np.zeros((len(texts), len(kept)), np.float32)
    values[row[frequent], column[word[frequent]]] = 1
    names = tuple(f"{name}:{vocabulary[index]}" for index in kept)
    return Block(values, names, f"text, a column for each of {len(names):,} words{missing}")


def _held_words(texts: pa.Array) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Text and word [held] for each word that a text holds, once; and the words in order."""
    lists = pc.split_pattern_regex(pc.fill_null(pc.utf8_lower(texts), ""), _BETWEEN_WORDS)
    words, row = pc.list_flatten(lists), pc.list_parent_indices(lists)
    is_word = pc.not_equal(words, "")  # which the split leaves at the ends of a text
    coded = words.filter(is_word).dictionary_encode()
    order = pc.sort_indices(coded.dictionary)
    word = np.argsort(order.to_numpy())[coded.indices.to_numpy()]
    keys = np.unique(row.filter(is_word).to_numpy() * np.int64(len(order)) + word)
    held = np.divmod(keys, max(1, len(order)))
    return held[0], held[1], coded.dictionary.take(order).to_pylist()
