"""What a table of customers is worth to the default method: noise in it, or a telling column.

python -m benchmarks.customers [SEEDS]    # 5 seeds; some minutes each
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tests.runs.customers import customers

from mgae.runs.config import RunConfig
from mgae.runs.pipeline import run

_USES = ("auto", "always")


def measure(seed: int) -> dict[str, float]:
    """Return the test AUC without features, with a table of noise, and with a telling column."""
    with tempfile.TemporaryDirectory() as name:
        folder, figures = Path(name), {}
        for signal in (False, True):
            given = customers(folder, seed, signal).model_dump(exclude_none=True)
            if not signal:
                figures["without"] = _auc(folder, seed, {})
            for use in _USES:
                case = f"{'signal' if signal else 'noise'}, {use}"
                figures[case] = _auc(folder, seed, given, {"use": use})
    return figures


def _auc(
    folder: Path, seed: int, given: Mapping[str, Any], features: Mapping[str, str] | None = None
) -> float:
    """Return the AUC of the defaults; what is served afterwards is not trained."""
    evaluation = {"heuristics": (), "hard_negatives": 0}
    config = RunConfig(
        graph=str(folder / "edges.csv"), seed=seed, input=given, features=features or {},
        train={"final_fit": False}, evaluation=evaluation,
    )  # fmt: skip
    return run(config).test["auc"].mean


def main(seeds: int = 5) -> None:
    figures = []
    for seed in range(seeds):
        figures.append(measure(seed))
        print(seed, {case: round(value, 2) for case, value in figures[-1].items()}, flush=True)
    for case in figures[0]:
        gains = np.array([one[case] - one["without"] for one in figures])
        mean = np.mean([one[case] for one in figures])
        print(f"{case}: AUC {mean:.2f}; above none: {gains.mean():+.2f} ± {gains.std(ddof=1):.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
