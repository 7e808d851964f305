"""Some rows of a matrix, wherever the whole of it lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from mgae.core.ops.backend import bring
from mgae.core.ops.sparse import SparseMatrix


def take_rows(matrix: Tensor | SparseMatrix, rows: Tensor) -> Tensor | SparseMatrix:
    """Return the ``rows`` [n] of a matrix [N, F], as dense or sparse as it is: [n, F].

    >>> take_rows(SparseMatrix.identity(3), torch.tensor([2, 0])).to_dense()
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """
    if isinstance(matrix, Tensor):
        return matrix.index_select(0, bring(rows, matrix.device))
    rowptr, col = matrix.pattern.rowptr, matrix.pattern.col
    rows = bring(rows, rowptr.device)
    first = rowptr[rows]
    counts = rowptr[rows + 1] - first
    row = torch.arange(rows.numel(), device=rows.device).repeat_interleave(counts)
    index = torch.arange(row.numel(), device=rows.device) + (first - counts.cumsum(0) + counts)[row]
    shape = (rows.numel(), matrix.shape[1])
    return SparseMatrix.from_coordinates(row, col[index], matrix.values[index], shape)


class Factor(Protocol):
    """A matrix [N, F] of which nothing is asked but its products."""

    def __matmul__(self, dense: Tensor, /) -> Tensor:
        """Return the product with a dense matrix [F, d]."""


class MultipliedOnce:
    """A matrix that is multiplied by the same weights several times in a step, and once in fact."""

    def __init__(self, matrix: Factor) -> None:
        self.matrix = matrix
        self._last: tuple[Tensor, Tensor] | None = None

    def __matmul__(self, dense: Tensor, /) -> Tensor:
        """Return the product with a dense matrix [F, d]."""
        if self._last is None or self._last[0] is not dense:
            self._last = dense, self.matrix @ dense
        return self._last[1]


@dataclass(frozen=True, eq=False)
class AlteredRows:
    """A matrix [N, F] with some rows replaced, known by its products alone.

    Row i is row ``rows[i]`` of the matrix; row N is the ``token`` [F]. A product is formed
    for the rows as they are, and a sparse matrix is not put together anew.
    """

    matrix: Factor
    rows: Tensor
    token: Tensor | None = None

    def __matmul__(self, dense: Tensor, /) -> Tensor:
        """Return the product with a dense matrix [F, d]."""
        product = self.matrix @ dense
        if self.token is not None:
            product = torch.cat([product, self.token.unsqueeze(0) @ dense])
        return product.index_select(0, self.rows)
