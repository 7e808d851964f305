"""Two linear layers with ReLU and dropout between them, with a backward of their own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from mgae.ops.backend import has_kernels
from mgae.ops.dropout import dropout, kept, kept_scale


def perceptron(
    x: Tensor,
    hidden: tuple[Tensor, Tensor],
    last: tuple[Tensor, Tensor],
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
    if generator is None or p == 0.0:
        mask, scale = None, 1.0
    else:
        shape = torch.Size([x.size(0), hidden[1].numel()])
        mask, scale = kept(shape, p, generator, x.dtype), kept_scale(p)
    result: Tensor = _Perceptron.apply(x, *hidden, *last, mask, scale)  # type: ignore[no-untyped-call]
    return result


class _Perceptron(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        last_weight: Tensor,
        last_bias: Tensor,
        mask: Tensor | None,
        scale: float,
    ) -> Tensor:
        read = torch.addmm(bias, x, weight.t()).clamp_min_(0)
        if mask is not None:
            read.mul_(mask)
        # The scale of the dropout goes into the last weights: they are few.
        out = last_weight.view(-1) * scale
        ctx.save_for_backward(x, weight, read, out)
        ctx.scale = scale
        return torch.mv(read, out) + last_bias

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The last weights enter where they are few: in the first weights, not in [n, width]."""
        x, weight, read, out = ctx.saved_tensors
        grad = grads[0]
        # Where a unit is neither off nor dropped, its derivative is 1 times the last weight.
        flow = torch.sign(read).mul_(grad.unsqueeze(1))
        return (
            flow @ (weight * out.unsqueeze(1)) if ctx.needs_input_grad[0] else None,
            (flow.t() @ x).mul_(out.unsqueeze(1)),
            flow.sum(dim=0) * out,
            (torch.mv(read.t(), grad) * ctx.scale).unsqueeze(0),
            grad.sum().view(1),
            None,
            None,
        )
