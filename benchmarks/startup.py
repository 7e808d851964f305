"""How long ``mgae --help`` takes, the whole process."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time


def measure(repeats: int = 7) -> dict[str, float]:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "mgae", "--help"], check=True, capture_output=True)
        seconds.append(time.perf_counter() - start)
    return {"help_seconds": statistics.median(seconds)}
