from __future__ import annotations

import pytest
import torch
from torch import Tensor

from mgae.ops.rows import take_rows
from mgae.ops.sparse import SparseMatrix

DENSE = torch.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 3.0, 0.0], [4.0, 5.0, 6.0]])


@pytest.mark.parametrize("rows", [[0, 1, 2, 3], [3, 0], [1], [2, 2, 1, 0, 2], []])
def test_sparse_rows_are_the_dense_rows(rows: list[int]) -> None:
    index = torch.tensor(rows, dtype=torch.long)
    sparse = take_rows(SparseMatrix.from_dense(DENSE), index)
    assert isinstance(sparse, SparseMatrix)
    assert sparse.shape == (len(rows), 3)
    assert torch.equal(sparse.csr().to_dense(), DENSE[index])


def test_dense_rows_carry_their_gradient_back() -> None:
    table = DENSE.clone().requires_grad_()
    taken = take_rows(table, torch.tensor([3, 1]))
    assert isinstance(taken, Tensor)
    taken.sum().backward()
    assert table.grad is not None
    assert table.grad[:, 0].tolist() == [0, 1, 0, 1]
