"""(c) Peak memory of a training above the import baseline, beside what was estimated."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import psutil

from mgae.core.errors import GraphError
from mgae.data import load_graph

_CODE = "from benchmarks.memory import train; train({name!r}, {steps})"


def train(name: str, steps: int) -> None:
    """Take some steps and print the peak and the estimate, in MB."""
    from benchmarks.steps import OurTraining  # noqa: PLC0415 - the baseline is what is imported
    from mgae.data import MessageGraph  # noqa: PLC0415
    from mgae.runs.memory import training_bytes  # noqa: PLC0415
    from mgae.runs.presets import paper_config  # noqa: PLC0415

    process, over = psutil.Process(), threading.Event()
    before = peak = process.memory_info().rss

    def watch() -> None:
        nonlocal peak
        while not over.wait(0.002):
            peak = max(peak, process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    message = MessageGraph.of(load_graph(name))
    config = paper_config(graph=name, protocol="paper")
    training = OurTraining(config, message)
    for _ in range(steps):
        training.step()
    over.set()
    watcher.join()
    print(
        json.dumps(
            {
                "peak_mb": (peak - before) / 1e6,
                "estimated_mb": training_bytes(config, message) / 1e6,
            }
        )
    )


def measure(name: str, steps: int = 3) -> dict[str, float]:
    """In a process of its own."""
    command = [sys.executable, "-c", _CODE.format(name=name, steps=steps)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def measure_all() -> dict[str, dict[str, float]]:
    figures = {}
    for name in ("cora", "citeseer", "pubmed", "ogbl-ddi"):
        try:
            load_graph(name)
        except GraphError as error:
            print(f"  {name}: left out, {error}")
            continue
        figures[name] = measure(name)
    return figures
