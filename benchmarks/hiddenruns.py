"""Runs with the defaults for a user's own graph, on a graph with a tenth of its edges hidden.

`benchmarks.finalfit` and `benchmarks.probabilities` measure on the same ones: a run is trained
once, and found again afterwards.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mgae
from benchmarks.worthgraphs import NAMES, WITH_FEATURES, HiddenEdges, Variant, open_inputs
from benchmarks.worthmethods import OURS, ROWS, configure
from mgae.data.atomic import write_json
from mgae.runs.environment import environment
from mgae.runs.rundirectory import RunDirectory

FOLDER = Path("build/hidden")


@dataclass(frozen=True)
class HiddenRun:
    """A graph and a seed."""

    variant: Variant
    seed: int

    @property
    def key(self) -> str:
        """What a file of figures calls it."""
        return f"{self.variant.key}/{self.seed}"

    def open(self, folder: Path) -> tuple[HiddenEdges, Path]:
        """Return what was hidden and the directory of the run, trained unless it is there."""
        task = open_inputs(self.variant, self.seed, folder / "inputs")
        path = folder / "runs" / self.key
        if not (path.exists() and RunDirectory.open(path).finished):
            config = configure(ROWS[OURS], self.variant.key, self.seed)
            alone = config.evaluation.model_dump() | {"heuristics": [], "hard_negatives": 0}
            if path.exists():
                mgae.resume(path)
            else:
                mgae.run(config.changed(evaluation=alone), task.graph, path)
        return task, path


Measure = Callable[[HiddenEdges, Path], dict[str, Any]]


def parse(prog: str, about: str | None, results: str) -> argparse.Namespace:
    """Read the command line of a benchmark on such runs."""
    first = (about or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{prog}", description=first)
    parser.add_argument(
        "--graphs", nargs="*", choices=NAMES, default=["cora", "yeast"], metavar="GRAPH"
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4], metavar="SEED")
    parser.add_argument("--plain", action="store_true", help="without features")
    parser.add_argument("--folder", type=Path, default=FOLDER, help=f"of runs; {FOLDER}")
    parser.add_argument("--out", type=Path, default=Path(results), help=f"default: {results}")
    return parser.parse_args()


def measured(args: argparse.Namespace, measure: Measure) -> dict[str, dict[str, Any]]:
    """Measure the runs that the file of figures lacks, write each at once, and return all."""
    path: Path = args.out
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"] if path.exists() else {}
    for name in args.graphs:
        variant = Variant(name, features=name in WITH_FEATURES and not args.plain)
        for run in (HiddenRun(variant, seed) for seed in args.seeds):
            if run.key in cells:
                continue
            cells[run.key] = measure(*run.open(args.folder))
            print(run.key, _line(cells[run.key]), flush=True)
            about = environment(sorted({int(key.partition("/")[2]) for key in cells}), [])
            kept = {key: about[key] for key in ("commit", "versions", "threads")}
            write_json(path, {"cells": cells, **kept})
    return cells


def _line(cell: dict[str, Any]) -> str:
    return ", ".join(f"{k} {v:.2f}" for k, v in cell.items() if isinstance(v, float))
