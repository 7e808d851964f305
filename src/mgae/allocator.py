"""What the C library does with freed memory; with others than glibc nothing can be asked for."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

# Parameters of glibc's mallopt.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
_LARGEST = 2**31 - 1


def keep_freed() -> None:
    """Keep freed memory for what comes next, up to 2 GB of it.

    A training step frees what the next one asks for again. By default large blocks go back to the
    system in between, and each page is cleared when it is touched anew: where all nodes' vectors
    take more than 32 MB that can be half of a step's time.
    """
    if library := _glibc():
        library.mallopt(_MMAP_MAX, 0)
        library.mallopt(_TRIM_THRESHOLD, _LARGEST)


def give_back() -> None:
    """Return freed memory to the system."""
    if library := _glibc():
        library.malloc_trim(0)


def _glibc() -> Any:
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    return library if hasattr(library, "malloc_trim") else None
