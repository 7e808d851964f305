"""Medians of calls that alternate in one process, since the machine is never the same twice."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def alternating(
    calls: dict[str, Callable[[], object]], repeats: int, warm_up: int = 1
) -> dict[str, float]:
    """Median seconds of each call; round by round, each of them twice, of which the second counts.

    In a training a step follows one of its own kind. After another's it would find a cold cache,
    and its memory handed back to the system by what the other one freed.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for round_ in range(warm_up + repeats):
        for name, call in calls.items():
            call()
            start = time.perf_counter()
            call()
            if round_ >= warm_up:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}
