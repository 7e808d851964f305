"""How far a graph has gone from the one that a model was trained on, and when to train again."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from pydantic import TypeAdapter
from torch import Tensor

from mgae.core.errors import GraphError
from mgae.core.graph import MessageGraph
from mgae.core.negatives import NegativeSampler
from mgae.core.seeding import Generators
from mgae.data.ids import counted
from mgae.evaluation.metrics import Floats, auc
from mgae.serving.joining import Growth

# Rules of thumb: the share of edges or nodes that are newer than the weights, and the points of
# AUC, beyond what chance explains, by which new edges score worse than test edges did.
_MOST_NEW = 0.2
_MOST_LOST = 5.0
_FEWEST_EDGES = 20  # below that the AUC says nothing


@dataclass(frozen=True)
class Drift:
    """What has changed since training.

    Attributes:
        new_edges, new_nodes: since training, over all updates.
        trained_edges, trained_nodes: what was trained on.
        auc: of this update's edges between known nodes, scored before they were known, against
            random pairs, in percent; None if they are too few.
        error: its standard error.
        expected: the AUC of the training's test edges, or validation edges.
    """

    new_edges: int
    new_nodes: int
    trained_edges: int
    trained_nodes: int
    auc: float | None = None
    error: float | None = None
    expected: float | None = None

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Drift:
        """Return what was written to a file."""
        return _FORM.validate_python(content)

    @property
    def lost(self) -> float | None:
        """Return by how many points new edges score worse, less what chance explains."""
        if self.auc is None or self.error is None or self.expected is None:
            return None
        return self.expected - self.auc - 2 * self.error

    @property
    def reasons(self) -> list[str]:
        """Return why to train again; none if that can wait."""
        reasons = []
        for what, new, old in (
            ("edges", self.new_edges, self.trained_edges),
            ("nodes", self.new_nodes, self.trained_nodes),
        ):
            if new > _MOST_NEW * old:
                reasons.append(f"{new / max(1, old):.0%} more {what} than were trained on")
        if self.lost is not None and self.lost > _MOST_LOST:
            reasons.append(f"new edges score worse than test edges did by {self.lost:.1f} points")
        return reasons

    @property
    def text(self) -> str:
        """Return both in two sentences."""
        parts = [
            f"{counted(self.new_edges, 'edge')} and {counted(self.new_nodes, 'node')} are newer "
            f"than the weights ({_share(self.new_edges, self.trained_edges)} and "
            f"{_share(self.new_nodes, self.trained_nodes)} of what was trained on)"
        ]
        if self.auc is not None:
            usual = "" if self.expected is None else f", test edges {self.expected:.1f}"
            scored = f"AUC {self.auc:.1f} ± {self.error:.1f}{usual}"
            parts.append(f"before they were known, the last ones scored {scored}")
        later = f"at {_MOST_NEW:.0%} more edges or nodes, or {_MOST_LOST:.0f} points less"
        advice = f"now: {'; '.join(self.reasons)}" if self.reasons else later
        return f"{'; '.join(parts)}; train again {advice}"


def _share(new: int, old: int) -> str:
    """Return how large a part is, and never that something is nothing.

    >>> _share(80, 1000), _share(1, 9999), _share(0, 5)
    ('8.0%', 'under 0.1%', '0.0%')
    """
    share = new / max(1, old)
    return "under 0.1%" if 0 < share < 0.001 else f"{share:.1%}"


_FORM = TypeAdapter(Drift)


def surprise(
    scores_of: Callable[[Tensor], Floats], graph: MessageGraph, added: Tensor
) -> tuple[float, float] | None:
    """Return the AUC in percent, and its error, of edges that a model did not know.

    Args:
        scores_of: gives the scores [n] of pairs [2, n].
        graph: as the model knows it.
        added: new edges [2, n]; those of new nodes are left out.
    """
    known = added[:, (added < graph.num_nodes).all(dim=0)]
    if known.size(1) < _FEWEST_EDGES:
        return None
    generator = Generators(0).fresh("drift")
    try:
        others = NegativeSampler.of(graph).sample_distinct(known.size(1), generator)
    except GraphError:  # hardly any pair is no edge
        return None
    size = graph.num_nodes
    edges = torch.cat([known, known.flip(0)], dim=1)
    others = others[:, ~torch.isin(others[1] * size + others[0], edges[1] * size + edges[0])]
    if others.size(1) < _FEWEST_EDGES:
        return None
    value = auc(scores_of(known), scores_of(others))
    return 100 * value, 100 * _error(value, known.size(1), others.size(1))


def _error(value: float, positives: int, negatives: int) -> float:
    """Return the standard error of an AUC by Hanley and McNeil (1982)."""
    of_two, of_square = value / (2 - value), 2 * value**2 / (1 + value)
    variance = value * (1 - value)
    variance += (positives - 1) * (of_two - value**2) + (negatives - 1) * (of_square - value**2)
    return math.sqrt(max(0.0, variance) / (positives * negatives))


def drifted(
    growth: Growth,
    before: Drift | None,
    trained: tuple[int, int],
    measured: tuple[float, float] | None,
    expected: float | None,
) -> Drift:
    """Return the drift after one more update; ``trained`` are edges and nodes of the training."""
    edges, nodes = (0, 0) if before is None else (before.new_edges, before.new_nodes)
    value, error = (None, None) if measured is None else measured
    return Drift(edges + growth.edges, nodes + growth.nodes, *trained, value, error, expected)
