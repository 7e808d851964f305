"""Every layer of one end times every layer of the other (Eq. 2), with a backward of its own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from mgae.ops.backend import has_kernels
from mgae.ops.perceptron import (
    Dropped,
    Layer,
    flow_back,
    perceptron,
    read_units,
    scaled,
    weight_gradients,
)
from mgae.ops.scratch import scratch


def cross_correlation(heads: Tensor, tails: Tensor) -> Tensor:
    """[n, K, d] and [n, K, d] → [n, K²·d], the block (k, j) = heads_k ⊙ tails_j at place k·K + j.

    >>> heads, tails = torch.tensor([[[2.0], [3.0]]]), torch.tensor([[[5.0], [7.0]]])
    >>> cross_correlation(heads, tails)
    tensor([[10., 14., 15., 21.]])
    """
    return (heads.unsqueeze(2) * tails.unsqueeze(1)).flatten(1)


def cross_perceptron(
    heads: Tensor,
    tails: Tensor,
    hidden: Layer,
    last: Layer,
    p: float = 0.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """``perceptron(cross_correlation(heads, tails), …)``: [n].

    The products, the largest thing there is, are not kept for the backward pass but formed again:
    that is cheaper than fresh memory for them.
    """
    if not has_kernels(heads):
        return perceptron(cross_correlation(heads, tails), hidden, last, p, generator)
    drawn = Dropped.draw(heads.size(0), hidden, p, generator)
    result: Tensor = _CrossPerceptron.apply(heads, tails, *hidden, *last, drawn)  # type: ignore[no-untyped-call]
    return result


class _CrossPerceptron(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        heads: Tensor,
        tails: Tensor,
        weight: Tensor,
        bias: Tensor,
        last: Tensor,
        end: Tensor,
        drawn: Dropped,
    ) -> Tensor:
        units = read_units(_crossed(heads, tails), weight, bias, drawn)
        out = scaled(last, drawn)
        ctx.save_for_backward(heads, tails, weight, units, out)
        ctx.scale = drawn.scale
        return torch.mv(units, out) + end

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        heads, tails, weight, units, out = ctx.saved_tensors
        flow, crossed = flow_back(units, grads[0]), _crossed(heads, tails)
        weights = weight_gradients(crossed, units, out, ctx.scale, flow, grads[0])
        # Nobody needs the products any more: their gradient takes their place.
        torch.mm(flow, weight * out.unsqueeze(1), out=crossed)
        blocks = crossed.view(len(heads), heads.size(1), tails.size(1), heads.size(2))
        ends = _summed(blocks, tails), _summed(blocks.transpose(1, 2), heads)
        return *ends, *weights, None


def _crossed(heads: Tensor, tails: Tensor) -> Tensor:
    count, depth, width = heads.shape
    blocks = scratch("crossed", (count, depth, tails.size(1), width), heads.dtype)
    return torch.mul(heads.unsqueeze(2), tails.unsqueeze(1), out=blocks).flatten(1)


def _summed(blocks: Tensor, other: Tensor) -> Tensor:
    """Σ_j blocks[:, k, j] ⊙ other[:, j] for each k."""
    sums = blocks[:, :, 0] * other[:, :1]
    for j in range(1, other.size(1)):
        sums.addcmul_(blocks[:, :, j], other[:, j : j + 1])
    return sums
