"""``make bench``: run every benchmark, print what it measured and write it as ``bench.json``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks import convergence, growth, loading, maskratio, memory, startup, steps

Benchmarks = Mapping[str, Callable[[], dict[str, Any]]]

BENCHMARKS: Benchmarks = {
    "a training step, ours against plain PyG and the matrix products": steps.measure_all,
    "the whole time to the best validation epoch": convergence.measure_all,
    "peak memory of a training above the import baseline": memory.measure_all,
    "growth with the graph": growth.measure_all,
    "the encoder at several mask ratios": maskratio.measure_all,
    "a CSV of ten million edges with string ids": loading.measure,
    "seconds of short commands": startup.measure,
}


def main() -> None:
    figures = print_figures(BENCHMARKS)
    Path("bench.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def print_figures(benchmarks: Benchmarks) -> dict[str, Any]:
    """Run them one after the other, and print each as soon as it is done."""
    figures = {}
    for title, measure in benchmarks.items():
        print(title, flush=True)
        figures[title] = measure()
        for line in _lines(figures[title]):
            print(f"  {line}", flush=True)
    return figures


def _lines(figures: dict[str, Any]) -> list[str]:
    if any(isinstance(value, dict) for value in figures.values()):
        return [f"{name}: {_row(value)}" for name, value in figures.items()]
    return [_row(figures)]


def _row(figures: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in figures.items())


if __name__ == "__main__":
    main()
