from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from mgae.core.ops.dropout import kept, kept_scale
from mgae.core.ops.decoding import perceptron

PROPERTY = settings(deadline=None, max_examples=40)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def drawn(count: int, inputs: int, width: int, seed: int = 0) -> list[Tensor]:
    """x, hidden weight and bias, last weight and bias."""
    shapes = [(count, inputs), (width, inputs), (width,), (1, width), (1,)]
    generator = seeded(seed)
    return [
        torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()
        for shape in shapes
    ]


def obvious(x: Tensor, w: Tensor, b: Tensor, v: Tensor, c: Tensor, mask: Tensor) -> Tensor:
    """The slow twin: torch's own layers, and a mask that is given."""
    hidden = torch.relu(torch.nn.functional.linear(x, w, b)) * mask
    return torch.nn.functional.linear(hidden, v, c).squeeze(1)


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
    p=st.sampled_from([0.0, 0.3, 0.5]),
    seed=st.integers(0, 2**20),
)
def test_values_and_gradients_equal_the_obvious_twins(
    count: int, inputs: int, width: int, p: float, seed: int
) -> None:
    x, w, b, v, c = tensors = drawn(count, inputs, width, seed)
    mask = torch.ones(count, width, dtype=torch.float64)
    if p:
        mask = kept(mask.shape, p, seeded(seed), mask.dtype) * kept_scale(p)
    fast = perceptron(x, (w, b), (v, c), p, seeded(seed))
    slow = obvious(*tensors, mask)
    torch.testing.assert_close(fast, slow)
    upstream = torch.randn(count, generator=seeded(seed), dtype=torch.float64)
    torch.testing.assert_close(
        torch.autograd.grad(fast, tensors, upstream), torch.autograd.grad(slow, tensors, upstream)
    )


@pytest.mark.parametrize("p", [0.0, 0.25])
def test_gradcheck(p: float) -> None:
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


@pytest.mark.parametrize("kernels", [True, False])
def test_in_bfloat16_values_and_gradients_are_close(
    kernels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mgae.core.ops.perceptron.has_kernels", lambda _: kernels)
    x, w, b, v, c = tensors = [t.detach().float().requires_grad_() for t in drawn(50, 8, 16)]
    found, wanted = (
        perceptron(x, (w, b), (v, c), 0.0, None, dtype) for dtype in (torch.bfloat16, None)
    )
    found_all = found, *torch.autograd.grad(found.sum(), tensors)
    wanted_all = wanted, *torch.autograd.grad(wanted.sum(), tensors)
    for one, other in zip(found_all, wanted_all, strict=True):
        assert one.dtype == torch.float32
        assert (one - other).norm() <= 0.03 * other.norm()
    assert not torch.equal(found, wanted)
