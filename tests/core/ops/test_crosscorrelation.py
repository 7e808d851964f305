from __future__ import annotations

import pytest
import torch
from torch import Tensor

from mgae.core.ops.decoding import cross_correlation, cross_perceptron
from mgae.core.ops.decoding import perceptron

Tensors = tuple[Tensor, ...]


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def obvious(heads: Tensor, tails: Tensor) -> Tensor:
    """The slow twin: one block after the other, joined."""
    depth = range(heads.size(1))
    return torch.cat([heads[:, k] * tails[:, j] for k in depth for j in depth], dim=1)


def drawn(count: int, depth: int, width: int = 4, units: int = 5) -> Tensors:
    """Heads, tails, hidden weight and bias, last weight and bias."""
    generator = seeded(count)
    ends, inputs = (count, depth, width), depth * depth * width
    return tuple(
        torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()
        for shape in (ends, ends, (units, inputs), (units,), (1, units), (1,))
    )


def fused(h: Tensor, t: Tensor, w: Tensor, b: Tensor, v: Tensor, c: Tensor, p: float) -> Tensor:
    return cross_perceptron(h, t, (w, b), (v, c), p, seeded())


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_products_equal_the_obvious_twins(depth: int, count: int) -> None:
    heads, tails, *_ = drawn(count, depth)
    assert torch.equal(cross_correlation(heads, tails), obvious(heads, tails))


@pytest.mark.parametrize("p", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_values_and_gradients_equal_those_of_the_parts(depth: int, count: int, p: float) -> None:
    heads, tails, w, b, v, c = tensors = drawn(count, depth)
    whole = fused(*tensors, p)
    parts = perceptron(obvious(heads, tails), (w, b), (v, c), p, seeded())
    torch.testing.assert_close(whole, parts)
    upstream = torch.randn(count, generator=seeded(1), dtype=torch.float64)
    torch.testing.assert_close(
        torch.autograd.grad(whole, tensors, upstream),
        torch.autograd.grad(parts, tensors, upstream),
    )


def test_pairs_are_worked_on_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = drawn(7, 2)
    whole = fused(*tensors, 0.5)
    gradients = torch.autograd.grad(whole.sum(), tensors)
    products_of_a_pair = obvious(*tensors[:2]).size(1)
    monkeypatch.setattr("mgae.core.ops.crosscorrelation._BLOCK", 3 * products_of_a_pair)
    blocks = fused(*tensors, 0.5)
    torch.testing.assert_close(blocks, whole)
    torch.testing.assert_close(torch.autograd.grad(blocks.sum(), tensors), gradients)


def test_two_calls_before_their_backwards_do_not_disturb_each_other() -> None:
    first, second = drawn(6, 2), drawn(5, 2)
    alone = [torch.autograd.grad(fused(*t, 0.5).sum(), t) for t in (first, second)]
    scores = [fused(*t, 0.5).sum() for t in (first, second)]
    together = [
        torch.autograd.grad(score, t) for score, t in zip(scores, (first, second), strict=True)
    ]
    torch.testing.assert_close(together, alone)


@pytest.mark.parametrize("p", [0.0, 0.25])
def test_gradcheck(p: float) -> None:
    assert torch.autograd.gradcheck(lambda *t: fused(*t, p), drawn(3, 2, 2, 3))


@pytest.mark.parametrize("depth", [1, 2])
def test_in_bfloat16_values_and_gradients_are_those_of_rounded_products(depth: int) -> None:
    heads, tails, w, b, v, c = tensors = tuple(
        tensor.detach().float().requires_grad_() for tensor in drawn(40, depth, 8, 16)
    )
    lowered = cross_perceptron(heads, tails, (w, b), (v, c), 0.5, seeded(), torch.bfloat16)
    rounded = [tensor.bfloat16().float() for tensor in (heads, tails, w, b)]
    products = obvious(*rounded[:2]).bfloat16().float()
    exact = perceptron(products, (rounded[2], rounded[3]), (v, c), 0.5, seeded())
    upstream = torch.randn(40, generator=seeded(1))
    found = lowered, *torch.autograd.grad(lowered, tensors, upstream)
    wanted = exact, *torch.autograd.grad(exact, tensors, upstream)
    for one, other in zip(found, wanted, strict=True):  # the units too are rounded, to 8 bits
        assert one.dtype == torch.float32
        assert (one - other).norm() <= 0.02 * other.norm()
