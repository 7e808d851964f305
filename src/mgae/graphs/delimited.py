"""Delimited text, packed or not, read by pyarrow on all cores.

Only where a message has to name a line is the file gone through again, slowly, in Python.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from mgae.errors import GraphError
from mgae.graphs.layout import NULLS, Layout, cleaned, not_utf8, ragged, records

OnProgress = Callable[[str, float], None]

# A row must fit into a block; most do into the first of these.
_BLOCK_BYTES = (1 << 20, 1 << 24, 1 << 28)


def opened(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked where it is gzip."""
    with path.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    return cast(IO[bytes], gzip.open(path)) if packed else path.open("rb")


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Say in one line why a file cannot be read."""
    try:
        if path.is_dir():
            raise GraphError(f"{path} is a directory: name a file in it")
        if path.exists() and not path.is_file():
            raise GraphError(f"{path} can only be read once: save it as a file")
        yield
    except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        raise GraphError(f"cannot read {path}: {reason}") from None


@dataclass(frozen=True)
class TextTable:
    """A delimited text file of a known layout, as a `mgae.graphs.tables.Table`."""

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

    def read(self, columns: Sequence[int], text: Collection[int]) -> list[pa.ChunkedArray]:
        """These columns, those also in ``text`` as it stands there, others as what they look like.

        Raises:
            GraphError: at a ragged row, or one that is not in UTF-8.
        """
        with readable(self.path):
            table = self._table(columns, text)
        found = {column: table.column(str(column)) for column in columns}
        return [found[c] if c in text else self._typed(found[c]) for c in columns]

    def place(self, row: int) -> str:
        """The file and the line of a row."""
        lines = (line for line, _ in self._records())
        line = next((line for index, line in enumerate(lines) if index == row), None)
        return f"{self.path}, row {row + 1}" if line is None else f"{self.path}, line {line}"

    def _table(self, columns: Sequence[int], text: Collection[int]) -> pa.Table:
        for block in _BLOCK_BYTES:
            try:
                return self._parsed(columns, text, block)
            except pa.ArrowInvalid as error:
                if "straddling" not in str(error) or block == _BLOCK_BYTES[-1]:
                    return self._explained(columns, error)
        raise AssertionError("the last block was tried")

    def _parsed(self, columns: Sequence[int], text: Collection[int], block: int) -> pa.Table:
        names = [str(column) for column in range(self.layout.width)]
        with _Rows(self.path, self.layout, self.progress) as rows:
            return pacsv.read_csv(
                rows,
                pacsv.ReadOptions(column_names=names, block_size=block),
                pacsv.ParseOptions(delimiter=self.layout.delimiter, newlines_in_values=True),
                pacsv.ConvertOptions(
                    include_columns=[names[column] for column in columns],
                    column_types={names[column]: pa.string() for column in text},
                    null_values=NULLS,
                    strings_can_be_null=False,  # NA may be an id; other texts are seen to below
                ),
            )

    def _explained(self, columns: Sequence[int], error: pa.ArrowInvalid) -> pa.Table:
        """An empty table where there are no rows, or the error with the line that causes it."""
        row = None
        for row in self._records():
            if len(row[1]) != self.layout.width:
                raise ragged(self.path, row[0], self.layout.width, len(row[1])) from None
        if row is None:
            return pa.table({str(column): pa.array([], pa.string()) for column in columns})
        self._refuse_other_than_utf8()
        raise GraphError(f"cannot read {self.path}: {str(error).partition(chr(10))[0]}") from None

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
        """Texts without the blanks around them and the words for nothing; numbers, if all are."""
        if pa.types.is_binary(column.type):  # how pyarrow takes what is no UTF-8
            self._refuse_other_than_utf8()
        if not pa.types.is_string(column.type):
            return column
        column = pc.utf8_trim_whitespace(column)
        nothing = pc.is_in(column, pa.array(NULLS))
        column = pc.if_else(nothing, pa.scalar(None, pa.string()), column)
        try:
            return column.cast(pa.float64())
        except pa.ArrowInvalid:
            return column


class _Rows:
    """The rows of a text as a stream for pyarrow, without comments, telling how far it is."""

    def __init__(self, path: Path, layout: Layout, progress: OnProgress) -> None:
        self._stage, self._size = f"reading {path.name}", max(1, path.stat().st_size)
        self._delimiter, self._progress = layout.delimiter, progress
        self._stream: Any = opened(path)
        self._stream.seek(layout.start)

    def __enter__(self) -> _Rows:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        """As files have it."""
        return bool(self._stream.closed)

    def close(self) -> None:
        """As files have it."""
        self._stream.close()

    def read(self, size: int) -> bytes:
        """About ``size`` bytes, of whole lines where they are cleaned; none at the end."""
        chunk: bytes = self._stream.read(size)
        packed = getattr(self._stream, "fileobj", self._stream)
        self._progress(self._stage, min(1.0, packed.tell() / self._size))
        if self._delimiter not in "\t ":
            return chunk
        chunk += self._stream.readline()
        # Nothing would mean the end, so a chunk of comments alone leaves an empty line.
        return cleaned(chunk, self._delimiter) or (b"\n" if chunk else b"")
