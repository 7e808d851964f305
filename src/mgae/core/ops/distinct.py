"""Values without repeats, in the order that they came."""

from __future__ import annotations

import torch
from torch import Tensor


def distinct(values: Tensor) -> Tensor:
    """Return each of ``values`` [n] once, in the order of first appearance.

    >>> distinct(torch.tensor([5, 2, 5, 9, 2]))
    tensor([5, 2, 9])
    """
    unique, inverse = torch.unique(values, return_inverse=True)
    first = torch.full_like(unique, values.numel(), dtype=torch.long)
    index = torch.arange(values.numel(), device=values.device)
    first.scatter_reduce_(0, inverse, index, reduce="amin")
    return values[first.sort().values]
