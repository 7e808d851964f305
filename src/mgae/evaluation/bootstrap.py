"""How sure figures and differences of figures are: a paired bootstrap over the test edges.

Every method is measured on the same draws of the same edges and negatives, so that the difference
of two methods is surer than either figure. Nothing is scored again: a draw weighs what each edge
has added.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from mgae.core.seeding import Generators
from mgae.evaluation.measured import Measured
from mgae.evaluation.metrics import Floats

DRAWS = 400
# Of more edges, negatives, users or nodes than this, so many random ones are drawn from.
MOST_UNITS = 5000
_AT_ONCE = 100  # draws that are in memory at once
_SHARE = 0.95
_PAIRWISE = ("auc", "ap", "mrr")

Weights = NDArray[np.float32]
Deviations = dict[str, Floats]  # by metric how far each draw is from the figure [DRAWS]


@dataclass(frozen=True)
class Difference:
    """One method's figure less another's, its 95% interval and its standard error, in points."""

    mean: float
    low: float
    high: float
    error: float


def deviations(measured: Measured) -> Deviations:
    """Return how far each draw moves each figure that has values or scores."""
    result = _of_values(measured.values)
    if measured.scores is None:
        return result
    names = [name for name in measured.figures if name in _PAIRWISE or name.startswith("hits@")]
    result |= _of_scores(names, *measured.scores)
    if measured.known is not None and "known_auc" in measured.figures:
        positive, negative = measured.scores
        result["known_auc"] = _of_scores(["auc"], positive, negative[measured.known])["auc"]
    return result


def interval(figure: float, moved: Floats, units: int) -> tuple[float, float]:
    """Return the 95% interval of a figure in percent from its draws.

    If no draw moves a figure of 0 or 100, the exact bound for ``units`` that all agree stands in.

    >>> [round(end, 1) for end in interval(100.0, np.zeros(400), 100)]
    [96.4, 100.0]
    """
    low, high = np.clip(figure + _quantiles(moved), 0, 100)
    if low == high and figure in (0.0, 100.0):
        # (1 - x)^n = 2.5%: so rare an event would have been missed so often.
        bound = 100 * (1 - ((1 - _SHARE) / 2) ** (1 / max(1, units)))
        return (0.0, bound) if figure == 0.0 else (100.0 - bound, 100.0)
    return _rounded(low), _rounded(high)


def difference(ours: tuple[float, Floats], other: tuple[float, Floats]) -> Difference:
    """Return the difference of two figures with their draws, which are the same ones."""
    mean, moved = ours[0] - other[0], ours[1] - other[1]
    low, high = mean + _quantiles(moved)
    return Difference(*map(_rounded, (mean, low, high, moved.std())))


def over_runs(runs: list[Difference], same_edges: bool) -> Difference:
    """Return the mean difference over several runs.

    If all runs share their test edges, the doubt about these stays as it is however many runs
    there are, and that of the training is added. If each has its own, the runs' spread has both;
    the mean of their own errors stands in where a few runs happen to agree.

    >>> over_runs([Difference(1, 0, 2, 0.5), Difference(3, 2, 4, 0.5)], same_edges=True).mean
    2.0
    """
    if len(runs) == 1:
        return runs[0]
    means = [run.mean for run in runs]
    within = float(np.mean([run.error**2 for run in runs]))
    between = float(np.var(means, ddof=1)) / len(runs)
    variance = within + between if same_edges else max(between, within / len(runs))
    mean, error = float(np.mean(means)), math.sqrt(variance)
    return Difference(mean, mean - 1.96 * error, mean + 1.96 * error, error)


def pair_figures(
    names: Iterable[str],
    positive: Floats,
    negative: Floats,
    positive_weights: Weights,
    negative_weights: Weights,
    share: float = 1.0,
) -> dict[str, Floats]:
    """Return metrics of edges [n] and negatives [m] that count so often: weights [n, B] and [m, B].

    ``share`` says which part of all negatives these are: of a tenth of them the second best stands
    for the twentieth. With all weights 1 they are those of `mgae.evaluation.metrics`, as fractions.

    >>> one = np.ones((2, 1), np.float32)
    >>> float(pair_figures(["auc"], np.array([0.9, 0.4]), np.array([0.4, 0.1]), one, one)["auc"][0])
    0.875
    """
    order, others = (np.argsort(-scores, kind="stable") for scores in (positive, negative))
    score = positive[order]
    # The edges of one score are one step; what is asked is how many of each kind reach it.
    last = np.flatnonzero(np.append(np.diff(score) != 0, True))
    sides = [
        np.searchsorted(-negative[others], -score[last], side=side) for side in ("left", "right")
    ]
    reached = np.cumsum(positive_weights[order], axis=0)[last]
    false = np.zeros((len(others) + 1, negative_weights.shape[1]), np.float32)
    np.cumsum(negative_weights[others], axis=0, out=false[1:])
    above, not_below = (false[side] for side in sides)
    here = np.diff(reached, axis=0, prepend=np.float32(0))

    def mean(values: NDArray[np.floating]) -> Floats:
        result: Floats = np.einsum("sb,sb->b", here, values, dtype=np.float64) / reached[-1]
        return result

    def of(name: str) -> Floats:
        if name == "auc":
            below: Floats = 1 - mean((above + not_below) / 2) / false[-1]
            return below
        if name == "ap":
            return mean(reached / np.maximum(reached + not_below, 1))
        if name == "mrr":
            return mean(1 / (1 + (above + not_below) / 2))
        k = max(1, round(share * int(name.partition("@")[2])))
        hits: Floats = (reached * (not_below < k)).max(axis=0) / reached[-1].astype(np.float64)
        return hits

    return {name: of(name) for name in names}


def _of_scores(names: list[str], positive: Floats, negative: Floats) -> Deviations:
    """Return deviations of metrics that compare edges with negatives; both are drawn."""
    if not names or not (len(positive) and len(negative)):
        return {}
    edges, others = _some(len(positive), "edges"), _some(len(negative), "negatives")
    scale, share = math.sqrt(len(edges) / len(positive)), len(others) / len(negative)
    positive, negative = positive[edges], negative[others]
    edge_weights = _weights(len(edges), "edges")
    other_weights = _weights(len(others), "negatives")

    def figures(of_edges: Weights, of_others: Weights) -> dict[str, Floats]:
        return pair_figures(names, positive, negative, of_edges, of_others, share)

    base = figures(np.ones((len(edges), 1), np.float32), np.ones((len(others), 1), np.float32))
    starts = range(0, DRAWS, _AT_ONCE)
    some = (slice(start, start + _AT_ONCE) for start in starts)
    parts = [figures(edge_weights[:, draws], other_weights[:, draws]) for draws in some]
    return {
        name: 100 * scale * (np.concatenate([part[name] for part in parts]) - base[name])
        for name in names
    }


def _of_values(values: dict[str, Floats]) -> Deviations:
    """Return deviations of metrics that are means over units."""
    result: Deviations = {}
    for count in {len(one) for one in values.values()} - {0}:
        names = [name for name, one in values.items() if len(one) == count]
        chosen = _some(count, "units")
        table = np.stack([values[name][chosen] for name in names], axis=1)
        scale = math.sqrt(len(chosen) / count) / len(chosen)
        moved = scale * ((table - table.mean(axis=0)).T @ _weights(len(chosen), "units"))
        result |= dict(zip(names, moved, strict=True))
    return result


def _some(count: int, what: str) -> NDArray[np.int64]:
    """Return the indices of at most ``MOST_UNITS``, the same ones for every method."""
    if count <= MOST_UNITS:
        return np.arange(count)
    order = torch.randperm(count, generator=Generators(0).fresh(f"bootstrap sample of {what}"))
    sample: NDArray[np.int64] = np.sort(order[:MOST_UNITS].numpy())
    return sample


@lru_cache(maxsize=4)
def _weights(count: int, what: str) -> Weights:
    """Return how often each unit is drawn, the same for every method: [count, DRAWS]."""
    generator = Generators(0).fresh(f"bootstrap of {what}")
    drawn = torch.randint(count, (count, DRAWS), generator=generator)
    keys = (drawn * DRAWS + torch.arange(DRAWS)).flatten()
    counts = torch.bincount(keys, minlength=count * DRAWS).view(count, DRAWS)
    weights: Weights = counts.numpy().astype(np.float32)
    return weights


def _rounded(points: float) -> float:
    """Return a percentage without the digits that differ from one processor to the next."""
    return round(float(points), 6)


def _quantiles(moved: Floats) -> Floats:
    return np.quantile(moved, [(1 - _SHARE) / 2, (1 + _SHARE) / 2])
