"""Every layer of one end times every layer of the other (Eq. 2), with a backward of its own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from mgae.core.ops.backend import has_kernels
from mgae.core.ops.perceptron import Dropped, Layer, add_product, flow_back, perceptron, read_units
from mgae.core.ops.scratch import scratch

# So many products at a time (4 MB): they stay in the cache between the steps made with them.
_BLOCK = 1 << 20


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
    dtype: torch.dtype | None = None,
) -> Tensor:
    """``perceptron(cross_correlation(heads, tails), …)``: [n].

    The products, the largest thing there is, are never all there: they are formed for some pairs
    at a time, and again in the backward pass. That is cheaper than memory for them.
    """
    if not has_kernels(heads):
        return perceptron(cross_correlation(heads, tails), hidden, last, p, generator, dtype)
    drawn = Dropped.draw(heads.size(0), hidden, p, generator, dtype)
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
        out, logits = drawn.scaled(last), heads.new_empty(len(heads))
        units = heads.new_empty(len(heads), bias.numel(), dtype=drawn.dtype)
        heads, tails, weight, bias = (t.to(drawn.dtype) for t in (heads, tails, weight, bias))
        for part in _parts(heads, tails):
            crossed = _crossed(heads[part], tails[part])
            read_units(crossed, weight, bias, drawn.part(part), units[part])
            torch.mv(units[part].to(out.dtype), out, out=logits[part])
        ctx.save_for_backward(heads, tails, weight, units, out)
        ctx.scale = drawn.scale
        return logits.add_(end)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        heads, tails, weight, units, out = ctx.saved_tensors
        by_out = (weight * out.unsqueeze(1)).to(weight.dtype)
        weights, biases = torch.zeros_like(weight, dtype=out.dtype), torch.zeros_like(out)
        lasts = torch.zeros_like(out)
        to_heads, to_tails = torch.empty_like(heads), torch.empty_like(tails)
        for part in _parts(heads, tails):
            flow = flow_back(units[part], grads[0][part])
            crossed = _crossed(heads[part], tails[part])
            add_product(weights, flow.t(), crossed)
            biases += flow.sum(dim=0, dtype=out.dtype)
            lasts.addmv_(units[part].t().to(out.dtype), grads[0][part])
            # Nobody needs the products any more: their gradient takes their place.
            torch.mm(flow, by_out, out=crossed)
            blocks = crossed.view(len(flow), heads.size(1), tails.size(1), heads.size(2))
            _sum_blocks(blocks, tails[part], to_heads[part])
            _sum_blocks(blocks.transpose(1, 2), heads[part], to_tails[part])
        ends = to_heads.to(out.dtype), to_tails.to(out.dtype)
        own = weights.mul_(out.unsqueeze(1)), biases.mul_(out)
        return *ends, *own, lasts.mul_(ctx.scale).unsqueeze(0), grads[0].sum().view(1), None


def _parts(heads: Tensor, tails: Tensor) -> list[slice]:
    pairs = max(1, _BLOCK // (heads.size(1) * tails.size(1) * heads.size(2)))
    return [slice(start, start + pairs) for start in range(0, max(1, len(heads)), pairs)]


def _crossed(heads: Tensor, tails: Tensor) -> Tensor:
    count, depth, width = heads.shape
    blocks = scratch("crossed", (count, depth, tails.size(1), width), heads.dtype)
    return torch.mul(heads.unsqueeze(2), tails.unsqueeze(1), out=blocks).flatten(1)


def _sum_blocks(blocks: Tensor, other: Tensor, sums: Tensor) -> None:
    """Write Σ_j blocks[:, k, j] ⊙ other[:, j] for each k."""
    torch.mul(blocks[:, :, 0], other[:, :1], out=sums)
    for j in range(1, other.size(1)):
        sums.addcmul_(blocks[:, :, j], other[:, j : j + 1])
