"""Sums over many items, a chunk at a time: the memory of one chunk, the gradient of the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from mgae.core.ops import backend

Take = Callable[[Tensor], Tensor]
ChunkValue = Callable[[Take, slice], Tensor]


def chunked_sum(
    value: ChunkValue, rows: Tensor, parameters: Iterable[Tensor], count: int, chunk: int
) -> Tensor:
    """Return the sum of ``value(take, part)`` over parts of at most ``chunk`` of ``count`` items.

    ``take(index)`` gives the ``rows`` at an index. Each part's gradients are formed as soon as its
    value is known, so that no intermediate result outlives its chunk; they go to the rows that
    were taken, not through a gradient as large as all rows, and to ``parameters`` (leaves that
    ``value`` uses by itself).

    >>> x = torch.tensor([[1.0], [2.0], [3.0]], requires_grad=True)
    >>> def squares(take, part):
    ...     return (take(torch.arange(part.start, part.stop)) ** 2).sum()
    >>> chunked_sum(squares, x, [], 3, 2).backward()
    >>> x.grad.squeeze()
    tensor([2., 4., 6.])
    """
    parts = [slice(start, min(start + chunk, count)) for start in range(0, count, chunk)]
    if not torch.is_grad_enabled():
        return sum((value(_taker(rows), part) for part in parts), rows.new_zeros(()))
    leaves = [parameter for parameter in parameters if parameter.requires_grad]
    total: Tensor = _ChunkedSum.apply(value, parts, rows, *leaves)  # type: ignore[no-untyped-call]
    return total


def _taker(rows: Tensor) -> Take:
    return lambda index: rows.index_select(0, index)


class _ChunkedSum(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, value: ChunkValue, parts: list[slice], rows: Tensor, *parameters: Tensor
    ) -> Tensor:
        rows = rows.detach()
        ctx.gradients = [torch.zeros_like(tensor) for tensor in (rows, *parameters)]
        total = rows.new_zeros(())
        for part in parts:
            taken: list[tuple[Tensor, Tensor]] = []
            with torch.enable_grad():
                partial = value(_recorder(rows, taken), part)
            _add_gradients(partial, taken, parameters, ctx.gradients)
            total += partial.detach()
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        # The usual upstream gradient is 1, and a pass over all rows can be spared; elsewhere the
        # question would wait for the device.
        if grads[0].device.type in backend.OWN_KERNELS and bool(grads[0] == 1):
            return None, None, *ctx.gradients
        return None, None, *(gradient * grads[0] for gradient in ctx.gradients)


def _recorder(rows: Tensor, taken: list[tuple[Tensor, Tensor]]) -> Take:
    def take(index: Tensor) -> Tensor:
        leaf = rows.index_select(0, index).requires_grad_()
        taken.append((index, leaf))
        return leaf

    return take


def _add_gradients(
    partial: Tensor,
    taken: list[tuple[Tensor, Tensor]],
    parameters: tuple[Tensor, ...],
    sums: list[Tensor],
) -> None:
    wanted = [*(leaf for _, leaf in taken), *parameters]
    gradients = torch.autograd.grad(partial, wanted, allow_unused=True)
    for (index, _), gradient in zip(taken, gradients, strict=False):
        if gradient is not None:
            sums[0].index_add_(0, index, gradient)
    for collected, gradient in zip(sums[1:], gradients[len(taken) :], strict=True):
        if gradient is not None:
            collected.add_(gradient)
