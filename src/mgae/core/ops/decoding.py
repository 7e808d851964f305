"""The decoder's kernels: Eq. 2 and the two linear layers that read it, with their own backward."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from mgae.core.ops import backend
from mgae.core.ops.dropout import dropout, kept, kept_scale

Layer = tuple[Tensor, Tensor]


def perceptron(
    x: Tensor,
    hidden: Layer,
    last: Layer,
    p: float = 0.0,
    generator: torch.Generator | None = None,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Map [n, in] to [n] by weights [width, in], bias [width], weights [1, width] and bias [1].

    Beside its three matrix products this makes a handful of passes over [n, width]; autograd
    makes several times as many. The hidden layer is multiplied in ``dtype``, as a rule x's own;
    what is given and what comes out keep theirs.

    >>> weight, bias = torch.tensor([[1.0, 2.0], [-1.0, 0.0]]), torch.tensor([0.5, 0.0])
    >>> out = torch.tensor([[3.0, 4.0]]), torch.tensor([1.0])
    >>> perceptron(torch.tensor([[1.0, 1.0]]), (weight, bias), out)
    tensor([11.5000])
    """
    if x.device.type not in backend.OWN_KERNELS:
        units = torch.relu(linear(*(part.to(dtype or x.dtype) for part in (x, *hidden))))
        return linear(dropout(units.to(x.dtype), p, generator), *last).squeeze(1)
    drawn = Dropped.draw(x.size(0), hidden, p, generator, dtype)
    result: Tensor = _Perceptron.apply(x, *hidden, *last, drawn)  # type: ignore[no-untyped-call]
    return result


@dataclass(frozen=True, eq=False)
class Dropped:
    """Which hidden units stay: a mask [n, width], or None for all; and what scales them.

    ``dtype`` is that of the units.
    """

    mask: Tensor | None
    scale: float
    dtype: torch.dtype

    @classmethod
    def draw(
        cls,
        count: int,
        hidden: Layer,
        p: float,
        generator: torch.Generator | None,
        dtype: torch.dtype | None = None,
    ) -> Dropped:
        """Return a mask for ``count`` inputs."""
        dtype = dtype or hidden[0].dtype
        if generator is None or p == 0.0:
            return cls(None, 1.0, dtype)
        shape = torch.Size([count, hidden[1].numel()])
        return cls(kept(shape, p, generator, dtype), kept_scale(p), dtype)

    def part(self, part: slice) -> Dropped:
        """Return the same for some of the inputs."""
        return self if self.mask is None else replace(self, mask=self.mask[part])

    def scaled(self, last_weight: Tensor) -> Tensor:
        """Return the last weights [width] times the scale: they are few, so that it is cheap."""
        return last_weight.view(-1) * self.scale


def read_units(x: Tensor, weight: Tensor, bias: Tensor, dropped: Dropped, units: Tensor) -> None:
    """Write the hidden units [n, width], without the dropout's scale."""
    torch.addmm(bias, x, weight.t(), out=units).clamp_min_(0)
    if dropped.mask is not None:
        units.mul_(dropped.mask)


def flow_back(units: Tensor, grad: Tensor) -> Tensor:
    """Return the gradient [n, width] at the hidden units, before the last weights enter.

    Where a unit is neither off nor dropped, its derivative is 1.
    """
    return torch.sign(units).mul_(grad.unsqueeze(1).to(units.dtype))


def add_product(total: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Add ``left @ right`` to ``total``, in its precision."""
    if total.dtype == left.dtype:
        return total.addmm_(left, right)
    return total.add_(left @ right)


class _Perceptron(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, last: Tensor, end: Tensor, drawn: Dropped
    ) -> Tensor:
        units, out = x.new_empty(len(x), bias.numel(), dtype=drawn.dtype), drawn.scaled(last)
        x, weight, bias = (part.to(drawn.dtype) for part in (x, weight, bias))
        read_units(x, weight, bias, drawn, units)
        ctx.save_for_backward(x, weight, units, out)
        ctx.scale = drawn.scale
        return torch.mv(units.to(out.dtype), out) + end

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Multiply the last weights into the first ones, which are few, not into [n, width]."""
        x, weight, units, out = ctx.saved_tensors
        flow = flow_back(units, grads[0])
        by_out = (weight * out.unsqueeze(1)).to(units.dtype)
        back = (flow @ by_out).to(out.dtype) if ctx.needs_input_grad[0] else None
        weights = (flow.t() @ x).to(out.dtype).mul_(out.unsqueeze(1))
        biases = flow.sum(dim=0, dtype=out.dtype) * out
        lasts = torch.mv(units.t().to(out.dtype), grads[0]) * ctx.scale
        return back, weights, biases, lasts.unsqueeze(0), grads[0].sum().view(1), None


# So many products at a time (4 MB): they stay in the cache between the steps made with them.
_BLOCK = 1 << 20


def cross_correlation(heads: Tensor, tails: Tensor) -> Tensor:
    """Map two [n, K, d] to [n, K²·d]: the block (k, j) = heads_k ⊙ tails_j has number k·K + j.

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
    """Return ``perceptron(cross_correlation(heads, tails), …)``: [n].

    The products, the largest thing there is, are never all there: they are formed for some pairs
    at a time, and again in the backward pass. That is cheaper than memory for them.
    """
    if heads.device.type not in backend.OWN_KERNELS:
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
            # Nobody needs the products any more: their gradient overwrites them.
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


_kept = threading.local()


def scratch(name: str, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Return an uninitialized tensor; the next call of this name in this thread may reuse it.

    For what is done with before the function that asked for it returns, and is never handed out.
    """
    buffers: dict[tuple[str, torch.dtype], Tensor] = _kept.__dict__.setdefault("buffers", {})
    size, buffer = prod(shape), buffers.get((name, dtype))
    if buffer is None or not size <= buffer.numel() <= 4 * max(size, 1):
        buffer = buffers[name, dtype] = torch.empty(size, dtype=dtype)
    return buffer[:size].view(*shape)
