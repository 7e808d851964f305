"""Constant sparse matrices whose product with a dense matrix has a cheap backward."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from mgae.core.ops.backend import has_kernels

# The transposed product reads its right side at random places: this many rows stay in the cache.
_CACHED_ROWS = 1024
# From so many reads of each row on, a copy of some columns pays: of 16, a cache line of each row.
_OFTEN, _COLUMNS_AT_ONCE = 32, 16
_NARROW = torch.iinfo(torch.int32).max


@dataclass(frozen=True, eq=False)
class TransposedRows:
    """Where the values of some rows lie in the transpose of their matrix: CSR [columns, rows].

    ``order`` gives for each value its place among the matrix's values.
    """

    rowptr: Tensor
    col: Tensor
    order: Tensor
    shape: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where the values of a matrix [rows, columns] are: CSR, and its transpose in blocks of rows.

    Autograd would build the transpose anew in each backward pass; here it is built once.
    """

    rowptr: Tensor
    col: Tensor
    shape: tuple[int, int]

    @cached_property
    def blocks(self) -> list[TransposedRows]:
        """The transpose, block by block."""
        # Each block adds to the whole result, so a wide matrix has few of them.
        size = max(_CACHED_ROWS, self.shape[1])
        starts = range(0, max(1, self.shape[0]), size)
        return [self._block(start, min(start + size, self.shape[0])) for start in starts]

    def _block(self, start: int, stop: int) -> TransposedRows:
        pointers = self.rowptr[start : stop + 1]
        first, last = int(pointers[0]), int(pointers[-1])
        row = torch.arange(stop - start).repeat_interleave(pointers.diff())
        order = torch.argsort(self.col[first:last], stable=True)
        columns = self.col[first:last][order]
        return TransposedRows(
            row_pointers(columns, self.shape[1]),
            row[order],
            first + order,
            (self.shape[1], stop - start),
        )


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A constant matrix: the ``values`` [n] at the places of a pattern, row by row."""

    pattern: Pattern
    values: Tensor

    @classmethod
    def from_dense(cls, dense: Tensor) -> SparseMatrix:
        """Keep the non-zero values of a dense matrix."""
        row, col = dense.nonzero(as_tuple=True)
        return cls.from_coordinates(row, col, dense[row, col], (dense.size(0), dense.size(1)))

    @classmethod
    def identity(cls, size: int) -> SparseMatrix:
        """The one-hot features of ``size`` nodes."""
        diagonal = torch.arange(size)
        return cls.from_coordinates(diagonal, diagonal, torch.ones(size), (size, size))

    @classmethod
    def from_coordinates(
        cls, row: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]
    ) -> SparseMatrix:
        """Take values at (row, col), already sorted by row."""
        return cls(Pattern(row_pointers(row, shape[0]), col, shape), values)

    @property
    def shape(self) -> tuple[int, int]:
        """[rows, columns]."""
        return self.pattern.shape

    def with_values(self, values: Tensor) -> SparseMatrix:
        """The same pattern with other values."""
        return SparseMatrix(self.pattern, values)

    def __matmul__(self, dense: Tensor) -> Tensor:
        """The product with a dense matrix [columns, d]."""
        matrix, *transposed = (part.to(dense.dtype) for part in (self._csr, *self._transposed))
        return product(matrix, transposed, dense)

    def csr(self) -> Tensor:
        """The matrix as torch knows it."""
        return csr_tensor(self.pattern.rowptr, self.pattern.col, self.values, self.shape)

    @cached_property
    def _csr(self) -> Tensor:
        return self.csr()

    @cached_property
    def _transposed(self) -> list[Tensor]:
        return [
            csr_tensor(block.rowptr, block.col, self.values[block.order], block.shape)
            for block in self.pattern.blocks
        ]


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, transposed: Sequence[Tensor], dense: Tensor) -> Tensor:
        ctx.transposed = transposed
        return _multiplied(matrix, dense)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, None, Tensor]:
        upstream, (first, *others) = grads[0].contiguous(), ctx.transposed
        total = _multiplied(first, upstream[: first.size(1)])
        start = first.size(1)
        for block in others:
            torch.addmm(total, block, upstream[start : start + block.size(1)], out=total)
            start += block.size(1)
        return None, None, total


def _multiplied(matrix: Tensor, dense: Tensor) -> Tensor:
    """`torch.sparse.mm` without its two passes that fill and copy the result.

    Where a row of ``dense`` is read often, some columns of all rows at a time stay in the cache.
    """
    out = dense.new_empty(matrix.size(0), dense.size(1))
    read_often = matrix.values().numel() >= _OFTEN * dense.size(0)
    width = _COLUMNS_AT_ONCE if read_often else dense.size(1)
    for into, columns in zip(out.split(width, dim=1), dense.split(width, dim=1), strict=True):
        torch.addmm(into, matrix, columns.contiguous(), beta=0, out=into)
    return out


def product(matrix: Tensor, transposed: Sequence[Tensor], dense: Tensor) -> Tensor:
    """``matrix @ dense`` for a constant CSR matrix.

    Its transpose is at hand, divided into blocks of columns.
    """
    if not has_kernels(dense):
        return _gathered(matrix, dense)
    result: Tensor = _Product.apply(matrix, transposed, dense)  # type: ignore[no-untyped-call]
    return result


def _gathered(matrix: Tensor, dense: Tensor) -> Tensor:
    """The same by operations that every device has."""
    counts = matrix.crow_indices().diff()
    row = torch.arange(matrix.size(0), device=dense.device).repeat_interleave(counts)
    sent = dense.index_select(0, matrix.col_indices()) * matrix.values().unsqueeze(1)
    return dense.new_zeros(matrix.size(0), dense.size(1)).index_add(0, row, sent)


def row_pointers(sorted_rows: Tensor, num_rows: int) -> Tensor:
    """Where each row begins: [num_rows + 1].

    >>> row_pointers(torch.tensor([0, 0, 2]), 3)
    tensor([0, 2, 2, 3])
    """
    pointers = torch.zeros(num_rows + 1, dtype=torch.long)
    torch.cumsum(torch.bincount(sorted_rows, minlength=num_rows), 0, out=pointers[1:])
    return pointers


def csr_tensor(rowptr: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A torch CSR tensor, without torch's warning that the layout is young.

    Its places are narrow where they fit, as torch would have them anew for each product.
    """
    if max(values.numel(), *shape) <= _NARROW:
        rowptr, col = rowptr.int(), col.int()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
        return torch.sparse_csr_tensor(rowptr, col, values, shape, check_invariants=False)
