"""Read the user's own ids as texts and number them in an order that no file format changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mgae.core.errors import GraphError
from mgae.data.io.bounds import LONGEST_ID

# What str(int(text)) == text accepts.
_INTEGER = r"^(0|-?[1-9][0-9]*)$"


@dataclass(frozen=True)
class Ids:
    """Columns of ids.

    Attributes:
        texts: the distinct ids, [k].
        codes: for each column the index into ``texts`` of each row, [rows].
        locate: returns where a row is, for messages.
    """

    texts: pa.Array
    codes: tuple[np.ndarray, ...]
    locate: Callable[[int], str]

    @classmethod
    def of(cls, columns: Sequence[pa.ChunkedArray], locate: Callable[[int], str]) -> Self:
        """Read the ids in these columns without the blanks around them.

        Raises:
            GraphError: if an id is missing, or is neither an integer nor a text.

        >>> ids = Ids.of([pa.chunked_array([["b ", "a", "b"]])], str)
        >>> ids.texts.to_pylist(), ids.codes[0].tolist()
        (['b', 'a'], [0, 1, 0])
        """
        # A column hashes on one core: two columns, two cores.
        with ThreadPoolExecutor(max(1, len(columns))) as pool:
            coded = list(pool.map(lambda column: _coded(column, locate), columns))
        merged = pa.concat_arrays([texts for _, texts in coded]).dictionary_encode()
        parts = np.split(merged.indices.to_numpy(), np.cumsum([len(texts) for _, texts in coded]))
        codes = tuple(part[code] for (code, _), part in zip(coded, parts[:-1], strict=True))
        ids = cls(merged.dictionary, codes, locate)
        if (empty := pc.index(ids.texts, "").as_py()) >= 0:
            raise GraphError(f"{ids.location_of(empty)}: an id is missing")
        lengths = pc.utf8_length(ids.texts)
        if (pc.max(lengths).as_py() or 0) > LONGEST_ID:
            code = pc.index(pc.greater(lengths, LONGEST_ID), True).as_py()
            raise GraphError(
                f"{ids.location_of(code)}: an id may have {LONGEST_ID:,} characters, got "
                f"{lengths[code].as_py():,}"
            )
        return ids

    def location_of(self, code: int) -> str:
        """Return where the distinct id of this code first occurs."""
        rows = [np.flatnonzero(codes == code)[:1] for codes in self.codes]
        return self.locate(int(np.concatenate(rows).min()))

    def repeated_rows(self) -> np.ndarray:
        """Return the rows whose id is in a row above already."""
        first = np.unique(self.codes[0], return_index=True)[1]
        return np.setdiff1d(np.arange(len(self.codes[0])), first)


@dataclass(frozen=True)
class Nodes:
    """Nodes in order: integers by value, texts by code point.

    Attributes:
        ids: integers if ``str(int(x)) == x`` for all of them, texts otherwise.
        texts: the same as texts.
    """

    ids: list[Any]
    texts: pa.Array

    @classmethod
    def of(cls, *groups: Ids) -> Self:
        """Return all nodes of the groups.

        Raises:
            GraphError: if all ids are integers and one has more than 64 bits.

        >>> Nodes.of(Ids.of([pa.chunked_array([["10", "9"]])], str)).ids
        [9, 10]
        >>> Nodes.of(Ids.of([pa.chunked_array([["10", "9", "09"]])], str)).ids
        ['09', '10', '9']
        """
        texts = pa.chunked_array([group.texts for group in groups], pa.string()).unique()
        ids, texts = in_order(texts, lambda text: _first_of(text, groups))
        return cls(ids.to_pylist(), texts)

    def positions(self, texts: pa.Array) -> np.ndarray:
        """Return the nodes' indices [len(texts)], -1 for a text that is no node."""
        positions: np.ndarray = pc.fill_null(pc.index_in(texts, self.texts), -1).to_numpy()
        return positions


def _coded(column: pa.ChunkedArray, locate: Callable[[int], str]) -> tuple[np.ndarray, pa.Array]:
    """Return the code of each row's id [rows], and the texts of the codes."""
    column = decoded(column)
    if column.null_count:
        raise GraphError(f"{locate(pc.index(column.is_null(), True).as_py())}: an id is missing")
    if len(column) == 0:
        return np.zeros(0, np.int32), pa.array([], pa.string())
    try:
        chunks = column.dictionary_encode().chunks
        codes = np.concatenate([chunk.indices.to_numpy() for chunk in chunks])
        return codes, as_texts(chunks[0].dictionary)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise not_texts("an id", column, error, locate) from None


def not_texts(
    what: str, column: pa.ChunkedArray, error: pa.ArrowException, locate: Callable[[int], str]
) -> GraphError:
    """Return why `as_texts` refuses a column: its type, or the first value that is wrong."""
    row, got = 0, f"a {column.type}"
    if isinstance(error, pa.ArrowInvalid):
        row = first_refused(column, as_texts)
        got = repr(column[row].as_py())
    return GraphError(f"{locate(row)}: {what} must be an integer or a text, got {got}")


def first_refused(values: pa.Array | pa.ChunkedArray, convert: Callable[[Any], Any]) -> int:
    """Return the index of the first value that ``convert`` refuses, by bisection."""
    low, high = 0, len(values)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            convert(values.slice(low, middle - low))
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low


def decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return plain values: a dictionary may have some that are in no row."""
    is_dictionary = pa.types.is_dictionary(column.type)
    return column.cast(column.type.value_type) if is_dictionary else column


def as_texts(values: pa.Array | pa.ChunkedArray) -> Any:
    """Return texts without surrounding blanks; whole floats, as of pandas, become integers.

    >>> as_texts(pa.array([1.0, None])).to_pylist()
    ['1', None]
    """
    if pa.types.is_floating(values.type):
        values = values.cast(pa.int64())
    return pc.utf8_trim_whitespace(values.cast(pa.string()))


def in_order(texts: pa.Array, locate: Callable[[str], str]) -> tuple[pa.Array, pa.Array]:
    """Return distinct ids in the order of nodes, as they are and as texts.

    Integers by value, if ``str(int(x)) == x`` for all of them, else texts by code point.

    Raises:
        GraphError: if all are integers and one has more than 64 bits; ``locate`` says where it is.
    """
    if not pc.all(pc.match_substring_regex(texts, _INTEGER), min_count=0).as_py():
        texts = texts.take(pc.sort_indices(texts))
        return texts, texts
    integers = _integers(texts, locate)
    order = pc.sort_indices(integers)
    return integers.take(order), texts.take(order)


def _integers(texts: pa.Array, locate: Callable[[str], str]) -> pa.Array:
    try:
        return texts.cast(pa.int64())
    except pa.ArrowInvalid:
        text = texts[first_refused(texts, lambda values: values.cast(pa.int64()))].as_py()
    raise GraphError(
        f"{locate(text)}: {text[:40]} does not fit into 64 bits: "
        "make such numbers texts, as by a letter before them"
    )


def _first_of(text: str, groups: Sequence[Ids]) -> str:
    """Return where an id first occurs."""
    codes = ((group, pc.index(group.texts, text).as_py()) for group in groups)
    group, code = next((group, code) for group, code in codes if code >= 0)
    return group.location_of(code)


def listed(values: Sequence[Any], most: int = 5) -> str:
    """Return the first few values in one line, and how many more there are.

    >>> listed([1, 2, 3, 4, 5, 6, 7])
    '1, 2, 3, 4, 5 and 2 more'
    """
    shown = ", ".join(" ".join(str(value).split()) for value in values[:most])
    more = len(values) - most
    return f"{shown} and {more:,} more" if more > 0 else shown


def counted(count: int, what: str) -> str:
    """Return a number and what it counts.

    >>> counted(1, "edge"), counted(2000, "edge")
    ('1 edge', '2,000 edges')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"
