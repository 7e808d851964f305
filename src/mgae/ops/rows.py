"""Some rows of a matrix, wherever the whole of it lies."""

from __future__ import annotations

import torch
from torch import Tensor

from mgae.ops.sparse import SparseMatrix


def take_rows(matrix: Tensor | SparseMatrix, rows: Tensor) -> Tensor | SparseMatrix:
    """The ``rows`` [n] of a matrix [N, F], as dense or sparse as it is: [n, F].

    >>> take_rows(SparseMatrix.identity(3), torch.tensor([2, 0])).csr().to_dense()
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """
    if isinstance(matrix, Tensor):
        return matrix.index_select(0, rows)
    rowptr, col = matrix.pattern.rowptr, matrix.pattern.col
    first = rowptr[rows]
    counts = rowptr[rows + 1] - first
    row = torch.arange(rows.numel()).repeat_interleave(counts)
    place = torch.arange(row.numel()) + (first - counts.cumsum(0) + counts)[row]
    shape = (rows.numel(), matrix.shape[1])
    return SparseMatrix.from_coordinates(row, col[place], matrix.values[place], shape)
