"""Two linear layers with ReLU and dropout between them, with a backward of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from mgae.core.ops.backend import has_kernels
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
    """[n, in] → [n]: weights [width, in] and bias [width], then weights [1, width] and bias [1].

    Beside its three matrix products this makes a handful of passes over [n, width]; autograd
    makes several times as many. The hidden layer is multiplied in ``dtype``, as a rule x's own;
    what is given and what comes out keep theirs.

    >>> weight, bias = torch.tensor([[1.0, 2.0], [-1.0, 0.0]]), torch.tensor([0.5, 0.0])
    >>> out = torch.tensor([[3.0, 4.0]]), torch.tensor([1.0])
    >>> perceptron(torch.tensor([[1.0, 1.0]]), (weight, bias), out)
    tensor([11.5000])
    """
    if not has_kernels(x):
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
        """A mask for ``count`` inputs."""
        dtype = dtype or hidden[0].dtype
        if generator is None or p == 0.0:
            return cls(None, 1.0, dtype)
        shape = torch.Size([count, hidden[1].numel()])
        return cls(kept(shape, p, generator, dtype), kept_scale(p), dtype)

    def part(self, part: slice) -> Dropped:
        """The same for some of the inputs."""
        return self if self.mask is None else replace(self, mask=self.mask[part])

    def scaled(self, last_weight: Tensor) -> Tensor:
        """The last weights [width] with the scale in them: there it is cheap, they are few."""
        return last_weight.view(-1) * self.scale


def read_units(x: Tensor, weight: Tensor, bias: Tensor, dropped: Dropped, units: Tensor) -> None:
    """Write the hidden units [n, width], without the dropout's scale."""
    torch.addmm(bias, x, weight.t(), out=units).clamp_min_(0)
    if dropped.mask is not None:
        units.mul_(dropped.mask)


def flow_back(units: Tensor, grad: Tensor) -> Tensor:
    """The gradient [n, width] at the hidden units by the last weights, which are still to come.

    Where a unit is neither off nor dropped, its derivative is 1.
    """
    return torch.sign(units).mul_(grad.unsqueeze(1).to(units.dtype))


def add_product(total: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """``total += left @ right``, in total's precision."""
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
        """The last weights enter where they are few: in the first weights, not in [n, width]."""
        x, weight, units, out = ctx.saved_tensors
        flow = flow_back(units, grads[0])
        by_out = (weight * out.unsqueeze(1)).to(units.dtype)
        back = (flow @ by_out).to(out.dtype) if ctx.needs_input_grad[0] else None
        weights = (flow.t() @ x).to(out.dtype).mul_(out.unsqueeze(1))
        biases = flow.sum(dim=0, dtype=out.dtype) * out
        lasts = torch.mv(units.t().to(out.dtype), grads[0]) * ctx.scale
        return back, weights, biases, lasts.unsqueeze(0), grads[0].sum().view(1), None
