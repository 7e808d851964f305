"""Metrics of scores, as fractions in [0, 1]."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mgae.core.errors import GraphError

Floats = NDArray[np.float64]


def auc(positive: ArrayLike, negative: ArrayLike) -> float:
    """Return the share of (positive, negative) pairs in the right order, a tie counting half.

    >>> auc([0.9, 0.4], [0.4, 0.1])
    0.875
    """
    positive, ordered = _floats(positive), np.sort(_floats(negative))
    below = np.searchsorted(ordered, positive, side="left")
    not_above = np.searchsorted(ordered, positive, side="right")
    return float((below + not_above).mean() / (2 * ordered.size))


def average_precision(positive: ArrayLike, negative: ArrayLike) -> float:
    """Return the precision at each positive, averaged."""
    from sklearn.metrics import average_precision_score  # noqa: PLC0415 - slow to load

    labels, scores = _labeled(positive, negative)
    return float(average_precision_score(labels, scores))


def hits_at(k: int, positive: ArrayLike, negative: ArrayLike) -> float:
    """Return OGB's Hits@K: the share of positives strictly above the K-th best negative.

    With fewer than K negatives every positive hits, as OGB has it.

    >>> hits_at(2, [0.9, 0.5, 0.3], [0.6, 0.4, 0.1])
    0.6666666666666666
    """
    positive, negative = _floats(positive), _floats(negative)
    if negative.size < k:
        return 1.0
    threshold = np.partition(negative, -k)[-k]
    return float(np.mean(positive > threshold))


def mean_reciprocal_rank(positive: ArrayLike, negative: ArrayLike) -> float:
    """Return the mean of 1 / rank of each positive [n] among its negatives [n, m] or [m] for all.

    A tie takes the mean of the best and the worst rank, as OGB's MRR does.

    >>> mean_reciprocal_rank([0.9, 0.5], [0.6, 0.5])
    0.7
    """
    return float(np.mean(1 / ranks(positive, negative)))


def ranks(positive: ArrayLike, negative: ArrayLike) -> Floats:
    """Return the rank of each positive [n] among its negatives [n, m] or [m] for all, from 1.

    A tie takes the mean of the best and the worst rank.
    """
    positive, negative = _floats(positive), _floats(negative)
    if negative.ndim == 1:
        ordered = np.sort(negative)
        above = ordered.size - np.searchsorted(ordered, positive, side="right")
        not_below = ordered.size - np.searchsorted(ordered, positive, side="left")
    else:
        above = (negative > positive[:, None]).sum(axis=1)
        not_below = (negative >= positive[:, None]).sum(axis=1)
    return _floats(1 + (above + not_below) / 2)


def classification(y: ArrayLike, predicted: ArrayLike) -> dict[str, float]:
    """Return accuracy, macro F1 and micro F1 of hard labels."""
    from sklearn.metrics import accuracy_score, f1_score  # noqa: PLC0415 - slow to load

    return {
        "accuracy": float(accuracy_score(y, predicted)),
        "macro_f1": float(f1_score(y, predicted, average="macro")),
        "micro_f1": float(f1_score(y, predicted, average="micro")),
    }


def multilabel_auc(y: ArrayLike, scores: ArrayLike) -> float:
    """Return the mean ROC-AUC over the labels [n, L]; labels with one class are left out."""
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415 - slow to load

    y, scores = np.asarray(y), _floats(scores)
    both = (y.min(axis=0) == 0) & (y.max(axis=0) == 1)
    if not both.any():
        raise GraphError("no label is both given and withheld among the test nodes")
    return float(
        np.mean([roc_auc_score(y[:, label], scores[:, label]) for label in np.flatnonzero(both)])
    )


def macro_f1_influence(y: ArrayLike, predicted: ArrayLike) -> Floats:
    """Return by how much each node [n] moves macro F1: n times its derivative by the weight.

    The mean is zero. F1 of a class is 2 TP / (predicted + true), and each node is in a few counts.
    """
    y, predicted = np.asarray(y), np.asarray(predicted)
    classes = np.union1d(y, predicted)
    influence = np.zeros(len(y))
    for one in classes:
        true, called = y == one, predicted == one
        count = int(true.sum() + called.sum())
        f1 = 2 * int((true & called).sum()) / count
        influence += (2 * (true & called) - f1 * (true.astype(float) + called)) / count
    return _floats(influence * len(y) / len(classes))


def multilabel_auc_influence(y: ArrayLike, scores: ArrayLike) -> Floats:
    """Return by how much each node [n] moves `multilabel_auc`; the mean is zero."""
    y, scores = np.asarray(y), _floats(scores)
    both = np.flatnonzero((y.min(axis=0) == 0) & (y.max(axis=0) == 1))
    influence = np.zeros(len(y))
    for label in both:
        own = y[:, label] == 1
        positive, negative = scores[own, label], scores[~own, label]
        whole = auc(positive, negative)
        influence[own] += (_share_below(negative, positive) - whole) / own.mean()
        influence[~own] += (1 - _share_below(positive, negative) - whole) / (~own).mean()
    return _floats(influence / max(1, len(both)))


def _share_below(others: Floats, values: Floats) -> Floats:
    """Return for each value [n] the share of ``others`` below it, ties counting half."""
    ordered = np.sort(others)
    sides = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    return _floats(sum(sides) / (2 * ordered.size))


def _labeled(positive: ArrayLike, negative: ArrayLike) -> tuple[Floats, Floats]:
    positive, negative = _floats(positive), _floats(negative)
    labels = np.concatenate([np.ones(positive.size), np.zeros(negative.size)])
    return labels, np.concatenate([positive, negative])


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)
