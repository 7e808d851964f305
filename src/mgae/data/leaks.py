"""Find columns of features that give the label away."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from mgae.data.features import Preparation

_FEWEST_LABELED = 30
_MOST_OF_ONE = 0.9  # where nearly all have one label, every column tells it
_LEAKING = 0.98
_MOST_COLUMNS = 200  # to look at
_FOLDS = 3


def leaking_columns(preparation: Preparation, x: Tensor, y: Tensor) -> list[str]:
    """Return notes on columns that give the label away: a small tree on one predicts it."""
    labeled = (y >= 0).numpy()
    classes, counts = np.unique(y.numpy()[labeled], return_counts=True)
    most = counts.max(initial=0)
    if labeled.sum() < _FEWEST_LABELED or not _FOLDS <= most <= _MOST_OF_ONE * labeled.sum():
        return []
    notes, start = [], 0
    for encoder in preparation.encoders[:_MOST_COLUMNS]:
        end = start + len(encoder.names)
        block = x.numpy()[labeled, start:end]
        start = end
        share = _predicted(block, y.numpy()[labeled], len(classes)) if block.shape[1] else 0.0
        if share >= _LEAKING:
            notes.append(
                f"column {encoder.name!r} alone tells the label of {share:.0%} of the nodes: if it "
                f"was made from the label, leave it out by features.columns.{encoder.name}=drop"
            )
    return notes


def _predicted(block: np.ndarray, y: np.ndarray, classes: int) -> float:
    """Return the share of labels that a tree predicts, by cross-validation."""
    from sklearn.model_selection import cross_val_score  # noqa: PLC0415 - slow to load
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415

    tree = DecisionTreeClassifier(max_leaf_nodes=2 * classes, random_state=0)
    return float(cross_val_score(tree, block, y, cv=_FOLDS).mean())
