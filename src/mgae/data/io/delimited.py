"""Read delimited text by pyarrow on all cores, in pieces of whole rows.

Own code around pyarrow: it does not say in which line an error is. Only for such a message is the
file read again, slowly, in Python.
"""

from __future__ import annotations

import codecs
import io
import re
import tempfile
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from mgae.core.errors import GraphError
from mgae.data.io.bounds import LONGEST_ROW, BoundedGzip, too_long
from mgae.data.io.headers import NULLS
from mgae.data.io.sniffing import Layout, not_utf8, ragged, records, squeezed

OnProgress = Callable[[str, float], None]

_PIECE_BYTES = 1 << 25
_BLOCK_BYTES = 1 << 20  # parsed at once by a core; a row must fit into it, and most do
_COMMENT_LINES = re.compile(rb"(?m)^[#%](?=[\s#%]|$).*\n?")


def open_bytes(path: Path, encoding: str | None = None) -> IO[bytes]:
    """Open a file for reading, decompressed if it is gzip, with a bound on what that gives.

    With an ``encoding`` it is read as a text in UTF-8, whatever it was; a copy without a name lies
    where temporary files do.
    """
    with path.open("rb") as stream:
        compressed = stream.read(2) == b"\x1f\x8b"
    opened = BoundedGzip(path) if compressed else path.open("rb")
    plain = cast(IO[bytes], opened)
    return plain if encoding is None else _as_utf8(plain, encoding)


def _as_utf8(stream: IO[bytes], encoding: str) -> IO[bytes]:
    copy = cast(IO[bytes], tempfile.SpooledTemporaryFile(_PIECE_BYTES))  # noqa: SIM115 - handed on
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with stream:
            while chunk := stream.read(_BLOCK_BYTES):
                copy.write(decoder.decode(chunk).encode())
        copy.write(decoder.decode(b"", final=True).encode())
    except BaseException:
        copy.close()
        raise
    copy.seek(0)
    return copy


def encoding_of(path: Path, fallback: str | None) -> str | None:
    """Return the encoding of a text: UTF-16 by its mark, ``fallback`` if it is not UTF-8."""
    with open_bytes(path) as stream:
        if stream.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
        if fallback is None:
            return None
        stream.seek(0)
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while chunk := stream.read(_BLOCK_BYTES):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return fallback
    return None


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn failures to read a file into a `GraphError` of one line."""
    try:
        if path.is_dir():
            raise GraphError(f"{path} is a directory: name a file in it")
        if path.exists() and not path.is_file():
            raise GraphError(f"{path} can only be read once: save it as a file")
        yield
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        raise GraphError(f"cannot read {path}: {reason}") from None


@dataclass(frozen=True)
class DelimitedTable:
    """A delimited text file of a known layout, as a `mgae.data.io.tables.Table`."""

    path: Path
    layout: Layout
    on_progress: OnProgress
    encoding: str | None = None  # if it is not UTF-8

    @property
    def where(self) -> str:
        """Return the file's name."""
        return str(self.path)

    @property
    def named(self) -> bool:
        """Return whether there is a header."""
        return self.layout.names is not None

    @property
    def likely_header(self) -> bool:
        """Return whether the header is one by likelihood alone."""
        return self.layout.likely

    @property
    def zero_led(self) -> frozenset[int]:
        """Return the columns in which numbers have leading zeros, by the first rows."""
        return self.layout.zero_led

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names in the header, or numbered ones."""
        numbered = tuple(f"column{number}" for number in range(1, self.layout.width + 1))
        return self.layout.names or numbered

    def read(
        self, columns: Sequence[int], text: Collection[int], words: Collection[int] = ()
    ) -> list[pa.ChunkedArray]:
        """Return these columns: ``text`` verbatim, ``words`` as texts, others by their content.

        Raises:
            GraphError: if a row is ragged, or not in UTF-8.
        """
        with readable(self.path):
            tables = self._tables(columns, {*text, *words})
            # A column of numbers in one piece may have texts in another.
            if mixed := {column for column in columns if _common_type(tables, column) is None}:
                tables = self._tables(columns, {*text, *words, *mixed})
        joined = {column: _joined(tables, column) for column in columns}
        joined |= {column: _with_nulls(joined[column]) for column in words}
        untyped = {*text, *words}
        return [joined[c] if c in untyped else self._typed(joined[c]) for c in columns]

    def pieces(self, columns: Sequence[int]) -> Iterator[list[pa.ChunkedArray]]:
        """Yield these columns verbatim, some rows at a time.

        Raises:
            GraphError: if a row is ragged, or not in UTF-8.
        """
        with readable(self.path):
            for piece in self._pieces():
                table = self._parsed(piece, columns, columns)
                yield [table.column(str(column)) for column in columns]

    def locate(self, row: int) -> str:
        """Return the file and the line of a row."""
        lines = (line for line, _ in self._records())
        line = next((line for index, line in enumerate(lines) if index == row), None)
        return f"{self.path}, row {row + 1}" if line is None else f"{self.path}, line {line}"

    def _pieces(self) -> Iterator[bytes]:
        """Yield whole rows without comments, and report the progress."""
        size, rest = max(1, self.path.stat().st_size), b""
        with open_bytes(self.path, self.encoding) as stream:
            stream.seek(self.layout.start)
            while chunk := stream.read(_PIECE_BYTES):
                if len(rest) > LONGEST_ROW:
                    raise too_long(self.path, "a row")
                rest += chunk
                compressed: Any = getattr(stream, "fileobj", stream)
                self.on_progress(f"reading {self.path.name}", min(1.0, compressed.tell() / size))
                end = _end_of_rows(rest)
                yield from _without_comments(rest[:end], self.layout.delimiter)
                rest = rest[end:]
        yield from _without_comments(rest, self.layout.delimiter)

    def _tables(self, columns: Sequence[int], text: Collection[int]) -> list[pa.Table]:
        tables = [self._parsed(piece, columns, text) for piece in self._pieces()]
        return tables or [pa.table({str(column): pa.array([], pa.string()) for column in columns})]

    def _parsed(self, piece: bytes, columns: Sequence[int], text: Collection[int]) -> pa.Table:
        # In memory of its own: a thread of pyarrow that frees Python's memory at exit would abort.
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
            strings_can_be_null=False,  # NA may be an id; `_with_nulls` handles other texts
        )
        for block in (_BLOCK_BYTES, len(piece) + 1):
            read = pacsv.ReadOptions(column_names=names, block_size=block)
            try:
                return pacsv.read_csv(pa.BufferReader(buffer), read, parse, convert)
            except pa.ArrowInvalid as error:
                if "straddling" not in str(error) or block > len(piece):
                    raise self._explained(error) from None
        raise AssertionError("a block of the size of the piece contains every row of it")

    def _explained(self, error: pa.ArrowInvalid) -> GraphError:
        """Return the error with the line that causes it."""
        for line, fields in self._records():
            if len(fields) != self.layout.width:
                return ragged(self.path, line, self.layout.width, len(fields))
        self._require_utf8()
        return GraphError(f"cannot read {self.path}: {str(error).partition(chr(10))[0]}")

    def _require_utf8(self) -> None:
        with open_bytes(self.path, self.encoding) as stream:
            for number, line in enumerate(stream, 1):
                try:
                    line.decode()
                except UnicodeDecodeError as error:
                    raise not_utf8(self.path, number, line[error.start]) from None

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        with open_bytes(self.path, self.encoding) as stream:
            stream.seek(self.layout.start)
            lines = io.TextIOWrapper(stream, "utf-8", errors="replace", newline="")
            for line, fields in records(lines, self.layout.delimiter):
                yield line + self.layout.lines, fields

    def _typed(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return texts with nulls, or numbers if all are numbers; other types as they are."""
        if pa.types.is_binary(column.type):  # pyarrow's type for what is not UTF-8
            self._require_utf8()
        if not pa.types.is_string(column.type):
            return column
        column = _with_nulls(column)
        try:
            return column.cast(pa.float64())
        except pa.ArrowInvalid:
            return column


def _end_of_rows(piece: bytes) -> int:
    """Return where the last whole row ends: at a line end after an even number of quotes."""
    end = piece.rfind(b"\n") + 1
    odd = piece.count(b'"', 0, end) % 2
    while odd and end:
        before = piece.rfind(b"\n", 0, end - 1) + 1
        odd ^= piece.count(b'"', before, end) % 2
        end = before
    return end


def _without_comments(piece: bytes, delimiter: str) -> Iterator[bytes]:
    """Yield the piece with its comments removed, or nothing if no row is left."""
    if delimiter in "\t " and (b"#" in piece or b"%" in piece):
        piece = _COMMENT_LINES.sub(b"", piece)
    if delimiter == " ":
        piece = squeezed(piece)
    if piece.strip(b" \r\n"):
        yield piece


def _with_nulls(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts without surrounding blanks, and nulls for words such as NA."""
    texts = pc.utf8_trim_whitespace(texts)
    null = pc.is_in(texts, pa.array(NULLS))
    return pc.if_else(null, pa.scalar(None, pa.string()), texts)


def _common_type(tables: list[pa.Table], column: int) -> pa.DataType | None:
    """Return the type that fits a column in all pieces, or None."""
    types = {table.column(str(column)).type for table in tables} - {pa.null()}
    if len(types) <= 1:
        return types.pop() if types else pa.null()
    if all(pa.types.is_date(t) or (pa.types.is_timestamp(t) and t.tz is None) for t in types):
        return pa.timestamp("us")
    return pa.float64() if types <= {pa.int64(), pa.float64()} else None


def _joined(tables: list[pa.Table], column: int) -> pa.ChunkedArray:
    common = _common_type(tables, column)
    columns = [table.column(str(column)).cast(common, safe=False) for table in tables]
    return pa.chunked_array([chunk for part in columns for chunk in part.chunks], common)
