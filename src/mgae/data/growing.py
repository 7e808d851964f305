"""npy files that grow part by part, and slices to read them by."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Self

import numpy as np

_HEADER = 128
AT_ONCE = 1 << 22  # numbers that are in memory


class GrowingArray:
    """Write a npy file part by part; its length stands in it once it is closed.

    Args:
        path: the file.
        dtype: of the numbers.
        rows: 2: the array is [2, n], and its second row is that of `second`.
    """

    def __init__(self, path: Path, dtype: type = np.int64, rows: int = 1) -> None:
        self.dtype, self.rows, self.length = np.dtype(dtype), rows, 0
        self.stream: IO[bytes] = path.open("wb+")
        self.stream.write(bytes(_HEADER))
        self.other = path.with_suffix(".second") if rows == 2 else None
        self.second: IO[bytes] | None = self.other.open("wb+") if self.other else None

    def append(self, values: np.ndarray, second: np.ndarray | None = None) -> None:
        """Add numbers [k], and as many to the second row."""
        self.length += len(values)
        values.astype(self.dtype, copy=False).tofile(self.stream)
        if self.second is not None and second is not None:
            second.astype(self.dtype, copy=False).tofile(self.second)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.second is not None and self.other is not None:
            self.second.seek(0)
            self.stream.seek(0, 2)
            shutil.copyfileobj(self.second, self.stream, 1 << 24)
            self.second.close()
            self.other.unlink()
        shape = (self.length,) if self.rows == 1 else (2, self.length)
        facts = f"{{'descr': '{self.dtype.str}', 'fortran_order': False, 'shape': {shape}, }}"
        text = facts.ljust(_HEADER - 11).encode() + b"\n"
        self.stream.seek(0)
        self.stream.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
        self.stream.close()


def chunks(count: int) -> Iterator[slice]:
    """Yield slices that cover ``count`` items, some at a time."""
    size = AT_ONCE
    return (slice(start, min(start + size, count)) for start in range(0, count, size))
