"""Dropout whose chance is an argument, and which does not wait for torch's slow Bernoulli draws."""

from __future__ import annotations

import torch
from torch import Tensor

_STEPS = 65536


def dropout(values: Tensor, p: float, generator: torch.Generator | None) -> Tensor:
    """Zero each value with probability ``p`` (to 1/65536) and scale the rest by ``1 / (1 - p)``.

    Without a generator nothing is dropped: that is how evaluation asks for it.
    """
    if generator is None or p == 0.0:
        return values
    threshold = min(round(p * _STEPS), _STEPS - 1)
    kept = random_shorts(values.numel(), generator).view(values.shape) >= threshold - _STEPS // 2
    # Multiplying by a float mask is three times faster here than torch.where.
    return values * kept.to(values.dtype).mul_(_STEPS / (_STEPS - threshold))


def random_shorts(count: int, generator: torch.Generator) -> Tensor:
    """``count`` uniform 16-bit integers, four from each 64-bit draw."""
    draws = torch.empty((count + 3) // 4, dtype=torch.long)
    return draws.random_(-(2**63), None, generator=generator).view(torch.int16)[:count]
