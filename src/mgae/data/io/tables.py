"""Tables in files and in memory, as columns of pyarrow that are read when they are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from mgae.core.errors import GraphError, hint
from mgae.data.ids import listed
from mgae.data.io.delimited import TextTable
from mgae.data.io.header import Hints
from mgae.data.io.layout import layout_of
from mgae.data.io.pieces import OnProgress, opened, readable

_BINARY_ENDINGS = {".parquet": "Parquet", ".feather": "Feather 2", ".arrow": "Feather 2"}


class Table(Protocol):
    """A table: what messages call it, its columns' names, and whether it brings them itself."""

    @property
    def where(self) -> str: ...  # noqa: D102
    @property
    def names(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def named(self) -> bool: ...  # noqa: D102

    def read(
        self, columns: Sequence[int], text: Collection[int], words: Collection[int] = ()
    ) -> list[pa.ChunkedArray]:
        """The columns of these numbers; where types are a guess, these two are not to be guessed.

        ``text`` comes as it stands there, ``words`` without the blanks around it and with nulls.
        """

    def pieces(self, columns: Sequence[int]) -> Iterator[list[pa.ChunkedArray]]:
        """The columns of these numbers, some rows at a time, none of their types guessed."""

    def place(self, row: int) -> str:
        """Where the row of this number stands, for messages."""


def open_table(path: Path, hints: Hints, progress: OnProgress) -> Table:
    """A table in a file, its kind told by its first bytes.

    Raises:
        GraphError: where the file cannot be read as a table.
    """
    with readable(path):
        with opened(path) as stream:
            magic = stream.read(8)
        if magic.startswith(b"PAR1"):
            return _open_parquet(path, progress)
        if magic.startswith(b"ARROW1"):
            return _open_feather(path)
        if kind := _BINARY_ENDINGS.get(path.suffix.lower()):
            raise GraphError(f"{path} is not a {kind} file: check that it was written to the end")
        with opened(path) as stream:
            return TextTable(path, layout_of(path, stream, hints), progress)


def _open_parquet(path: Path, progress: OnProgress) -> ParquetTable:
    with pq.ParquetFile(path) as file:
        names = tuple(file.schema_arrow.names)
    if twice := next((name for name, count in Counter(names).items() if count > 1), None):
        raise GraphError(f"{path} has two columns {twice!r}: rename one of them")
    return ParquetTable(path, names, progress)


def _open_feather(path: Path) -> ArrowTable:
    """Feather of version 2 is Arrow's own format; of version 1, a broken file breaks pyarrow."""
    with pa.OSFile(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    table.validate(full=True)  # as below
    return ArrowTable(str(path), table)


@dataclass(frozen=True)
class ArrowTable:
    """A table in memory."""

    where: str
    table: pa.Table
    named: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns."""
        return tuple(self.table.column_names)

    def read(
        self, columns: Sequence[int], text: Collection[int], words: Collection[int] = ()
    ) -> list[pa.ChunkedArray]:
        """These columns, as they are."""
        return [self.table.column(column) for column in columns]

    def pieces(self, columns: Sequence[int]) -> Iterator[list[pa.ChunkedArray]]:
        """All rows at once: they are in memory already."""
        yield self.read(columns, columns)

    def place(self, row: int) -> str:
        """The table and the row's number."""
        return f"{self.where}, row {row + 1}"


@dataclass(frozen=True)
class ParquetTable:
    """A Parquet file, read by row groups."""

    path: Path
    names: tuple[str, ...]
    progress: OnProgress
    named: bool = True

    @property
    def where(self) -> str:
        """The file's name."""
        return str(self.path)

    def read(
        self, columns: Sequence[int], text: Collection[int], words: Collection[int] = ()
    ) -> list[pa.ChunkedArray]:
        """These columns, as they are."""
        wanted = [self.names[column] for column in columns]
        groups = []
        with readable(self.path), pq.ParquetFile(self.path) as file:
            for group in range(file.num_row_groups):
                groups.append(file.read_row_group(group, wanted))
                self.progress(f"reading {self.path.name}", (group + 1) / file.num_row_groups)
            table = pa.concat_tables(groups) if groups else file.read(wanted)
            table.validate(full=True)  # pyarrow trusts what the file says of itself
        return [table.column(name) for name in wanted]

    def pieces(self, columns: Sequence[int]) -> Iterator[list[pa.ChunkedArray]]:
        """These columns, some thousand rows at a time."""
        wanted, done = [self.names[column] for column in columns], 0
        with readable(self.path), pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(columns=wanted):
                table = pa.table(batch)
                table.validate(full=True)
                done += batch.num_rows
                self.progress(f"reading {self.path.name}", done / file.metadata.num_rows)
                yield [table.column(name) for name in wanted]

    def place(self, row: int) -> str:
        """The file and the row's number."""
        return f"{self.path}, row {row + 1}"


def find_column(
    table: Table,
    setting: str,
    chosen: str | None,
    known: Collection[str] = (),
    taken: Collection[int] = (),
) -> int | None:
    """The chosen column's number, or else that of the first one with a known name, or None.

    Raises:
        GraphError: where there is no column of the chosen name or number.
    """
    if chosen is None:
        usual = (number for number, name in enumerate(table.names) if name.lower() in known)
        return next((number for number in usual if number not in taken), None)
    if chosen in table.names:
        return table.names.index(chosen)
    if chosen.isdecimal() and 1 <= int(chosen) <= len(table.names):
        return int(chosen) - 1
    columns = listed(table.names, 20) if table.named else f"1 to {len(table.names)} (no header)"
    raise GraphError(
        f"{table.where} has no column {chosen!r} ({setting}): columns are {columns}"
        f"{hint(chosen, table.names)}"
    )
