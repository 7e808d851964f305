"""Sums over many items, a chunk at a time: the memory of one chunk, the gradient of the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

ChunkValue = Callable[[Sequence[Tensor], slice], Tensor]


def chunked_sum(
    value: ChunkValue,
    tensors: Sequence[Tensor],
    parameters: Iterable[Tensor],
    count: int,
    chunk: int,
) -> Tensor:
    """The sum of ``value(tensors, part)`` over parts of at most ``chunk`` of ``count`` items.

    Each part's gradients are taken as soon as its value is known and added up, so that no
    intermediate result outlives its chunk. They flow to ``tensors`` (what the caller computed,
    handed to ``value``) and ``parameters`` (leaves that ``value`` uses by itself).

    >>> x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> chunked_sum(lambda t, part: (t[0][part] ** 2).sum(), [x], [], 3, 2).backward()
    >>> x.grad
    tensor([2., 4., 6.])
    """
    parts = [slice(start, min(start + chunk, count)) for start in range(0, count, chunk)]
    if not torch.is_grad_enabled():
        return torch.stack([value(tensors, part) for part in parts]).sum()
    leaves = [parameter for parameter in parameters if parameter.requires_grad]
    total: Tensor = _ChunkedSum.apply(  # type: ignore[no-untyped-call]
        value, parts, len(tensors), *tensors, *leaves
    )
    return total


class _ChunkedSum(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, value: ChunkValue, parts: list[slice], num_tensors: int, *inputs: Tensor
    ) -> Tensor:
        leaves = [tensor.detach().requires_grad_() for tensor in inputs[:num_tensors]]
        wanted = [*leaves, *inputs[num_tensors:]]
        ctx.gradients = [torch.zeros_like(tensor) for tensor in wanted]
        total = torch.zeros((), dtype=inputs[0].dtype)
        for part in parts:
            with torch.enable_grad():
                partial = value(leaves, part)
            gradients = torch.autograd.grad(partial, wanted, allow_unused=True)
            for collected, gradient in zip(ctx.gradients, gradients, strict=True):
                if gradient is not None:
                    collected.add_(gradient)
            total += partial.detach()
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        return None, None, None, *(gradient * grads[0] for gradient in ctx.gradients)
