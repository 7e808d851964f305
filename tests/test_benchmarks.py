"""The benchmarks fit the package, and an epoch is short enough to read."""

from __future__ import annotations

import importlib
from pathlib import Path

import benchmarks
from benchmarks import trace
from benchmarks.growth import exponent

# Of these 17 and 52, ranks and devices have taken 3 and 18.
MOST_FILES, MOST_CHANGES = 17, 55


def test_every_benchmark_can_be_imported() -> None:
    folder = Path(benchmarks.__file__ or "").parent
    names = [path.stem for path in folder.glob("*.py") if path.stem != "__init__"]
    assert len(names) > 10
    for name in names:
        importlib.import_module(f"benchmarks.{name}")


def test_an_epoch_passes_through_few_files_and_seldom_changes() -> None:
    files = trace.trace_epoch()
    assert {"core/methods/masked.py", "core/masks.py", "core/losses.py"} <= set(files)
    figures = trace.measure(files)
    assert figures["files"] <= MOST_FILES, sorted(set(files))
    assert figures["changes"] <= MOST_CHANGES, files


def test_a_change_is_a_call_into_another_file() -> None:
    assert trace.measure(["a", "b", "a", "c"]) == {"files": 3, "changes": 3}
    assert trace.traced(lambda: None) == []


def test_the_exponent_of_growth_by_hand() -> None:
    points = [{"edges": 10.0, "s": 2.0}, {"edges": 100.0, "s": 20.0}, {"edges": 1000.0, "s": 200.0}]
    assert exponent(points, "s") == 1.0
