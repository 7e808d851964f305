"""Memory that is used again: fresh pages cost more than the arithmetic that fills them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor

_kept = threading.local()


def scratch(name: str, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """An uninitialized tensor; the next call of this name in this thread may return the same.

    For what is done with before the function that asked for it returns, and is never handed out.
    """
    buffers: dict[tuple[str, torch.dtype], Tensor] = _kept.__dict__.setdefault("buffers", {})
    size, buffer = prod(shape), buffers.get((name, dtype))
    if buffer is None or not size <= buffer.numel() <= 4 * max(size, 1):
        buffer = buffers[name, dtype] = torch.empty(size, dtype=dtype)
    return buffer[:size].view(*shape)
