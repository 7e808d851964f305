"""How much memory something took, measured."""

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
    """The most resident memory above what the process held at the start.

    Linux keeps the high-water mark itself and is asked for it. Elsewhere a thread looks every
    5 ms, and a shorter peak may be missed. Before the start, memory that was freed goes back to
    the system where that can be asked for: otherwise it would be taken again without being seen.

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
        """The highest so far, less the start."""
        return self._highest - self._start

    def __enter__(self) -> Self:
        gc.collect(1)  # the young ones: what a run before this one left, at little cost
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
    """Return free memory to the system, where the C library knows how (glibc)."""
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        library.malloc_trim(0)


def _reset_high_water() -> bool:
    """Set the kernel's mark back to what is resident now, if it lets us."""
    try:
        _RESET.write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def _high_water() -> int:
    """The kernel's mark, in bytes."""
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
