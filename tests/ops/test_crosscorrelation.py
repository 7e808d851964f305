from __future__ import annotations

import pytest
import torch
from torch import Tensor

from mgae.ops.crosscorrelation import cross_correlation


def obvious(heads: Tensor, tails: Tensor) -> Tensor:
    """The slow twin: one block after the other, joined."""
    depth = range(heads.size(1))
    return torch.cat([heads[:, k] * tails[:, j] for k in depth for j in depth], dim=1)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_values_and_gradients_equal_the_obvious_twins(depth: int, count: int) -> None:
    generator = torch.Generator().manual_seed(0)
    heads, tails = (
        torch.randn(count, depth, 4, generator=generator).requires_grad_() for _ in range(2)
    )
    fast, slow = cross_correlation(heads, tails), obvious(heads, tails)
    torch.testing.assert_close(fast, slow)
    upstream = torch.randn(fast.shape, generator=generator)
    torch.testing.assert_close(
        torch.autograd.grad(fast, (heads, tails), upstream),
        torch.autograd.grad(slow, (heads, tails), upstream),
    )


def test_gradcheck() -> None:
    heads, tails = (torch.randn(3, 2, 2, dtype=torch.double, requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(cross_correlation, (heads, tails))
