"""Every layer of one end times every layer of the other (Eq. 2), with a backward of its own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mgae.ops.backend import has_kernels


def cross_correlation(heads: Tensor, tails: Tensor) -> Tensor:
    """[n, K, d] and [n, K, d] → [n, K²·d], the block (k, j) = heads_k ⊙ tails_j at place k·K + j.

    >>> heads, tails = torch.tensor([[[2.0], [3.0]]]), torch.tensor([[[5.0], [7.0]]])
    >>> cross_correlation(heads, tails)
    tensor([[10., 14., 15., 21.]])
    """
    if not has_kernels(heads):
        return (heads.unsqueeze(2) * tails.unsqueeze(1)).flatten(1)
    product: Tensor = _CrossCorrelation.apply(heads, tails)  # type: ignore[no-untyped-call]
    return product


class _CrossCorrelation(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, heads: Tensor, tails: Tensor) -> Tensor:
        ctx.save_for_backward(heads, tails)
        return (heads.unsqueeze(2) * tails.unsqueeze(1)).flatten(1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        """Autograd would write two more tensors of the product's size; this adds in place."""
        heads, tails = ctx.saved_tensors
        blocks = grads[0].view(heads.size(0), heads.size(1), tails.size(1), heads.size(2))
        return _summed(blocks, tails), _summed(blocks.transpose(1, 2), heads)


def _summed(blocks: Tensor, other: Tensor) -> Tensor:
    """Σ_j blocks[:, k, j] ⊙ other[:, j] for each k."""
    sums = blocks[:, :, 0] * other[:, :1]
    for j in range(1, other.size(1)):
        sums.addcmul_(blocks[:, :, j], other[:, j : j + 1])
    return sums
