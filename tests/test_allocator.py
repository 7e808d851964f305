"""Freed memory, in a process of its own: what is asked of the C library cannot be taken back."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mgae.allocator import _glibc

_CODE = """
import resource, torch
from mgae.allocator import give_back, keep_freed
from mgae.peakmemory import PeakMemory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        torch.ones(2**24)  # 64 MiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

if {kept}:
    keep_freed()
faults()
print(faults())
with PeakMemory() as memory:
    torch.ones(2**24)
assert memory.peak_bytes > 0.9 * 2**26, "what was kept is taken again unseen"
"""


@pytest.mark.skipif(_glibc() is None, reason="the C library is not glibc")
def test_what_is_kept_is_not_cleared_again() -> None:
    plain, kept = (
        int(
            subprocess.run(
                [sys.executable, "-c", _CODE.format(kept=kept)],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )
        for kept in (False, True)
    )
    assert kept < plain / 100
