"""Two linear layers with ReLU and dropout between them, with a backward of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from mgae.ops.backend import has_kernels
from mgae.ops.dropout import dropout, kept, kept_scale

Layer = tuple[Tensor, Tensor]


def perceptron(
    x: Tensor,
    hidden: Layer,
    last: Layer,
    p: float = 0.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """[n, in] → [n]: weights [width, in] and bias [width], then weights [1, width] and bias [1].

    Beside its three matrix products this makes a handful of passes over [n, width]; autograd
    makes several times as many.

    >>> weight, bias = torch.tensor([[1.0, 2.0], [-1.0, 0.0]]), torch.tensor([0.5, 0.0])
    >>> out = torch.tensor([[3.0, 4.0]]), torch.tensor([1.0])
    >>> perceptron(torch.tensor([[1.0, 1.0]]), (weight, bias), out)
    tensor([11.5000])
    """
    if not has_kernels(x):
        return linear(dropout(torch.relu(linear(x, *hidden)), p, generator), *last).squeeze(1)
    drawn = Dropped.draw(x.size(0), hidden, p, generator)
    result: Tensor = _Perceptron.apply(x, *hidden, *last, drawn)  # type: ignore[no-untyped-call]
    return result


@dataclass(frozen=True, eq=False)
class Dropped:
    """Which hidden units stay: a mask [n, width], or None for all; and what scales them."""

    mask: Tensor | None
    scale: float

    @classmethod
    def draw(
        cls, count: int, hidden: Layer, p: float, generator: torch.Generator | None
    ) -> Dropped:
        """A mask for ``count`` inputs."""
        if generator is None or p == 0.0:
            return cls(None, 1.0)
        shape = torch.Size([count, hidden[1].numel()])
        return cls(kept(shape, p, generator, hidden[0].dtype), kept_scale(p))

    def part(self, part: slice) -> Dropped:
        """The same for some of the inputs."""
        return self if self.mask is None else Dropped(self.mask[part], self.scale)

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
    return torch.sign(units).mul_(grad.unsqueeze(1))


def last_gradients(units: Tensor, scale: float, grad: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of the last layer's weights and bias."""
    return (torch.mv(units.t(), grad) * scale).unsqueeze(0), grad.sum().view(1)


class _Perceptron(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, last: Tensor, end: Tensor, drawn: Dropped
    ) -> Tensor:
        units, out = x.new_empty(len(x), bias.numel()), drawn.scaled(last)
        read_units(x, weight, bias, drawn, units)
        ctx.save_for_backward(x, weight, units, out)
        ctx.scale = drawn.scale
        return torch.mv(units, out) + end

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The last weights enter where they are few: in the first weights, not in [n, width]."""
        x, weight, units, out = ctx.saved_tensors
        flow = flow_back(units, grads[0])
        back = flow @ (weight * out.unsqueeze(1)) if ctx.needs_input_grad[0] else None
        weights = (flow.t() @ x).mul_(out.unsqueeze(1))
        biases = flow.sum(dim=0) * out
        return back, weights, biases, *last_gradients(units, ctx.scale, grads[0]), None
