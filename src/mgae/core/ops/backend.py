"""Which operations compute: our own kernels on a CPU, torch's own elsewhere."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor


def has_kernels(tensor: Tensor) -> bool:
    """Whether ours are used for this tensor.

    They are fast by what a CPU is slow at: filling memory, comparing to booleans, building a
    transpose. CUDA and MPS have good kernels for that, and not all that ours are made of.
    """
    return tensor.device.type == "cpu"


@cache
def multiplies_bfloat16(device: str) -> bool:
    """Whether a kind of device has instructions for it; what has none is much slower that way."""
    if device != "cpu":
        return True
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
