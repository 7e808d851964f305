"""Delimited text, read by pyarrow on all cores.

Only where a message has to name a line is the file gone through again, slowly, in Python.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from mgae.core.errors import GraphError
from mgae.data.io.header import NULLS
from mgae.data.io.layout import Layout, not_utf8, ragged
from mgae.data.io.lines import records
from mgae.data.io.pieces import OnProgress, opened, pieces, readable

# What a core parses at once; a row must fit into it, and most do.
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class TextTable:
    """A delimited text file of a known layout, as a `mgae.data.io.tables.Table`."""

    path: Path
    layout: Layout
    progress: OnProgress

    @property
    def where(self) -> str:
        """The file's name."""
        return str(self.path)

    @property
    def named(self) -> bool:
        """Whether there is a header."""
        return self.layout.names is not None

    @property
    def names(self) -> tuple[str, ...]:
        """The header's names, or numbered ones."""
        numbered = tuple(f"column{number}" for number in range(1, self.layout.width + 1))
        return self.layout.names or numbered

    def read(
        self, columns: Sequence[int], text: Collection[int], words: Collection[int] = ()
    ) -> list[pa.ChunkedArray]:
        """These columns, those also in ``text`` as it stands there, others as what they look like.

        Those also in ``words`` are texts whatever they look like.

        Raises:
            GraphError: at a ragged row, or one that is not in UTF-8.
        """
        with readable(self.path):
            tables = self._tables(columns, {*text, *words})
            # What looks like numbers above may turn out to be text below.
            unclear = {c for c in columns if _kind(tables, c) is None}
            if unclear:
                tables = self._tables(columns, {*text, *words, *unclear})
        found = {column: _joined(tables, column) for column in columns}
        found |= {c: _without_nothing(found[c]) for c in words}
        return [found[c] if c in text or c in words else self._typed(found[c]) for c in columns]

    def pieces(self, columns: Sequence[int]) -> Iterator[list[pa.ChunkedArray]]:
        """These columns as they stand there, some rows at a time.

        Raises:
            GraphError: at a ragged row, or one that is not in UTF-8.
        """
        with readable(self.path):
            for piece in pieces(self.path, self.layout, self.progress):
                table = self._checked(piece, columns, columns)
                yield [table.column(str(column)) for column in columns]

    def place(self, row: int) -> str:
        """The file and the line of a row."""
        lines = (line for line, _ in self._records())
        line = next((line for index, line in enumerate(lines) if index == row), None)
        return f"{self.path}, row {row + 1}" if line is None else f"{self.path}, line {line}"

    def _tables(self, columns: Sequence[int], text: Collection[int]) -> list[pa.Table]:
        tables = [pa.table({str(column): pa.array([], pa.string()) for column in columns})]
        for piece in pieces(self.path, self.layout, self.progress):
            tables.append(self._checked(piece, columns, text))
        return tables[1:] or tables

    def _checked(self, piece: bytes, columns: Sequence[int], text: Collection[int]) -> pa.Table:
        try:
            return self._parsed(piece, columns, text)
        except pa.ArrowInvalid as error:
            raise self._explained(error) from None

    def _parsed(self, piece: bytes, columns: Sequence[int], text: Collection[int]) -> pa.Table:
        # In memory of its own: a thread of pyarrow that lets go of Python's at exit would abort.
        buffer = pa.allocate_buffer(len(piece))
        memoryview(buffer).cast("B")[:] = piece
        names = [str(column) for column in range(self.layout.width)]
        parse = pacsv.ParseOptions(delimiter=self.layout.delimiter, newlines_in_values=True)
        convert = pacsv.ConvertOptions(
            include_columns=[names[column] for column in columns],
            column_types={names[column]: pa.string() for column in text},
            null_values=NULLS,
            true_values=("true", "True", "TRUE"),  # not 1, nor 0: these are numbers
            false_values=("false", "False", "FALSE"),
            strings_can_be_null=False,  # NA may be an id; other texts are seen to below
        )
        for block in (_BLOCK_BYTES, len(piece) + 1):
            read = pacsv.ReadOptions(column_names=names, block_size=block)
            try:
                return pacsv.read_csv(pa.BufferReader(buffer), read, parse, convert)
            except pa.ArrowInvalid as error:
                if "straddling" not in str(error) or block > len(piece):
                    raise
        raise AssertionError("a block of the size of the piece holds every row of it")

    def _explained(self, error: pa.ArrowInvalid) -> GraphError:
        """The error with the line that causes it."""
        for line, fields in self._records():
            if len(fields) != self.layout.width:
                return ragged(self.path, line, self.layout.width, len(fields))
        self._refuse_other_than_utf8()
        return GraphError(f"cannot read {self.path}: {str(error).partition(chr(10))[0]}")

    def _refuse_other_than_utf8(self) -> None:
        with opened(self.path) as stream:
            for number, line in enumerate(stream, 1):
                try:
                    line.decode()
                except UnicodeDecodeError as error:
                    raise not_utf8(self.path, number, line[error.start]) from None

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        with opened(self.path) as stream:
            stream.seek(self.layout.start)
            lines = io.TextIOWrapper(stream, "utf-8", errors="replace", newline="")
            for line, fields in records(lines, self.layout.delimiter):
                yield line + self.layout.lines, fields

    def _typed(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Texts without the words for nothing; numbers, if all are."""
        if pa.types.is_binary(column.type):  # how pyarrow takes what is no UTF-8
            self._refuse_other_than_utf8()
        if not pa.types.is_string(column.type):
            return column
        column = _without_nothing(column)
        try:
            return column.cast(pa.float64())
        except pa.ArrowInvalid:
            return column


def _without_nothing(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts without the blanks around them, and nulls for the words that say so."""
    texts = pc.utf8_trim_whitespace(texts)
    nothing = pc.is_in(texts, pa.array(NULLS))
    return pc.if_else(nothing, pa.scalar(None, pa.string()), texts)


def _kind(tables: list[pa.Table], column: int) -> pa.DataType | None:
    """The type that fits a column in all pieces, None where there is none."""
    kinds = {table.column(str(column)).type for table in tables} - {pa.null()}
    if len(kinds) <= 1:
        return kinds.pop() if kinds else pa.null()
    if all(pa.types.is_date(k) or (pa.types.is_timestamp(k) and k.tz is None) for k in kinds):
        return pa.timestamp("us")
    return pa.float64() if kinds <= {pa.int64(), pa.float64()} else None


def _joined(tables: list[pa.Table], column: int) -> pa.ChunkedArray:
    kind = _kind(tables, column)
    columns = [table.column(str(column)).cast(kind, safe=False) for table in tables]
    return pa.chunked_array([chunk for part in columns for chunk in part.chunks], kind)
