"""Which devices compute with our own kernels; torch's operations serve the others."""

from __future__ import annotations

from functools import cache

import torch

# Our kernels are fast because of what a CPU is slow at: filling memory, comparing to booleans,
# building a transpose. CUDA and MPS have good kernels for that.
OWN_KERNELS = frozenset({"cpu"})


@cache
def multiplies_bfloat16(device: str) -> bool:
    """Return whether a device type has bfloat16 instructions; without them it is much slower."""
    if device != "cpu":
        return True
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
