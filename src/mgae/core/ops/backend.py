"""Which devices compute with our own kernels, and how a step gets its tensors there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
from torch import Tensor

# Our kernels are fast because of what a CPU is slow at: filling memory, comparing to booleans,
# building a transpose. CUDA and MPS have good kernels for that.
OWN_KERNELS = frozenset({"cpu"})
# Where torch multiplies compressed sparse rows; elsewhere products are gathered and added up.
SPARSE_KERNELS = frozenset({"cpu", "cuda"})


@contextmanager
def plain_operations() -> Iterator[None]:
    """Compute with torch's own dense operations meanwhile, as a program that is exported must.

    Not for several threads: it holds for all of them.
    """
    global OWN_KERNELS, SPARSE_KERNELS  # noqa: PLW0603
    before = OWN_KERNELS, SPARSE_KERNELS
    OWN_KERNELS = SPARSE_KERNELS = frozenset()
    try:
        yield
    finally:
        OWN_KERNELS, SPARSE_KERNELS = before


@cache
def multiplies_bfloat16(device: str) -> bool:
    """Return whether a device type has bfloat16 instructions; without them it is much slower."""
    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device != "cpu":
        return False
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def bring(values: Tensor, device: torch.device) -> Tensor:
    """Return what the CPU drew or gathered for a step where the step computes.

    Nothing else moves in a step. Chance is drawn on the CPU, the same on every device; by pinned
    memory the copy to CUDA does not wait for what CUDA is at.
    """
    if values.device == device:
        return values
    if device.type == "cuda" and values.device.type == "cpu":
        values = values.pin_memory()
    return values.to(device, non_blocking=True)
