"""How long short commands take, the whole process: a list, and recommendations of a Cora run."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import mgae

COMMANDS = ("--help", "methods", "datasets", "settings")


def measure(repeats: int = 7) -> dict[str, float]:
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        config = mgae.RunConfig(train={"epochs": 1}, evaluation={"heuristics": ()})
        directory = str(mgae.run(config, out=run).directory)
        node = str(mgae.open_graph("cora").node_ids[0])
        figures = {command: _seconds([command], repeats) for command in COMMANDS}
        recommend = _seconds(["recommend", directory, "--node", node], repeats)
    torch_alone = _median([sys.executable, "-c", "import torch"], repeats)
    return {**figures, "recommend on Cora": recommend, "import torch alone": torch_alone}


def _seconds(arguments: list[str], repeats: int) -> float:
    return _median([sys.executable, "-m", "mgae", *arguments], repeats)


def _median(command: list[str], repeats: int) -> float:
    """Return the median time after a first one, which fills the caches."""
    seconds = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


if __name__ == "__main__":
    for name, value in measure().items():
        sys.stdout.write(f"{name}: {value:.2f} s\n")
