"""The decoder's kernels: values and gradients of slow, obvious twins."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import linear

from mgae.core.ops import backend, decoding
from mgae.core.ops.decoding import cross_correlation, cross_perceptron, perceptron, scratch
from mgae.core.ops.dropout import kept, kept_scale

PROPERTY = settings(deadline=None, max_examples=40)
rates = st.sampled_from([0.0, 0.3, 0.5])
seeds = st.integers(0, 2**20)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*shapes: tuple[int, ...], seed: int = 0) -> list[Tensor]:
    generator = seeded(seed)
    return [
        torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()
        for shape in shapes
    ]


def assert_same_values_and_gradients(fast: Tensor, slow: Tensor, leaves: list[Tensor]) -> None:
    torch.testing.assert_close(fast, slow)
    upstream = torch.randn(len(fast), generator=seeded(1), dtype=torch.float64)
    torch.testing.assert_close(
        torch.autograd.grad(fast, leaves, upstream), torch.autograd.grad(slow, leaves, upstream)
    )


# The perceptron


def drawn(count: int, inputs: int, width: int, seed: int = 0) -> list[Tensor]:
    """x, hidden weight and bias, last weight and bias."""
    return normal((count, inputs), (width, inputs), (width,), (1, width), (1,), seed=seed)


def two_layers(x: Tensor, w: Tensor, b: Tensor, v: Tensor, c: Tensor, mask: Tensor) -> Tensor:
    """The slow twin: torch's own layers, and a mask that is given."""
    return linear(torch.relu(linear(x, w, b)) * mask, v, c).squeeze(1)


def test_by_hand_with_a_dropped_unit() -> None:
    # Units relu(3) and relu(-1); at one half each is dropped, or doubled.
    x = torch.tensor([[1.0, 1.0]]).expand(64, 2)
    hidden = torch.tensor([[1.0, 2.0], [-1.0, 0.0]]), torch.zeros(2)
    logits = perceptron(x, hidden, (torch.tensor([[5.0, 7.0]]), torch.ones(1)), 0.5, seeded())
    assert set(logits.tolist()) == {1.0, 31.0}


@PROPERTY
@given(
    count=st.integers(0, 9),
    inputs=st.integers(1, 6),
    width=st.integers(1, 6),
    p=rates,
    seed=seeds,
)
def test_values_and_gradients_of_the_perceptron_equal_the_twin(
    count: int, inputs: int, width: int, p: float, seed: int
) -> None:
    x, w, b, v, c = tensors = drawn(count, inputs, width, seed)
    mask = torch.ones(count, width, dtype=torch.float64)
    if p:
        mask = kept(mask.shape, p, seeded(seed), mask.dtype) * kept_scale(p)
    fast = perceptron(x, (w, b), (v, c), p, seeded(seed))
    assert_same_values_and_gradients(fast, two_layers(*tensors, mask), tensors)


@pytest.mark.parametrize("p", [0.0, 0.25])
def test_gradcheck_of_the_perceptron(p: float) -> None:
    def scores(x: Tensor, w: Tensor, b: Tensor, v: Tensor, c: Tensor) -> Tensor:
        return perceptron(x, (w, b), (v, c), p, seeded())

    assert torch.autograd.gradcheck(scores, drawn(4, 3, 5, seed=1))


def test_without_a_generator_nothing_is_dropped() -> None:
    x, w, b, v, c = drawn(5, 3, 4)
    assert torch.equal(perceptron(x, (w, b), (v, c), 0.9), perceptron(x, (w, b), (v, c)))


def test_an_input_without_gradient_gets_none() -> None:
    x, *weights = drawn(5, 3, 4)
    w, b, v, c = weights
    perceptron(x.detach(), (w, b), (v, c)).sum().backward()
    assert all(weight.grad is not None for weight in weights)


@pytest.mark.parametrize("own", [frozenset({"cpu"}), frozenset()], ids=["own", "torch"])
def test_in_bfloat16_values_and_gradients_of_the_perceptron_are_close(
    own: frozenset[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "OWN_KERNELS", own)
    x, w, b, v, c = tensors = [t.detach().float().requires_grad_() for t in drawn(50, 8, 16)]
    lowered, exact = (
        perceptron(x, (w, b), (v, c), 0.0, None, dtype) for dtype in (torch.bfloat16, None)
    )
    lowered_all = lowered, *torch.autograd.grad(lowered.sum(), tensors)
    exact_all = exact, *torch.autograd.grad(exact.sum(), tensors)
    for one, other in zip(lowered_all, exact_all, strict=True):
        assert one.dtype == torch.float32
        assert (one - other).norm() <= 0.03 * other.norm()
    assert not torch.equal(lowered, exact)


# Eq. 2, and the perceptron that reads it


def ends_and_layers(
    count: int, depth: int, width: int = 4, units: int = 5, seed: int | None = None
) -> list[Tensor]:
    """Heads, tails, hidden weight and bias, last weight and bias."""
    ends, inputs = (count, depth, width), depth * depth * width
    shapes = (ends, ends, (units, inputs), (units,), (1, units), (1,))
    return normal(*shapes, seed=count if seed is None else seed)


def block_by_block(heads: Tensor, tails: Tensor) -> Tensor:
    """The slow twin: one block after the other, joined."""
    depth = range(heads.size(1))
    return torch.cat([heads[:, k] * tails[:, j] for k in depth for j in depth], dim=1)


def fused(h: Tensor, t: Tensor, w: Tensor, b: Tensor, v: Tensor, c: Tensor, p: float) -> Tensor:
    return cross_perceptron(h, t, (w, b), (v, c), p, seeded())


@PROPERTY
@given(count=st.integers(0, 6), depth=st.integers(1, 4), p=rates, seed=seeds)
@example(count=0, depth=2, p=0.5, seed=0)
@example(count=1, depth=1, p=0.0, seed=0)
def test_the_products_and_what_reads_them_equal_their_twins(
    count: int, depth: int, p: float, seed: int
) -> None:
    heads, tails, w, b, v, c = tensors = ends_and_layers(count, depth, seed=seed)
    crossed = block_by_block(heads, tails)
    assert torch.equal(cross_correlation(heads, tails), crossed)
    slow = perceptron(crossed, (w, b), (v, c), p, seeded())
    assert_same_values_and_gradients(fused(*tensors, p), slow, tensors)


def test_pairs_are_worked_on_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = ends_and_layers(7, 2)
    whole = fused(*tensors, 0.5)
    gradients = torch.autograd.grad(whole.sum(), tensors)
    products_of_a_pair = block_by_block(*tensors[:2]).size(1)
    monkeypatch.setattr(decoding, "_BLOCK", 3 * products_of_a_pair)
    assert len(decoding._parts(*tensors[:2])) == 3
    blocks = fused(*tensors, 0.5)
    torch.testing.assert_close(blocks, whole)
    torch.testing.assert_close(torch.autograd.grad(blocks.sum(), tensors), gradients)


def test_two_calls_before_their_backwards_do_not_disturb_each_other() -> None:
    first, second = ends_and_layers(6, 2), ends_and_layers(5, 2)
    alone = [torch.autograd.grad(fused(*t, 0.5).sum(), t) for t in (first, second)]
    scores = [fused(*t, 0.5).sum() for t in (first, second)]
    together = [
        torch.autograd.grad(score, t) for score, t in zip(scores, (first, second), strict=True)
    ]
    torch.testing.assert_close(together, alone)


@pytest.mark.parametrize("p", [0.0, 0.25])
def test_gradcheck_of_the_cross_perceptron(p: float) -> None:
    assert torch.autograd.gradcheck(lambda *t: fused(*t, p), ends_and_layers(3, 2, 2, 3))


@pytest.mark.parametrize("depth", [1, 2])
def test_in_bfloat16_values_and_gradients_are_those_of_rounded_products(depth: int) -> None:
    heads, tails, w, b, v, c = tensors = [
        tensor.detach().float().requires_grad_() for tensor in ends_and_layers(40, depth, 8, 16)
    ]
    lowered = cross_perceptron(heads, tails, (w, b), (v, c), 0.5, seeded(), torch.bfloat16)
    rounded = [tensor.bfloat16().float() for tensor in (heads, tails, w, b)]
    products = block_by_block(*rounded[:2]).bfloat16().float()
    exact = perceptron(products, (rounded[2], rounded[3]), (v, c), 0.5, seeded())
    upstream = torch.randn(40, generator=seeded(1))
    lowered_all = lowered, *torch.autograd.grad(lowered, tensors, upstream)
    exact_all = exact, *torch.autograd.grad(exact, tensors, upstream)
    # The units too are rounded, to 8 bits.
    for one, other in zip(lowered_all, exact_all, strict=True):
        assert one.dtype == torch.float32
        assert (one - other).norm() <= 0.02 * other.norm()


# Memory that is used again


def address(name: str, *shape: int, dtype: torch.dtype = torch.float32) -> int:
    return scratch(name, shape, dtype).data_ptr()


def test_the_same_name_gets_the_same_memory_again() -> None:
    first = address("a", 10, 3)
    assert address("a", 10, 3) == first
    assert address("a", 5, 4) == first
    assert scratch("a", (5, 4), torch.float32).shape == (5, 4)


def test_other_names_types_and_threads_have_their_own() -> None:
    mine = address("b", 100)
    assert address("c", 100) != mine
    assert address("b", 100, dtype=torch.float64) != mine
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(address, "b", 100).result() != mine


def test_what_is_far_too_large_is_given_back() -> None:
    address("d", 1_000_000)
    assert scratch("d", (10,), torch.float32).untyped_storage().nbytes() == 40
