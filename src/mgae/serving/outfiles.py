"""Write results piece by piece, in the format that the file's ending names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from mgae.core.errors import ConfigError
from mgae.data.atomic import write_atomically

TABLES = (".parquet", ".csv")
MATRICES = (*TABLES, ".npy")
_ROWS_AT_ONCE = 8192
_FORMULA = r"^[=+\-@\t\r]"  # what OWASP lists as the beginnings of a formula
_Writer = Callable[[Path, pa.Schema], Any]


def check_out(
    path: Path, endings: tuple[str, ...], *inputs: str | Path | None, option: str = "--out"
) -> None:
    """Refuse a file that cannot be written or is an input, before any work is done for it.

    Raises:
        ConfigError: if the ending is none of ``endings``, or the folder is missing.
    """
    if path.suffix.lower() not in endings:
        raise ConfigError(f"{option} must end in {', '.join(endings)}, got {path}")
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"{option} {path}: there is no folder {path.parent}")
    if path.is_dir():
        raise ConfigError(f"{option} {path} is a folder: name a file")
    if path.resolve() in [Path(one).expanduser().resolve() for one in inputs if one]:
        raise ConfigError(f"{option} {path} is an input, which is never changed: name another file")


def print_batches(stream: IO[bytes], batches: Iterator[pa.RecordBatch], safe: bool = False) -> int:
    """Write at least one batch as CSV to an open stream, and return the number of rows."""
    rows, writer = 0, None
    for batch in map(_without_formulas, batches) if safe else batches:
        writer = writer or pacsv.CSVWriter(stream, batch.schema)
        writer.write_batch(batch)
        stream.flush()
        rows += batch.num_rows
    return rows


def write_batches(path: Path, batches: Iterator[pa.RecordBatch], safe: bool = False) -> int:
    """Write at least one batch, and return the number of rows.

    ``safe`` puts an apostrophe before texts in a CSV file that a spreadsheet would compute.
    """
    if safe and path.suffix.lower() == ".csv":
        batches = map(_without_formulas, batches)
    writers: dict[str, _Writer] = {".parquet": pq.ParquetWriter, ".csv": pacsv.CSVWriter}
    rows = 0

    def write(partial: Path) -> None:
        nonlocal rows
        first = next(batches)
        with writers[path.suffix.lower()](partial, first.schema) as writer:
            writer.write_batch(first)
            rows += first.num_rows
            for batch in batches:
                writer.write_batch(batch)
                rows += batch.num_rows

    write_atomically(path, write)
    return rows


def write_matrix(path: Path, ids: pa.Array, matrix: np.ndarray, safe: bool = False) -> None:
    """Write a row for each id: Parquet with a vector per row, CSV with a column per number, or npy.

    An npy file has no room for ids: they go into a file beside it, ``.ids.csv``.
    """
    if path.suffix.lower() == ".npy":
        write_atomically(path, lambda partial: _save(partial, matrix))
        write_batches(path.with_suffix(".ids.csv"), iter([_named(node_id=ids)]), safe)
        return
    build = _vectors if path.suffix.lower() == ".parquet" else _columns
    starts = range(0, max(1, len(ids)), _ROWS_AT_ONCE)
    parts = (slice(start, start + _ROWS_AT_ONCE) for start in starts)
    write_batches(path, (build(ids[part], matrix[part]) for part in parts), safe)


def _without_formulas(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = {
        name: pc.replace_substring_regex(column, _FORMULA, r"'\0")
        if pa.types.is_string(column.type)
        else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }
    return pa.RecordBatch.from_pydict(columns)


def _vectors(ids: pa.Array, rows: np.ndarray) -> pa.RecordBatch:
    values = pa.array(np.ascontiguousarray(rows).ravel())
    return _named(node_id=ids, embedding=pa.FixedSizeListArray.from_arrays(values, rows.shape[1]))


def _columns(ids: pa.Array, rows: np.ndarray) -> pa.RecordBatch:
    numbers = {f"e{column}": pa.array(rows[:, column]) for column in range(rows.shape[1])}
    return _named(node_id=ids, **numbers)


def _named(**columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def _save(path: Path, matrix: np.ndarray) -> None:
    with path.open("wb") as stream:
        np.save(stream, matrix, allow_pickle=False)
