"""Dropout whose chance is an argument, and which does not wait for torch's slow Bernoulli draws."""

from __future__ import annotations

import torch
from torch import Tensor

from mgae.core.ops import backend

_FINEST = 16


def dropout(values: Tensor, p: float, generator: torch.Generator | None) -> Tensor:
    """Zero each value with probability ``p`` (to 1/65536) and scale the rest by ``1 / (1 - p)``.

    Without a generator nothing is dropped: that is how evaluation asks for it.
    """
    if generator is None or p == 0.0:
        return values
    stays = kept(values.shape, p, generator, values.dtype, values.device)
    return values * stays.mul_(kept_scale(p))


def kept(
    shape: torch.Size,
    p: float,
    generator: torch.Generator,
    dtype: torch.dtype = torch.float32,
    device: torch.device | None = None,
) -> Tensor:
    """Draw 1 for each value that stays and 0 for each that is dropped, for use on a device.

    A value asks for as few random bits as tell ``p`` exactly: one for 1/2, sixteen for most. With
    ``b`` bits as a number below 2^b, adding 2^b - p·2^b carries into bit b where the value stays;
    this is arithmetic on 32-bit integers, which is much faster here than comparing to booleans.
    """
    dropped, bits = _share(p)
    shifts = torch.arange(0, 32, bits, dtype=torch.int32, device=device)
    words = random_words(-(-shape.numel() // shifts.numel()), generator)
    words = words if device is None else backend.bring(words, device)
    stays = (words.unsqueeze(1) >> shifts).bitwise_and_((1 << bits) - 1)
    if (dropped, bits) != (1, 1):  # a single bit with 1 added carries where it is 1 already
        stays.add_((1 << bits) - dropped).bitwise_right_shift_(bits)
    return stays.flatten()[: shape.numel()].view(shape).to(dtype)


def kept_scale(p: float) -> float:
    """Return what a kept value is multiplied by, so that the mean stays."""
    dropped, bits = _share(p)
    return float((1 << bits) / ((1 << bits) - dropped))


def _share(p: float) -> tuple[int, int]:
    """Return ``p`` as ``dropped`` of 2^bits, with the smallest divisor of 32 as bits.

    >>> _share(0.5), _share(0.75), _share(0.3)
    ((1, 1), (3, 2), (19661, 16))
    """
    dropped, bits = min(round(p * (1 << _FINEST)), (1 << _FINEST) - 1), _FINEST
    while bits > 1 and dropped % (1 << bits // 2) == 0:
        dropped, bits = dropped >> bits // 2, bits // 2
    return dropped, bits


def random_words(count: int, generator: torch.Generator) -> Tensor:
    """Draw ``count`` uniform 32-bit integers, two from each 64-bit draw."""
    draws = torch.empty((count + 1) // 2, dtype=torch.long)
    return draws.random_(-(2**63), None, generator=generator).view(torch.int32)[:count]
