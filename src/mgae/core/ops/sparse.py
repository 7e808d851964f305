"""Constant sparse matrices with a cheap backward."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeGuard

import torch
from torch import Tensor

from mgae.core.ops import backend

# The transposed product reads its right side at random rows: this many rows stay in the cache.
_CACHED_ROWS = 1024
# From so many reads of each row on, a copy of some columns pays: of 16, a cache line of each row.
_OFTEN, _COLUMNS_AT_ONCE = 32, 16
_NARROW = torch.iinfo(torch.int32).max


@dataclass(frozen=True, eq=False)
class TransposedRows:
    """Where the values of some rows lie in the transpose of their matrix: CSR [columns, rows].

    ``order`` gives for each value its index among the matrix's values.
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

    def to(self, device: torch.device) -> Pattern:
        """Return the same pattern on a device."""
        rowptr, col = backend.bring(self.rowptr, device), backend.bring(self.col, device)
        return Pattern(rowptr, col, self.shape)

    @cached_property
    def blocks(self) -> list[TransposedRows]:
        """The transpose, block by block."""
        # Each block adds to the whole result, so a wide matrix has few of them.
        size = max(_CACHED_ROWS, self.shape[1])
        if self.shape[0] <= size or self.rowptr.device.type not in backend.OWN_KERNELS:
            return [self._block(0, self.shape[0], 0, self.col.numel())]
        bounds = [*range(0, self.shape[0], size), self.shape[0]]
        values = self.rowptr[bounds].tolist()
        return [
            self._block(*rows, *ends)
            for rows, ends in zip(pairwise(bounds), pairwise(values), strict=True)
        ]

    @property
    def row(self) -> Tensor:
        """The row of each value."""
        rows = torch.arange(self.shape[0], device=self.rowptr.device)
        return rows.repeat_interleave(self.rowptr.diff(), output_size=self.col.numel())

    def _block(self, start: int, stop: int, first: int, last: int) -> TransposedRows:
        """Transpose the rows from ``start`` to ``stop``, with the values ``first`` to ``last``."""
        counts = self.rowptr[start : stop + 1].diff()
        rows = torch.arange(stop - start, device=counts.device)
        row = rows.repeat_interleave(counts, output_size=last - first)
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
    """A constant matrix: the ``values`` [n] of a pattern, row by row."""

    pattern: Pattern
    values: Tensor

    @classmethod
    def from_dense(cls, dense: Tensor) -> SparseMatrix:
        """Keep the non-zero values of a dense matrix."""
        row, col = dense.nonzero(as_tuple=True)
        return cls.from_coordinates(row, col, dense[row, col], (dense.size(0), dense.size(1)))

    @classmethod
    def identity(cls, size: int) -> SparseMatrix:
        """Return the one-hot features of ``size`` nodes."""
        diagonal = torch.arange(size)
        return cls.from_coordinates(diagonal, diagonal, torch.ones(size), (size, size))

    @classmethod
    def from_coordinates(
        cls, row: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]
    ) -> SparseMatrix:
        """Take values at (row, col), already sorted by row."""
        return cls(Pattern(row_pointers(row, shape[0]), col, shape), values)

    def to(self, device: torch.device) -> SparseMatrix:
        """Return the same matrix on a device."""
        return SparseMatrix(self.pattern.to(device), backend.bring(self.values, device))

    @property
    def shape(self) -> tuple[int, int]:
        """[rows, columns]."""
        return self.pattern.shape

    def with_values(self, values: Tensor) -> SparseMatrix:
        """Return the same pattern with other values."""
        return SparseMatrix(self.pattern, values)

    def __matmul__(self, dense: Tensor) -> Tensor:
        """Return the product with a dense matrix [columns, d]."""
        matrix, *transposed = (part.to(dense.dtype) for part in (self._csr, *self._transposed))
        return product(matrix, transposed, dense)

    def csr(self) -> Tensor:
        """Return the matrix as torch knows it."""
        return csr_tensor(self.pattern.rowptr, self.pattern.col, self.values, self.shape)

    def to_dense(self) -> Tensor:
        """Return the matrix with its zeros."""
        dense = self.values.new_zeros(self.shape)
        dense[self.pattern.row, self.pattern.col] = self.values
        return dense

    @cached_property
    def _csr(self) -> Operand:
        return operand(self.pattern.rowptr, self.pattern.col, self.values, self.shape)

    @cached_property
    def _transposed(self) -> list[Operand]:
        return [
            operand(block.rowptr, block.col, self.values[block.order], block.shape)
            for block in self.pattern.blocks
        ]


def propagate_before_map(h: Tensor | SparseMatrix, width: int) -> TypeGuard[Tensor]:
    """Return whether to pass messages before the map to ``width``: if ``h`` is constant and narrow.

    Constant features have no gradient, so that the backward pass sends nothing at all.
    """
    return isinstance(h, Tensor) and not h.requires_grad and h.size(1) < width


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
    """Do `torch.sparse.mm`; on the CPU without its two passes that fill and copy the result.

    Where a row of ``dense`` is read often, some columns of all rows at a time stay in the cache.
    """
    if dense.device.type not in backend.OWN_KERNELS:
        return matrix @ dense
    out = dense.new_empty(matrix.size(0), dense.size(1))
    read_often = matrix.values().numel() >= _OFTEN * dense.size(0)
    width = _COLUMNS_AT_ONCE if read_often else dense.size(1)
    for into, columns in zip(out.split(width, dim=1), dense.split(width, dim=1), strict=True):
        torch.addmm(into, matrix, columns.contiguous(), beta=0, out=into)
    return out


@dataclass(frozen=True, eq=False)
class Gathered:
    """A constant matrix for devices that have no sparse products: its ``values`` at (row, col)."""

    row: Tensor
    col: Tensor
    values: Tensor
    shape: tuple[int, int]

    def to(self, dtype: torch.dtype) -> Gathered:
        """Return the same in another precision."""
        return Gathered(self.row, self.col, self.values.to(dtype), self.shape)

    def __matmul__(self, dense: Tensor) -> Tensor:
        """Return the product with a dense matrix."""
        sent = dense.index_select(0, self.col) * self.values.unsqueeze(1)
        return dense.new_zeros(self.shape[0], dense.size(1)).index_add(0, self.row, sent)


Operand = Tensor | Gathered


def product(matrix: Operand, transposed: Sequence[Operand], dense: Tensor) -> Tensor:
    """Return ``matrix @ dense`` for a constant matrix.

    ``transposed`` is its transpose, divided into blocks of columns.
    """
    if isinstance(matrix, Gathered):
        return matrix @ dense
    result: Tensor = _Product.apply(matrix, transposed, dense)  # type: ignore[no-untyped-call]
    return result


def row_pointers(sorted_rows: Tensor, num_rows: int) -> Tensor:
    """Return where each row begins: [num_rows + 1].

    >>> row_pointers(torch.tensor([0, 0, 2]), 3)
    tensor([0, 2, 2, 3])
    """
    pointers = torch.zeros(num_rows + 1, dtype=torch.long, device=sorted_rows.device)
    torch.cumsum(torch.bincount(sorted_rows, minlength=num_rows), 0, out=pointers[1:])
    return pointers


def operand(rowptr: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Operand:
    """Return what `product` takes: a torch CSR tensor, where the device multiplies those."""
    if values.device.type not in backend.SPARSE_KERNELS:
        return Gathered(Pattern(rowptr, col, shape).row, col, values, shape)
    return csr_tensor(rowptr, col, values, shape)


def csr_tensor(rowptr: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """Return a torch CSR tensor, without torch's warning that the layout is young.

    Its indices are narrow if they fit; torch would narrow them anew for each product.
    """
    if max(values.numel(), *shape) <= _NARROW:
        rowptr, col = rowptr.int(), col.int()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
        return torch.sparse_csr_tensor(rowptr, col, values, shape, check_invariants=False)
