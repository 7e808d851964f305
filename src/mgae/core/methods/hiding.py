"""A mask that is asked of a few edges at a time, so that its memory does not follow the graph."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mgae.core.errors import ConfigError
from mgae.core.graph import MessageGraph
from mgae.core.masks import DirectedMask, Mask, UndirectedMask
from mgae.core.negatives import NegativeSampler
from mgae.core.ops.permutation import Permutation
from mgae.data.splits.links import random_orientation


@dataclass(frozen=True, eq=False)
class HiddenEdges:
    """The first ``count`` things in a random order are hidden, each of them a target once.

    Attributes:
        graph: whose edges are hidden.
        order: of the undirected pairs or, ``in_pairs`` being false, of the directed edges.
        count: round(ω·|E|).
        in_pairs: whether both directions are hidden together.
    """

    graph: MessageGraph
    order: Permutation
    count: int
    in_pairs: bool

    @classmethod
    def draw(cls, graph: MessageGraph, mask: Mask, generator: torch.Generator) -> HiddenEdges:
        """Hide as many edges as ``mask`` would, and what it counts as one."""
        in_pairs = counts_pairs(mask)
        total = (graph.pairs if in_pairs else graph.edge_index).size(1)
        order = Permutation.draw(total, generator)
        return cls(graph, order, round(mask.ratio * total), in_pairs)

    @property
    def visible_ratio(self) -> float:
        """The share that is not hidden."""
        return 1 - self.count / self.order.size

    def is_hidden(self, edges: Tensor) -> Tensor:
        """Whether each of these edges of the graph [n], by number, is hidden: [n]."""
        things = self.graph.pair_of_edge[edges] if self.in_pairs else edges
        return self.order.inverse(things) < self.count

    def targets(self, places: range, generator: torch.Generator) -> Tensor:
        """The hidden edges [2, n] at these places of the order, to be predicted.

        An undirected pair comes once, in random orientation. A pair of a directed graph comes with
        one direction or both, as it has them.
        """
        things = self.order(torch.arange(places.start, places.stop))
        if not self.in_pairs:
            return self.graph.edge_index[:, things]
        pairs = self.graph.pairs[:, things]
        if self.graph.undirected:
            return random_orientation(pairs, generator)
        both = torch.cat([pairs, pairs.flip(0)], dim=1)
        return both[:, NegativeSampler.of(self.graph).is_taken(both)]


def counts_pairs(mask: Mask) -> bool:
    """Whether a mask hides both directions of an edge together.

    Raises:
        ConfigError: where it chooses in a way that cannot be asked edge by edge.
    """
    if not isinstance(mask, UndirectedMask | DirectedMask):
        raise ConfigError(
            "train.fanouts goes with mask.kind 'undirected' or 'directed': "
            "choose one of them, or leave train.fanouts out"
        )
    return isinstance(mask, UndirectedMask)


def require_hidden(count: int, ratio: float) -> None:
    """Refuse a mask that leaves nothing to predict."""
    if count == 0:
        raise ConfigError(
            f"mask.ratio {ratio} hides no edge of this graph, "
            "so there is nothing to predict: raise it"
        )
