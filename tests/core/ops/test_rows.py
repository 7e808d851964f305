from __future__ import annotations

import pytest
import torch
from torch import Tensor

from mgae.core.ops.rows import AlteredRows, MultipliedOnce, take_rows
from mgae.core.ops.sparse import SparseMatrix

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


@pytest.mark.parametrize("sparse", [False, True])
def test_altered_rows_multiply_as_if_they_were_put_together(sparse: bool) -> None:
    rows, token = torch.tensor([3, 4, 0, 0, 4]), torch.tensor([1.0, -1.0, 2.0])
    weight = torch.arange(6.0).view(3, 2).requires_grad_()
    altered = AlteredRows(SparseMatrix.from_dense(DENSE) if sparse else DENSE, rows, token)
    expected = torch.cat([DENSE, token.unsqueeze(0)])[rows]
    torch.testing.assert_close(altered @ weight, expected @ weight)
    (gradient,) = torch.autograd.grad((altered @ weight).square().sum(), weight)
    (right,) = torch.autograd.grad((expected @ weight).square().sum(), weight)
    torch.testing.assert_close(gradient, right)


def test_altered_rows_give_the_token_its_gradient() -> None:
    token = torch.zeros(3, requires_grad=True)
    altered = AlteredRows(DENSE, torch.tensor([4, 1, 4, 4]), token)
    (altered @ torch.ones(3, 1)).sum().backward()
    assert token.grad is not None
    assert token.grad.tolist() == [3, 3, 3]


def test_multiplied_once_gives_the_gradient_of_every_use() -> None:
    matrix = SparseMatrix.from_dense(DENSE)
    once, weight = MultipliedOnce(matrix), torch.ones(3, 2, requires_grad=True)
    assert (once @ weight) is (once @ weight)
    rows = torch.tensor([1, 0, 3, 2])
    (gradient,) = torch.autograd.grad(
        ((once @ weight) * (AlteredRows(once, rows) @ weight)).sum(), weight
    )
    (right,) = torch.autograd.grad(((DENSE @ weight) * (DENSE[rows] @ weight)).sum(), weight)
    torch.testing.assert_close(gradient, right)
    other = torch.zeros(3, 2)
    assert torch.equal(once @ other, torch.zeros(4, 2))
