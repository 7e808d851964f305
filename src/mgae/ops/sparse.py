"""Constant sparse matrices whose product with a dense matrix has a cheap backward."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A constant matrix [rows, columns] in CSR, with its transpose beside it.

    Autograd would build the transpose anew in each backward pass; here it is built once.
    ``order`` gives for each value of the transpose its place among ``values``.
    """

    rowptr: Tensor
    col: Tensor
    values: Tensor
    transposed_rowptr: Tensor
    transposed_col: Tensor
    order: Tensor
    shape: tuple[int, int]

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
        order = torch.argsort(col, stable=True)
        return cls(
            row_pointers(row, shape[0]),
            col,
            values,
            row_pointers(col[order], shape[1]),
            row[order],
            order,
            shape,
        )

    def with_values(self, values: Tensor) -> SparseMatrix:
        """The same pattern with other values."""
        return replace(self, values=values)

    def __matmul__(self, dense: Tensor) -> Tensor:
        """The product with a dense matrix [columns, d]."""
        matrix = self.with_values(self.values.to(dense.dtype))
        return product(matrix.csr(), matrix.transposed_csr(), dense)

    def csr(self) -> Tensor:
        """The matrix as torch knows it."""
        return csr_tensor(self.rowptr, self.col, self.values, self.shape)

    def transposed_csr(self) -> Tensor:
        """Its transpose as torch knows it."""
        rows, columns = self.shape
        return csr_tensor(
            self.transposed_rowptr, self.transposed_col, self.values[self.order], (columns, rows)
        )


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, transposed: Tensor, dense: Tensor) -> Tensor:
        ctx.transposed = transposed
        result: Tensor = torch.sparse.mm(matrix, dense)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, None, Tensor]:
        return None, None, torch.sparse.mm(ctx.transposed, grads[0])


def product(matrix: Tensor, transposed: Tensor, dense: Tensor) -> Tensor:
    """``matrix @ dense`` for a constant CSR matrix whose transpose is at hand."""
    result: Tensor = _Product.apply(matrix, transposed, dense)  # type: ignore[no-untyped-call]
    return result


def row_pointers(sorted_rows: Tensor, num_rows: int) -> Tensor:
    """Where each row begins: [num_rows + 1].

    >>> row_pointers(torch.tensor([0, 0, 2]), 3)
    tensor([0, 2, 2, 3])
    """
    pointers = torch.zeros(num_rows + 1, dtype=torch.long)
    torch.cumsum(torch.bincount(sorted_rows, minlength=num_rows), 0, out=pointers[1:])
    return pointers


def csr_tensor(rowptr: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A torch CSR tensor, without torch's warning that the layout is young."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
        return torch.sparse_csr_tensor(rowptr, col, values, shape, check_invariants=False)
