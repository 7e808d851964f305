from __future__ import annotations

import weakref
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.functional import softplus

from mgae.core.ops.chunks import ChunkValue, Take, chunked_sum

PROPERTY = settings(deadline=None, max_examples=40)
COUNT = 7


class Problem:
    """Two layers [5, 3], a small decoder, and seven pairs to score."""

    def __init__(self, seed: int = 0) -> None:
        generator = torch.Generator().manual_seed(seed)

        def random(*shape: int) -> Tensor:
            return torch.randn(shape, generator=generator, dtype=torch.float64)

        self.rows = random(5, 2, 3).requires_grad_()
        self.weight = nn.Parameter(random(3))
        self.bias = nn.Parameter(random(1))
        self.pairs = torch.randint(5, (2, COUNT), generator=generator)

    @property
    def leaves(self) -> list[Tensor]:
        return [self.rows, self.weight, self.bias]

    def value(self, take: Take, part: slice) -> Tensor:
        u, v = self.pairs[:, part]
        return softplus((take(u)[:, 0] * take(v)[:, 1]) @ self.weight + self.bias).sum()

    def whole(self) -> Tensor:
        """The slow, obvious twin: no chunks at all."""
        return self.value(lambda index: self.rows[index], slice(0, COUNT))

    def chunked(self, chunk: int) -> Tensor:
        return chunked_sum(self.value, self.rows, [self.weight, self.bias], COUNT, chunk)


def squares(take: Take, part: slice) -> Tensor:
    return (take(torch.arange(part.start, part.stop)) ** 2).sum()


def parts_seen(count: int, chunk: int) -> list[tuple[int, int]]:
    bounds = []

    def value(take: Take, part: slice) -> Tensor:
        bounds.append((part.start, part.stop))
        return squares(take, part)

    chunked_sum(value, torch.ones(count, requires_grad=True), [], count, chunk)
    return bounds


def test_value_and_gradient_are_the_ones_worked_by_hand() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    weight = nn.Parameter(torch.tensor(10.0))

    def value(take: Take, part: slice) -> Tensor:
        return weight * squares(take, part)

    total = chunked_sum(value, x, [weight], 3, 2)
    total.backward()
    assert total.item() == 140.0
    assert x.grad is not None
    assert x.grad.tolist() == [20.0, 40.0, 60.0]
    assert weight.grad is not None
    assert weight.grad.item() == 14.0


def test_the_last_part_takes_what_is_left() -> None:
    assert parts_seen(7, 3) == [(0, 3), (3, 6), (6, 7)]


@PROPERTY
@given(count=st.integers(1, 40), chunk=st.integers(1, 50))
def test_parts_cover_every_item_once_and_hold_at_most_a_chunk(count: int, chunk: int) -> None:
    parts = parts_seen(count, chunk)
    assert [item for start, stop in parts for item in range(start, stop)] == list(range(count))
    assert max(stop - start for start, stop in parts) <= chunk


@PROPERTY
@given(chunk=st.integers(1, COUNT + 2), seed=st.integers(0, 99))
def test_value_and_gradients_do_not_depend_on_the_chunk(chunk: int, seed: int) -> None:
    problem = Problem(seed)
    expected = problem.whole()
    total = problem.chunked(chunk)
    torch.testing.assert_close(total, expected)
    gradients = torch.autograd.grad(total, problem.leaves)
    torch.testing.assert_close(gradients, torch.autograd.grad(expected, problem.leaves))


@pytest.mark.parametrize("chunk", [1, 3, COUNT])
def test_without_gradients_the_value_is_the_same_and_has_no_graph(chunk: int) -> None:
    problem = Problem()
    with torch.no_grad():
        total = problem.chunked(chunk)
    assert not total.requires_grad
    torch.testing.assert_close(total, problem.whole().detach())


@pytest.mark.parametrize("factor", [0.0, -2.5, 1 / 7])
def test_an_upstream_factor_scales_every_gradient(factor: float) -> None:
    problem = Problem()
    gradients = torch.autograd.grad(factor * problem.chunked(2), problem.leaves)
    expected = torch.autograd.grad(factor * problem.whole(), problem.leaves)
    torch.testing.assert_close(gradients, expected)


def test_other_terms_of_the_loss_add_their_gradients() -> None:
    problem = Problem()
    gradients = torch.autograd.grad(
        problem.chunked(2) ** 2 + problem.weight.sum() + problem.rows.sum(), problem.leaves
    )
    expected = torch.autograd.grad(
        problem.whole() ** 2 + problem.weight.sum() + problem.rows.sum(), problem.leaves
    )
    torch.testing.assert_close(gradients, expected)


def test_gradients_flow_on_to_what_the_tensors_were_computed_from() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    chunked_sum(squares, 5 * x, [], 3, 2).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [50.0, 100.0, 150.0]


def test_a_backward_adds_to_the_gradients_that_are_there() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    for _ in range(2):
        chunked_sum(squares, x, [], 3, 2).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [4.0, 8.0, 12.0]


def test_computing_the_sum_alone_leaves_no_gradient_behind() -> None:
    problem = Problem()
    problem.chunked(2)
    assert all(leaf.grad is None for leaf in problem.leaves)


def test_a_frozen_parameter_and_a_constant_tensor_get_no_gradient() -> None:
    problem = Problem()
    expected = torch.autograd.grad(problem.whole(), problem.bias)
    problem.weight.requires_grad_(False)
    problem.rows.requires_grad_(False)
    problem.chunked(3).backward()
    assert problem.weight.grad is None
    assert problem.rows.grad is None
    torch.testing.assert_close(problem.bias.grad, expected[0])


def test_where_nothing_is_learned_only_the_value_is_given() -> None:
    total = chunked_sum(squares, torch.tensor([1.0, 2.0, 3.0]), [], 3, 2)
    assert total.item() == 14.0
    assert not total.requires_grad


def test_a_parameter_that_no_part_uses_gets_zeros() -> None:
    x, unused = torch.ones(3, requires_grad=True), nn.Parameter(torch.ones(2))
    chunked_sum(squares, x, [unused], 3, 2).backward()
    assert unused.grad is not None
    assert unused.grad.tolist() == [0.0, 0.0]


class Saved:
    """What autograd keeps for a backward pass, while it keeps it."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


def most_saved(total: Callable[[ChunkValue], Tensor]) -> int:
    """How many saved tensors of earlier parts are alive when a part begins, at most."""
    alive: weakref.WeakSet[Saved] = weakref.WeakSet()
    counts = []

    def pack(tensor: Tensor) -> Saved:
        saved = Saved(tensor)
        alive.add(saved)
        return saved

    def value(take: Take, part: slice) -> Tensor:
        counts.append(len(alive))
        return take(torch.arange(part.start, part.stop)).exp().sum()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda saved: saved.tensor):
        total(value)
    assert len(counts) > 1
    return max(counts)


def test_no_intermediate_result_outlives_its_chunk() -> None:
    x = torch.ones(9, requires_grad=True)
    assert most_saved(lambda value: chunked_sum(value, x, [], 9, 2)) == 0
    # The same without the kernel, so that the measure is known to see what it should.
    parts = [slice(0, 4), slice(4, 9)]

    def whole(index: Tensor) -> Tensor:
        return x[index]

    assert most_saved(lambda value: value(whole, parts[0]) + value(whole, parts[1])) > 0


def test_the_sum_of_no_items_is_zero() -> None:
    x = torch.ones(3, requires_grad=True)
    chunked_sum(squares, x, [], 0, 2).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("chunk", [1, 3, COUNT])
def test_gradcheck_to_tensors_and_parameters(chunk: int) -> None:
    problem = Problem(seed=1)

    def total(rows: Tensor, weight: Tensor) -> Tensor:
        def value(take: Take, part: slice) -> Tensor:
            u, v = problem.pairs[:, part]
            return torch.tanh((take(u)[:, 0] * take(v)[:, 1]) @ weight).sum()

        return chunked_sum(value, rows, [weight], COUNT, chunk)

    weight = problem.weight.detach().requires_grad_()
    assert torch.autograd.gradcheck(total, (problem.rows, weight))


@pytest.mark.parametrize("chunk", [2, 3])
def test_the_sum_of_no_items_is_zero_without_gradients_too(chunk: int) -> None:
    with torch.no_grad():
        assert chunked_sum(squares, torch.ones(3), [], 0, chunk).item() == 0.0
