"""Loading a CSV file of ten million edges between nodes with string ids: seconds and memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
from pyarrow import csv

from mgae.data.opening import read_graph

NUM_EDGES, NUM_NODES = 10_000_000, 1_000_000


def write_edges(path: Path, num_edges: int, num_nodes: int) -> None:
    """Random pairs, as ``user-0000017,user-0421003``."""
    generator = np.random.default_rng(0)
    names = pa.array([f"user-{node:07d}" for node in range(num_nodes)])
    columns = [names.take(pa.array(generator.integers(num_nodes, size=num_edges))) for _ in "uv"]
    plain = csv.WriteOptions(quoting_style="none")
    csv.write_csv(pa.table(columns, ["source", "target"]), path, plain)


def load(path: Path) -> dict[str, float]:
    """Seconds on the clock and of all cores, and gigabytes at the peak above what imports take."""
    process, loaded = psutil.Process(), threading.Event()
    before = peak = process.memory_info().rss

    def watch() -> None:
        nonlocal peak
        while not loaded.wait(0.005):
            peak = max(peak, process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    start, started = time.perf_counter(), time.process_time()
    read_graph(path)
    seconds, of_cores = time.perf_counter() - start, time.process_time() - started
    loaded.set()
    watcher.join()
    # The cores' seconds tell a slow program from a busy machine.
    return {"seconds": seconds, "cpu_seconds": of_cores, "peak_gb": (peak - before) / 1e9}


def measure(num_edges: int = NUM_EDGES, num_nodes: int = NUM_NODES) -> dict[str, float]:
    """Load in a process of its own: this one has memory to reuse."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.csv"
        write_edges(path, num_edges, num_nodes)
        child = [sys.executable, "-m", "benchmarks.loading", str(path)]
        printed = subprocess.run(child, check=True, capture_output=True, text=True).stdout
    result: dict[str, float] = json.loads(printed)
    return result


if __name__ == "__main__":
    print(json.dumps(load(Path(sys.argv[1])) if sys.argv[1:] else measure()))
