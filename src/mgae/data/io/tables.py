"""Tables in files and in memory, as columns of pyarrow that are read on demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.interchange import from_dataframe

from mgae.core.errors import GraphError, hint
from mgae.data.ids import listed
from mgae.data.io.bounds import check_num_rows
from mgae.data.io.delimited import DelimitedTable, OnProgress, encoding_of, open_bytes, readable
from mgae.data.io.headers import Hints
from mgae.data.io.sniffing import detect_layout

_BINARY_ENDINGS = {".parquet": "Parquet", ".feather": "Feather 2", ".arrow": "Feather 2"}


class Table(Protocol):
    """A table: its name in messages, its columns' names, and whether it brings them itself."""

    @property
    def where(self) -> str: ...  # noqa: D102
    @property
    def names(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def named(self) -> bool: ...  # noqa: D102
    @property
    def likely_header(self) -> bool:
        """Return whether row 1 is taken as names though it might be a row."""

    @property
    def zero_led(self) -> frozenset[int]:
        """Return the columns in which numbers have leading zeros, as in codes."""

    def read(
        self, columns: Sequence[int], text: Collection[int], words: Collection[int] = ()
    ) -> list[pa.ChunkedArray]:
        """Return the columns of these numbers; do not guess the types of ``text`` and ``words``.

        ``text`` is verbatim, ``words`` is without surrounding blanks and with nulls.
        """

    def pieces(self, columns: Sequence[int]) -> Iterator[list[pa.ChunkedArray]]:
        """Yield the columns of these numbers, some rows at a time, without guessing types."""

    def locate(self, row: int) -> str:
        """Return where the row of this number is, for messages."""


def open_table(path: Path, hints: Hints, on_progress: OnProgress) -> Table:
    """Open a table in a file, whose first bytes tell its kind.

    Raises:
        GraphError: if the file cannot be read as a table.
    """
    with readable(path):
        with open_bytes(path) as stream:
            magic = stream.read(8)
        if magic.startswith(b"PAR1"):
            return _open_parquet(path, on_progress)
        if magic.startswith(b"ARROW1"):
            return _open_feather(path)
        if kind := _BINARY_ENDINGS.get(path.suffix.lower()):
            raise GraphError(f"{path} is not a {kind} file: check that it was written to the end")
        encoding = encoding_of(path, hints.encoding)
        with open_bytes(path, encoding) as stream:
            return DelimitedTable(path, detect_layout(path, stream, hints), on_progress, encoding)


def _open_parquet(path: Path, on_progress: OnProgress) -> ParquetTable:
    with pq.ParquetFile(path) as file:
        names, rows = tuple(file.schema_arrow.names), file.metadata.num_rows
    check_num_rows(path, rows)
    if twice := next((name for name, count in Counter(names).items() if count > 1), None):
        raise GraphError(f"{path} has two columns {twice!r}: rename one of them")
    return ParquetTable(path, names, on_progress)


def _open_feather(path: Path) -> ArrowTable:
    """Read Feather 2, which is Arrow's own format; a broken file of version 1 crashes pyarrow."""
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
    likely_header: bool = False
    zero_led: frozenset[int] = frozenset()  # types are known

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(self.table.column_names)

    def read(
        self, columns: Sequence[int], text: Collection[int], words: Collection[int] = ()
    ) -> list[pa.ChunkedArray]:
        """Return these columns as they are."""
        return [self.table.column(column) for column in columns]

    def pieces(self, columns: Sequence[int]) -> Iterator[list[pa.ChunkedArray]]:
        """Yield all rows at once, as they are in memory already."""
        yield self.read(columns, columns)

    def locate(self, row: int) -> str:
        """Return the table and the row's number."""
        return f"{self.where}, row {row + 1}"


@dataclass(frozen=True)
class ParquetTable:
    """A Parquet file, read in batches."""

    path: Path
    names: tuple[str, ...]
    on_progress: OnProgress
    named: bool = True
    likely_header: bool = False
    zero_led: frozenset[int] = frozenset()  # types are known

    @property
    def where(self) -> str:
        """Return the file's name."""
        return str(self.path)

    def read(
        self, columns: Sequence[int], text: Collection[int], words: Collection[int] = ()
    ) -> list[pa.ChunkedArray]:
        """Return these columns as they are."""
        wanted = [self.names[column] for column in columns]
        groups = []
        with readable(self.path), pq.ParquetFile(self.path) as file:
            for group in range(file.num_row_groups):
                groups.append(file.read_row_group(group, wanted))
                self.on_progress(f"reading {self.path.name}", (group + 1) / file.num_row_groups)
            table = pa.concat_tables(groups) if groups else file.read(wanted)
            table.validate(full=True)  # pyarrow trusts what the file says of itself
        return [table.column(name) for name in wanted]

    def pieces(self, columns: Sequence[int]) -> Iterator[list[pa.ChunkedArray]]:
        """Yield these columns, some thousand rows at a time."""
        wanted, done = [self.names[column] for column in columns], 0
        with readable(self.path), pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(columns=wanted):
                table = pa.table(batch)
                table.validate(full=True)
                done += batch.num_rows
                self.on_progress(f"reading {self.path.name}", done / file.metadata.num_rows)
                yield [table.column(name) for name in wanted]

    def locate(self, row: int) -> str:
        """Return the file and the row's number."""
        return f"{self.path}, row {row + 1}"


def arrow_table(obj: Any) -> pa.Table:
    """Return a data frame as a pyarrow table, by a protocol that it has; pandas is not needed.

    Raises:
        GraphError: if it has none, or cannot be read.
    """
    if isinstance(obj, pa.Table):
        return obj
    try:
        if hasattr(obj, "__arrow_c_stream__"):
            return pa.table(obj)
        if hasattr(obj, "__dataframe__"):
            return pa.Table.from_batches(from_dataframe(obj).to_batches())
        if hasattr(obj, "to_dict") and hasattr(obj, "columns"):
            return pa.table(obj.to_dict(orient="list"))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise GraphError(f"the table cannot be read: {str(error).partition(chr(10))[0]}") from None
    raise GraphError(
        f"a graph must be a PyG Data, a networkx graph, a scipy sparse matrix, a pandas, polars "
        f"or pyarrow table of edges, or a list of pairs, got {type(obj).__name__}"
    )


def find_column(
    table: Table,
    setting: str,
    chosen: str | None,
    known: Collection[str] = (),
    taken: Collection[int] = (),
) -> int | None:
    """Return the number of the chosen column, or of the first with a known name, or None.

    Raises:
        GraphError: if there is no column of the chosen name or number.
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


def header_notes(table: Table) -> list[str]:
    """Return a note if row 1 is taken as the names of columns though it might be a row."""
    if not table.likely_header:
        return []
    row = f"row 1 ({listed(table.names)}) taken as the names of the columns"
    return [f"{table.where}: {row}; if it is a row like the others: --set input.header=no"]
