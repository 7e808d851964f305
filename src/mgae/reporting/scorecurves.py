"""Compute curves and histograms of the scores of edges and other pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import precision_recall_curve, roc_curve

from mgae.evaluation.metrics import Floats
from mgae.serving.maps import spread

_POINTS = 300
_BINS = 36
_SHOWN_QUANTILES = (0.002, 0.998)


@dataclass(frozen=True, eq=False)
class Curve:
    """Points of a line, [n] each."""

    x: Floats
    y: Floats


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of held-out edges [n] and of pairs that are none [m]."""

    positive: Floats
    negative: Floats

    @property
    def labels(self) -> Floats:
        """Return 1 for an edge, 0 for none: [n + m]."""
        return np.concatenate([np.ones(self.positive.size), np.zeros(self.negative.size)])

    @property
    def scores(self) -> Floats:
        """Return the scores of edges, then of the others: [n + m]."""
        return np.concatenate([self.positive, self.negative])


def roc(scored: Scored) -> Curve:
    """Return false positive rate and true positive rate."""
    false_rate, true_rate, _ = roc_curve(scored.labels, scored.scores)
    return _thin(false_rate, true_rate)


def precision_recall(scored: Scored) -> Curve:
    """Return recall and precision."""
    precision, recall, _ = precision_recall_curve(scored.labels, scored.scores)
    return _thin(recall[::-1], precision[::-1])


def reliability(probability: Floats, labels: Floats, bins: int = 10) -> Curve:
    """Return the mean probability and the share of edges in about equally filled bins.

    Equal probabilities stay together, however many they are.

    >>> curve = reliability(np.array([0.1, 0.3, 0.7, 0.9]), np.array([0, 0, 1, 1]), bins=2)
    >>> curve.x.tolist(), curve.y.tolist()
    ([0.2, 0.8], [0.0, 1.0])
    """
    borders = np.unique(np.quantile(probability, np.arange(1, bins) / bins, method="lower"))
    bin_of = np.searchsorted(borders, probability, side="left")
    parts = [np.flatnonzero(bin_of == index) for index in np.unique(bin_of)]
    means = [[values[part].mean() for part in parts] for values in (probability, labels)]
    return Curve(*map(np.array, means))


def histogram(scored: Scored) -> tuple[Floats, Floats, Floats]:
    """Return borders [b + 1], and between them the share of edges [b] and of other pairs [b].

    The few scores that lie far outside count in the outermost bins.
    """
    low, high = np.quantile(scored.scores, _SHOWN_QUANTILES)
    borders = np.linspace(low, high if high > low else low + 1, _BINS + 1)
    shares = [
        np.histogram(np.clip(part, borders[0], borders[-1]), borders)[0] / max(part.size, 1)
        for part in (scored.positive, scored.negative)
    ]
    return borders, shares[0], shares[1]


def _thin(x: Floats, y: Floats) -> Curve:
    """Keep at most so many points as a screen can show; the first and the last stay."""
    kept = spread(len(x), _POINTS)
    return Curve(x[kept], y[kept])
