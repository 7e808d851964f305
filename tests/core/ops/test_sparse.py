from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from mgae.core.ops import sparse
from mgae.core.ops.sparse import SparseMatrix, product, row_pointers

PROPERTY = settings(deadline=None, max_examples=40)
seeds = st.integers(0, 2**20)


@pytest.fixture
def matrix() -> SparseMatrix:
    return SparseMatrix.from_dense(torch.tensor([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]]))


def holey(rows: int, columns: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """A dense matrix of which about two thirds are zero."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(rows, columns, generator=generator, dtype=dtype)
    return values * (torch.rand(rows, columns, generator=generator) < 1 / 3)


def gradient_with(matrix: SparseMatrix, upstream: Tensor) -> Tensor:
    """The transpose times ``upstream``, as the backward pass forms it."""
    dense = upstream.new_zeros(matrix.shape[1], upstream.size(1), requires_grad=True)
    (gradient,) = torch.autograd.grad(matrix @ dense, dense, upstream)
    return gradient


def test_row_pointers_count_the_entries_before_each_row() -> None:
    assert row_pointers(torch.tensor([1, 1, 1, 3]), 5).tolist() == [0, 0, 3, 3, 4, 4]


def test_row_pointers_of_nothing_are_zero() -> None:
    assert row_pointers(torch.empty(0, dtype=torch.long), 2).tolist() == [0, 0, 0]


def test_from_dense_keeps_the_non_zeros_by_row_and_by_column(matrix: SparseMatrix) -> None:
    assert matrix.shape == (2, 3)
    assert matrix.pattern.rowptr.tolist() == [0, 2, 3]
    assert matrix.pattern.col.tolist() == [0, 1, 2]
    assert matrix.values.tolist() == [1.0, 2.0, 3.0]
    (block,) = matrix.pattern.blocks
    assert block.rowptr.tolist() == [0, 1, 2, 3]
    assert block.col.tolist() == [0, 0, 1]
    assert block.order.tolist() == [0, 1, 2]


def test_order_finds_each_value_of_the_transpose() -> None:
    matrix = SparseMatrix.from_dense(torch.tensor([[0.0, 1.0], [2.0, 3.0]]))
    assert matrix.values.tolist() == [1.0, 2.0, 3.0]
    assert matrix.pattern.blocks[0].order.tolist() == [1, 0, 2]


def test_product_is_the_one_worked_by_hand(matrix: SparseMatrix) -> None:
    dense = torch.tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    assert (matrix @ dense).tolist() == [[5.0, 50.0], [9.0, 90.0]]


def test_gradient_is_the_one_worked_by_hand(matrix: SparseMatrix) -> None:
    dense = torch.zeros(3, 2, requires_grad=True)
    (matrix @ dense).backward(torch.tensor([[1.0, 10.0], [100.0, 1000.0]]))
    assert dense.grad is not None
    assert dense.grad.tolist() == [[1.0, 10.0], [2.0, 20.0], [300.0, 3000.0]]


def test_gradient_of_a_plain_sum_is_the_column_sum(matrix: SparseMatrix) -> None:
    # sum() hands an expanded gradient, with strides of zero, to the kernel.
    dense = torch.zeros(3, 2, requires_grad=True)
    (matrix @ dense).sum().backward()
    assert dense.grad is not None
    assert dense.grad.tolist() == [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]


def test_identity_changes_nothing() -> None:
    dense = torch.rand(4, 3, generator=torch.Generator().manual_seed(0))
    assert torch.equal(SparseMatrix.identity(4) @ dense, dense)


def test_with_values_keeps_the_pattern_in_both_directions(matrix: SparseMatrix) -> None:
    changed = matrix.with_values(torch.tensor([5.0, 6.0, 7.0]))
    expected = torch.tensor([[5.0, 6.0, 0.0], [0.0, 0.0, 7.0]])
    assert torch.equal(changed.csr().to_dense(), expected)
    assert torch.equal(gradient_with(changed, torch.eye(2)), expected.t())
    assert matrix.values.tolist() == [1.0, 2.0, 3.0]


def test_columns_of_a_row_may_come_in_any_order() -> None:
    row, col = torch.tensor([0, 0, 1]), torch.tensor([2, 0, 1])
    matrix = SparseMatrix.from_coordinates(row, col, torch.tensor([1.0, 2.0, 3.0]), (2, 3))
    expected = torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 0.0]])
    assert torch.equal(matrix @ torch.eye(3), expected)
    assert torch.equal(gradient_with(matrix, torch.eye(2)), expected.t())


@PROPERTY
@given(rows=st.integers(1, 12), columns=st.integers(1, 12), width=st.integers(1, 5), seed=seeds)
def test_product_and_gradient_equal_the_dense_twin(
    rows: int, columns: int, width: int, seed: int
) -> None:
    dense_matrix = holey(rows, columns, seed)
    generator = torch.Generator().manual_seed(seed + 1)
    h = torch.randn(columns, width, generator=generator, dtype=torch.float64)
    upstream = torch.randn(rows, width, generator=generator, dtype=torch.float64)
    fast, slow = h.clone().requires_grad_(), h.clone().requires_grad_()
    result, expected = SparseMatrix.from_dense(dense_matrix) @ fast, dense_matrix @ slow
    torch.testing.assert_close(result, expected)
    result.backward(upstream)
    expected.backward(upstream)
    torch.testing.assert_close(fast.grad, slow.grad)


@PROPERTY
@given(rows=st.integers(1, 12), columns=st.integers(1, 12), seed=seeds)
def test_the_transpose_stands_beside_the_matrix(rows: int, columns: int, seed: int) -> None:
    dense = holey(rows, columns, seed)
    matrix = SparseMatrix.from_dense(dense)
    assert torch.equal(matrix.csr().to_dense(), dense)
    upstream = torch.eye(rows, dtype=torch.float64)
    assert torch.equal(gradient_with(matrix, upstream), dense.t())


@PROPERTY
@given(rows=st.integers(1, 40), columns=st.integers(1, 7), seed=seeds)
def test_many_blocks_of_rows_give_the_same_gradient(rows: int, columns: int, seed: int) -> None:
    dense = holey(rows, columns, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse, "_CACHED_ROWS", 5)
        matrix = SparseMatrix.from_dense(dense)
        num_blocks = len(matrix.pattern.blocks)
    assert num_blocks == -(-rows // max(5, columns))
    upstream = torch.randn(rows, 3, generator=torch.Generator().manual_seed(seed)).double()
    torch.testing.assert_close(gradient_with(matrix, upstream), dense.t() @ upstream)


@pytest.mark.parametrize("width", [0, 1, 15, 16, 17, 40])
def test_rows_that_are_read_often_are_multiplied_some_columns_at_a_time(width: int) -> None:
    dense, h = holey(200, 5, 0), torch.randn(5, width).double()
    matrix = SparseMatrix.from_dense(dense)
    assert matrix.values.numel() >= 5 * sparse._OFTEN
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse, "_COLUMNS_AT_ONCE", 1000)
        at_once = matrix @ h
    # Not to the last bit: some processors add up the columns of a narrow product in another order.
    torch.testing.assert_close(matrix @ h, at_once, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(at_once, dense @ h)


def test_places_are_narrow_where_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    dense, h = holey(6, 4, 1), torch.randn(4, 2).double()
    assert SparseMatrix.from_dense(dense).csr().col_indices().dtype == torch.int32
    monkeypatch.setattr(sparse, "_NARROW", 5)
    wide = SparseMatrix.from_dense(dense)
    assert wide.csr().col_indices().dtype == torch.int64
    torch.testing.assert_close(wide @ h, dense @ h)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (4, 4)])
def test_a_matrix_without_values_gives_zeros(shape: tuple[int, int]) -> None:
    h = torch.ones(shape[1], 2, requires_grad=True)
    result = SparseMatrix.from_dense(torch.zeros(shape)) @ h
    assert torch.equal(result, torch.zeros(shape[0], 2))
    result.sum().backward()
    assert h.grad is not None
    assert torch.equal(h.grad, torch.zeros(shape[1], 2))


def test_a_transposed_operand_and_gradient_are_read_right() -> None:
    dense = holey(4, 3, seed=5)
    storage = torch.randn(2, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    h = storage.t().requires_grad_()
    upstream = torch.arange(8.0, dtype=torch.float64).view(2, 4).t()
    result = SparseMatrix.from_dense(dense) @ h
    torch.testing.assert_close(result, dense @ storage.t())
    (gradient,) = torch.autograd.grad(result, h, upstream)
    torch.testing.assert_close(gradient, dense.t() @ upstream)


def test_gradcheck() -> None:
    matrix = SparseMatrix.from_dense(holey(5, 4, seed=3))
    h = torch.randn(4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda h: matrix @ h, (h.requires_grad_(),))


def test_product_takes_its_backward_from_the_given_transpose() -> None:
    matrix, other = (SparseMatrix.from_dense(torch.eye(2) * scale) for scale in (1.0, 7.0))
    h = torch.ones(2, 1, requires_grad=True)
    product(matrix.csr(), [other.csr()], h).sum().backward()
    assert h.grad is not None
    assert h.grad.tolist() == [[7.0], [7.0]]
