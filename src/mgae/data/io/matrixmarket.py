"""Read Matrix Market files as the tables that they are.

Own code: scipy's reader crashes the whole process on some damaged files.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
from scipy import sparse

from mgae.core.errors import GraphError
from mgae.data.ids import first_refused
from mgae.data.io.delimited import DelimitedTable, OnProgress, open_bytes, readable
from mgae.data.io.edges import weights_of
from mgae.data.io.sniffing import Layout

_WIDTHS = {"pattern": 2, "integer": 3, "real": 3}
_SYMMETRIES = ("general", "symmetric")
_MOST_NODES = 2**31 - 1


def read_matrix_market(path: Path, on_progress: OnProgress) -> sparse.coo_array:
    """Return a sparse matrix, with both triangles if the file is symmetric.

    Raises:
        GraphError: if the file is damaged, dense, or not real.
    """
    layout, symmetric, (*shape, count) = _head(path)
    table = DelimitedTable(path, layout, on_progress)
    columns = table.read(range(layout.width), range(layout.width))
    row, column = (_numbers(columns[end], table, shape[end]) for end in (0, 1))
    if len(row) != count:
        raise GraphError(f"{path} must have {count:,} entries, as it says, got {len(row):,}")
    data = np.ones(count) if len(columns) == 2 else weights_of(columns[2], table)
    if symmetric:
        below = row != column
        row, column = np.append(row, column[below]), np.append(column, row[below])
        data = np.append(data, data[below])
    return sparse.coo_array((data, (row, column)), shape=tuple(shape))


def _head(path: Path) -> tuple[Layout, bool, list[int]]:
    """Return the entries' layout, the symmetry, and the numbers of rows, columns and entries."""
    start = lines = 0
    banner = size = b""
    with readable(path), open_bytes(path) as stream:
        for line in stream:
            start, lines = start + len(line), lines + 1
            banner = banner or line
            if lines > 1 and line.strip() and not line.startswith(b"%"):
                size = line
                break
    width, symmetric = _banner(path, banner.decode("ascii", "replace").lower().split())
    numbers = [int(number) for number in size.split() if re.fullmatch(rb"\d{1,12}", number)]
    if len(numbers) != 3 or len(size.split()) != 3 or max(numbers[:2]) > _MOST_NODES:
        raise GraphError(f"{path}, line {lines}: expected the numbers of rows, columns and entries")
    return Layout(" ", width, None, lines, start), symmetric, numbers


def _banner(path: Path, words: list[str]) -> tuple[int, bool]:
    """Return how many fields an entry has, and whether the matrix is symmetric."""
    if words[:2] != ["%%matrixmarket", "matrix"] or len(words) != 5:
        raise GraphError(f"{path} is not a valid Matrix Market file: line 1 must say what it holds")
    form, field, symmetry = words[2:]
    if form != "coordinate" or field not in _WIDTHS or symmetry not in _SYMMETRIES:
        raise GraphError(
            f"{path} must be a coordinate matrix, {', '.join(_WIDTHS)}, "
            f"{' or '.join(_SYMMETRIES)}, got {' '.join(words[2:])}"
        )
    return _WIDTHS[field], symmetry == "symmetric"


def _numbers(column: pa.ChunkedArray, table: DelimitedTable, most: int) -> np.ndarray:
    """Return row or column numbers [entries], from zero."""
    try:
        numbers = _integers(column)
    except pa.ArrowInvalid:
        row = first_refused(column, _integers)
    else:
        outside = (numbers < 1) | (numbers > most)
        if not outside.any():
            return numbers - 1
        row = int(np.argmax(outside))
    got = column[row].as_py()
    raise GraphError(f"{table.locate(row)}: expected a number from 1 to {most}, got {got!r}")


def _integers(column: pa.ChunkedArray) -> np.ndarray:
    numbers: np.ndarray = column.cast(pa.int64()).to_numpy()
    return numbers
