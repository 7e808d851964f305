"""Whether the features of a graph say anything about its edges that the edges do not say."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mgae.core.evidence import Evidence, FeatureViews
from mgae.core.evidence.cosines import SmoothedFeatures
from mgae.core.evidence.folds import hideable, uniform_pairs
from mgae.core.evidence.sketches import Floats
from mgae.core.graph import MessageGraph

_FOLDS = 8  # of the edges, as the evidence model has them
_PARTS = 5  # of the cross-validation
_MOST_EDGES, _MOST_OF_LARGE = 1500, 400
_LARGE = 200_000  # edges, from which on a walk is dear
_FEWEST_EDGES = 30  # below that nothing is known
_CLIP = 5.0


@dataclass(frozen=True)
class FeatureSignal:
    """How much better hidden edges are separated from other pairs with the features than without.

    Attributes:
        gain: the mean logarithmic loss without the features less that with them, on pairs that
            were not learned from.
        error: its standard error.
        edges: how many hidden edges there were.
    """

    gain: float
    error: float
    edges: int

    @property
    def helps(self) -> bool:
        """Whether there is a gain beyond chance; too few edges leave it open, so that it helps."""
        return self.edges < _FEWEST_EDGES or self.gain > self.error

    @classmethod
    def of(cls, graph: MessageGraph, generator: torch.Generator) -> FeatureSignal:
        """Hide some edges of a graph with features, and learn from the others' evidence."""
        edges, others = _hidden_evidence(graph, generator)
        if len(edges) < _FEWEST_EDGES or len(others) < _FEWEST_EDGES:
            return cls(0.0, 0.0, min(len(edges), len(others)))
        x, y = _standardized(np.concatenate([edges, others])), np.arange(len(edges) + len(others))
        y = (y < len(edges)).astype(np.int64)
        part = torch.randperm(len(y), generator=generator).numpy() % _PARTS
        structure = x[:, : -len(SmoothedFeatures.names)]
        gain = _losses(structure, y, part) - _losses(x, y, part)
        return cls(float(gain.mean()), float(gain.std()) / math.sqrt(len(gain)), len(edges))


def _hidden_evidence(graph: MessageGraph, generator: torch.Generator) -> tuple[Floats, Floats]:
    """Return the evidence of hidden edges [n, F] and of about as many other pairs [m, F].

    Fold after fold is hidden until there are enough edges: in a large graph one will do.
    """
    assert graph.x is not None
    views = FeatureViews.of(graph.x)
    most = _MOST_EDGES if graph.pairs.size(1) < _LARGE else _MOST_OF_LARGE
    number = torch.randperm(graph.pairs.size(1), generator=generator) % _FOLDS
    edges: list[Floats] = []
    others: list[Floats] = []
    for fold in range(_FOLDS):
        missing = most - sum(map(len, edges))
        if missing <= 0:
            break
        hidden = hideable(graph, number == fold)
        evidence = Evidence(graph.only(~hidden[graph.pair_of_edge]), views)
        chosen = _some(graph.pairs[:, hidden], missing, generator)
        drawn = uniform_pairs(graph, max(1, chosen.size(1)), generator)
        edges.append(evidence.pairs(chosen.numpy()))
        others.append(evidence.pairs(drawn.numpy()))
    known = [np.concatenate(values) for values in (edges, others)]
    return known[0], known[1][~np.isnan(known[1]).any(axis=1)]


def _some(pairs: Tensor, most: int, generator: torch.Generator) -> Tensor:
    return pairs[:, torch.randperm(pairs.size(1), generator=generator)[:most]]


def _standardized(x: Floats) -> Floats:
    deviation = x.std(axis=0)
    scaled: Floats = (x - x.mean(axis=0)) / np.where(deviation < 1e-4, np.inf, deviation)
    return scaled.clip(-_CLIP, _CLIP)


def _losses(x: Floats, y: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Return the logarithmic loss [n] of each row by a logistic regression on the other parts."""
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - slow to load
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - slow to load

    losses = np.empty(len(y))
    for own in (part == number for number in range(_PARTS)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LogisticRegression(max_iter=300).fit(x[~own], y[~own])
        chance = model.predict_proba(x[own])[np.arange(int(own.sum())), y[own]]
        losses[own] = -np.log(np.maximum(chance, 1e-12))
    return losses
