"""Does the last fit, on all edges, find hidden edges better than the model it replaces?

    python -m benchmarks.finalfit                                  # Cora and yeast, five seeds
    python -m benchmarks.finalfit --graphs facebook-pages --plain --seeds 0

A tenth of the edges is hidden. `mgae train` gets the rest: it trains on 85% of that, and then once
more on all of it. Both weights, model.safetensors and final.safetensors, are given the same edges
as input, and rank the same nodes. Figures in percent: recall@10, the share of hidden edges among
the ten best of either end, and the mean over both ends.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hiddenruns import measured, parse
from benchmarks.worthfigures import TOP, Scores, recalls
from benchmarks.worthgraphs import HiddenEdges
from mgae.core.graph import MessageGraph
from mgae.runs.rundirectory import RunDirectory
from mgae.serving import Predictor

EITHER, BOTH = "either", "both"


def measure(task: HiddenEdges, run: Path) -> dict[str, Any]:
    """Return recall@10 by the weights before the last fit, and by those after it."""
    after = Predictor.load(run)
    before = Predictor.load(run)
    RunDirectory.open(run).load_weights(before.method)
    cell: dict[str, Any] = {"hidden": task.hidden.size(1), "ranked": task.ranked.size(1)}
    for name, predictor in (("before", before), ("after", after)):
        shares = _recalls(predictor, task)
        cell |= {f"{name}, {end}": 100 * share for end, share in shares.items()}
    return cell


def _recalls(predictor: Predictor, task: HiddenEdges) -> dict[str, float]:
    message = MessageGraph.of(task.graph)
    shares = recalls(TOP, Scores(predictor).tails, message, task.ranked, task.side)
    return dict(zip((EITHER, BOTH), shares, strict=True))


def summary(cells: dict[str, dict[str, Any]]) -> list[str]:
    """Return for each graph both means and the mean of the paired gains."""
    lines = []
    for graph, keys in groupby(sorted(cells), key=lambda key: key.partition("/")[0]):
        some = [cells[key] for key in keys]
        for end in (EITHER, BOTH):
            before, after = (
                np.array([cell[f"{name}, {end}"] for cell in some]) for name in ("before", "after")
            )
            gain = after - before
            error = gain.std(ddof=1) / len(gain) ** 0.5 if len(gain) > 1 else float("nan")
            lines.append(
                f"{graph}: recall@{TOP} {end} {before.mean():.2f} before, {after.mean():.2f} "
                f"after; gain {gain.mean():+.2f} ± {error:.2f} (standard error), better on "
                f"{int((gain > 0).sum())} of {len(gain)} seeds"
            )
    return lines


def main() -> None:
    args = parse("finalfit", __doc__, "results/finalfit.json")
    print("\n".join(summary(measured(args, measure))))


if __name__ == "__main__":
    main()
