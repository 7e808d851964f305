"""Is a printed probability what its name says? Recommended links against hidden edges.

    python -m benchmarks.probabilities                                  # Cora and yeast
    python -m benchmarks.probabilities --graphs facebook-pages --plain --seeds 0

A tenth of the edges is hidden, and a run with the defaults gets the rest. Every node is then
recommended ten links, as `mgae recommend --all` prints them. A bin has the links with about the
same printed probability: the mean of what is printed, and the share that are hidden edges.
"""

from __future__ import annotations

from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.hiddenruns import measured, parse
from benchmarks.worthgraphs import HiddenEdges
from mgae.evaluation.recommended import TOP
from mgae.serving import Predictor

BINS = (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
FEW = 100  # links; a bin with fewer says little


def measure(task: HiddenEdges, run: Path) -> dict[str, Any]:
    """Return for each bin and each rank what is printed and what is real."""
    predictor = Predictor.load(run)
    rows = pa.Table.from_batches(predictor.recommend_all(TOP))
    ends = (
        predictor.nodes.positions(rows[name].to_pylist()) for name in ("node_id", "recommended_id")
    )
    head, tail = ends
    low, high = task.hidden.sort(dim=0).values.numpy()
    is_hidden = np.isin(
        np.minimum(head, tail) * predictor.num_nodes + np.maximum(head, tail),
        low * predictor.num_nodes + high,
    )
    printed, rank = rows["probability"].to_numpy(), rows["rank"].to_numpy()
    bin_of = np.clip(np.searchsorted(BINS, printed, side="right") - 1, 0, len(BINS) - 2)
    bins = [_figures(printed[bin_of == b], is_hidden[bin_of == b]) for b in range(len(BINS) - 1)]
    ranks = [
        _figures(np.full(int((rank == r).sum()), precision), is_hidden[rank == r])
        for r, precision in enumerate(predictor.rank_precision, start=1)
    ]
    return {"bins": bins, "ranks": ranks, "largest gap": _largest_gap(bins)}


def _figures(printed: np.ndarray, is_hidden: np.ndarray) -> list[float]:
    """Return how many links there are, the mean printed figure and the share of hidden edges."""
    if not len(printed):
        return [0, 0.0, 0.0]
    return [len(printed), round(float(printed.mean()), 4), round(float(is_hidden.mean()), 4)]


def _largest_gap(bins: list[list[float]]) -> float:
    """Return the largest gap in points of a bin that is not small."""
    return max((100 * abs(real - said) for count, said, real in bins if count >= FEW), default=0.0)


def pooled(rows: list[list[list[float]]]) -> list[list[float]]:
    """Return the same over several seeds: [bin][count, printed, real]."""
    values = np.array(rows)
    count = values[:, :, 0].sum(axis=0)
    sums = (values[:, :, 1:] * values[:, :, :1]).sum(axis=0) / np.maximum(count, 1)[:, None]
    return np.column_stack([count, sums]).tolist()


def summary(cells: dict[str, dict[str, Any]]) -> list[str]:
    """Return for each graph a line per bin and per rank, all its seeds together."""
    lines = []
    for graph, keys in groupby(sorted(cells), key=lambda key: key.partition("/")[0]):
        some = [cells[key] for key in keys]
        gaps = ", ".join(f"{cell['largest gap']:.1f}" for cell in some)
        lines.append(f"{graph}: {len(some)} seeds; largest gap of a bin ≥ {FEW} links: {gaps}")
        bins, ranks = (pooled([cell[name] for cell in some]) for name in ("bins", "ranks"))
        names = [f"{low:g} to {high:g}" for low, high in pairwise(BINS)]
        lines += [_line(*row) for row in zip(names, bins, strict=True) if row[1][0]]
        lines += [_line(f"rank {rank}", row) for rank, row in enumerate(ranks, start=1)]
    return lines


def _line(name: str, figures: list[float]) -> str:
    count, said, real = figures
    return f"  {name:12} {count:7,.0f} links, printed {100 * said:5.1f}%, real {100 * real:5.1f}%"


def main() -> None:
    args = parse("probabilities", __doc__, "results/probabilities.json")
    print("\n".join(summary(measured(args, measure))))


if __name__ == "__main__":
    main()
