"""Measure how much memory a block of code takes."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from pathlib import Path
from typing import Self

import psutil

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_EVERY_SECONDS = 0.005


class PeakMemory:
    """The most resident memory above what the process had at the start.

    Linux keeps the high-water mark itself. Elsewhere a thread measures every 5 ms, and may miss a
    shorter peak. Before the start, freed memory is returned to the system if possible: otherwise
    it would be taken again without being counted.

    >>> with PeakMemory() as memory:
    ...     data = bytearray(b"x") * 2**26
    >>> memory.peak_bytes > 0.9 * 2**26
    True
    """

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self._start = self._highest = 0

    @property
    def peak_bytes(self) -> int:
        """Return the highest so far, less the start."""
        return self._highest - self._start

    def __enter__(self) -> Self:
        gc.collect(1)  # young objects: what an earlier run has left, at little cost
        _give_back()
        self._start = self._highest = self._resident()
        if not _reset_high_water():
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is None:
            self._highest = max(self._highest, _high_water())
            return
        self._done.set()
        self._thread.join()
        self._highest = max(self._highest, self._resident())

    def _watch(self) -> None:
        while not self._done.wait(_EVERY_SECONDS):
            self._highest = max(self._highest, self._resident())

    def _resident(self) -> int:
        return int(self._process.memory_info().rss)


def _give_back() -> None:
    """Return free memory to the system, if the C library can (glibc)."""
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        library.malloc_trim(0)


def _reset_high_water() -> bool:
    """Reset the kernel's mark to what is resident now; return whether it is allowed."""
    try:
        _RESET.write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def _high_water() -> int:
    """Return the kernel's mark, in bytes."""
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
