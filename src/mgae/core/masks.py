"""MASK: hide a share of the edges; the encoder sees the rest.

The paper has two readings of "edge": `Undirected` hides both directions together, so that no
target is visible in reverse; `Directed` hides each direction on its own, which leaves 1 - ω of
the targets visible in reverse. `Path` hides as `Undirected` does, and chooses along random walks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from mgae.core.graph import MessageGraph, random_orientation
from mgae.core.negatives import NegativeSampler
from mgae.core.ops.backend import bring
from mgae.core.ops.distinct import distinct
from mgae.core.ops.neighborhood import NeighborSampler
from mgae.core.ops.permutation import Permutation
from mgae.core.ops.sparse import row_pointers


@dataclass(frozen=True, eq=False)
class MaskedEdges:
    """A graph whose edges are divided anew.

    Attributes:
        visible: the graph with the edges that the encoder may use.
        masked: the hidden pairs [2, n], to be predicted, in random order.
    """

    visible: MessageGraph
    masked: Tensor


class Mask(ABC):
    """Divides a graph's edges into visible and masked ones.

    Args:
        ratio: ω, the share of the edges that is hidden.
    """

    samplable: ClassVar[bool] = False  # whether `hide` can answer edge by edge
    in_pairs: ClassVar[bool] = True  # whether both directions of an edge are hidden together

    def __init__(self, ratio: float = 0.7) -> None:
        self.ratio = ratio

    @abstractmethod
    def __call__(self, graph: MessageGraph, generator: torch.Generator) -> MaskedEdges:
        """Mask exactly round(ω·|E|) edges."""

    def hide(self, graph: MessageGraph, generator: torch.Generator) -> HiddenEdges:
        """Hide as many edges, asked for a few at a time: memory does not follow the graph."""
        assert self.samplable
        total = (graph.pairs if self.in_pairs else graph.edge_index).size(1)
        order = Permutation.draw(total, generator)
        return HiddenEdges(graph, order, self.count(total), self.in_pairs)

    def count(self, total: int) -> int:
        """Return how many of ``total`` edges are hidden."""
        return round(self.ratio * total)


class Undirected(Mask):
    """Hides both directions of an edge; it is a target once, in random orientation.

    In a directed graph an edge and its reverse share their fate, and keep their direction.
    """

    samplable = True

    def __call__(self, graph: MessageGraph, generator: torch.Generator) -> MaskedEdges:
        """Mask round(ω·E) of the E undirected pairs."""
        total = graph.pairs.size(1)
        chosen = torch.randperm(total, generator=generator)[: self.count(total)]
        chosen = bring(chosen, graph.edge_index.device)
        return hide_pairs(graph, chosen, generator)


class Directed(Mask):
    """Hides each direction on its own; what stays visible is in general no longer symmetric."""

    samplable = True
    in_pairs = False

    def __call__(self, graph: MessageGraph, generator: torch.Generator) -> MaskedEdges:
        """Mask round(ω·m) of the m directed edges."""
        total = graph.edge_index.size(1)
        chosen = torch.randperm(total, generator=generator)[: self.count(total)]
        chosen = bring(chosen, graph.edge_index.device)
        kept = torch.ones(total, dtype=torch.bool, device=chosen.device)
        kept[chosen] = False
        return MaskedEdges(graph.only(kept, undirected=False), graph.edge_index[:, chosen])


class Path(Mask):
    """Hides both directions of the edges along random walks (Li et al., 2023).

    A walk begins with an edge drawn uniformly and goes on from the edge's source, against the
    arrows of a directed graph, by an edge drawn uniformly among those that end there; if there is
    none, it stays on its last edge. Walks are added until exactly enough pairs are hidden.

    Args:
        ratio: ω, the share of the edges that is hidden.
        walk_length: edges of a walk; 1 hides edges on their own.
    """

    def __init__(self, ratio: float = 0.7, walk_length: int = 3) -> None:
        super().__init__(ratio)
        self.walk_length = walk_length

    def __call__(self, graph: MessageGraph, generator: torch.Generator) -> MaskedEdges:
        """Mask round(ω·E) of the E undirected pairs, walk after walk."""
        count = self.count(graph.pairs.size(1))
        walked = graph.pair_of_edge[self._walks(graph, generator)].flatten()
        # Every edge begins a walk, so that there are always enough.
        chosen = distinct(walked)[:count]
        order = bring(torch.randperm(count, generator=generator), chosen.device)
        return hide_pairs(graph, chosen[order], generator)

    def _walks(self, graph: MessageGraph, generator: torch.Generator) -> Tensor:
        """Walk from every edge, in random order: edges [m, walk_length]."""
        source, target = graph.edge_index
        pointers = row_pointers(target, graph.num_nodes)
        walk = [bring(torch.randperm(source.numel(), generator=generator), source.device)]
        for _ in range(self.walk_length - 1):
            at = source[walk[-1]]
            first, degree = pointers[at], pointers[at + 1] - pointers[at]
            turn = bring(torch.randint(2**62, at.shape, generator=generator), at.device)
            turn = turn % degree.clamp(min=1)
            walk.append(torch.where(degree > 0, first + turn, walk[-1]))
        return torch.stack(walk, dim=1)


def hide_pairs(graph: MessageGraph, chosen: Tensor, generator: torch.Generator) -> MaskedEdges:
    """Mask the undirected pairs ``chosen`` [n], by their number in ``graph.pairs``."""
    hidden = torch.zeros(graph.pairs.size(1), dtype=torch.bool, device=chosen.device)
    hidden[chosen] = True
    hidden_edge = hidden[graph.pair_of_edge]
    if graph.undirected:
        masked = random_orientation(graph.pairs[:, chosen], generator)
    else:
        masked = graph.edge_index[:, hidden_edge]
        order = torch.randperm(masked.size(1), generator=generator)
        masked = masked[:, bring(order, masked.device)]
    return MaskedEdges(graph.only(~hidden_edge), masked)


@dataclass(frozen=True, eq=False)
class HiddenEdges:
    """The first ``count`` items of a random order are hidden, each of them a target once.

    Attributes:
        graph: whose edges are hidden.
        order: of the undirected pairs or, if ``in_pairs`` is false, of the directed edges.
        count: round(ω·|E|).
        in_pairs: whether both directions are hidden together.
    """

    graph: MessageGraph
    order: Permutation
    count: int
    in_pairs: bool

    def is_hidden(self, edges: Tensor) -> Tensor:
        """Return whether each of these edges of the graph [n], by number, is hidden: [n]."""
        items = self.graph.pair_of_edge[edges] if self.in_pairs else edges
        return self.order.inverse(items) < self.count

    def visible(self) -> MessageGraph:
        """Return the graph without the hidden edges, whole."""
        kept = ~self.is_hidden(torch.arange(self.graph.edge_index.size(1)))
        undirected = self.graph.undirected and self.in_pairs
        return self.graph.only(kept, undirected=undirected)

    def steps(self, size: int | None, generator: torch.Generator) -> Iterator[Tensor]:
        """Yield the hidden edges [2, n], ``size`` items at a time, to be predicted."""
        for start in range(0, self.count, size or self.count):
            stop = min(start + (size or self.count), self.count)
            yield self.targets(range(start, stop), generator)

    def targets(self, items: range, generator: torch.Generator) -> Tensor:
        """Return the hidden edges [2, n] with these numbers in the order.

        An undirected pair comes once, in random orientation. A pair of a directed graph comes with
        one direction or both, as it has them.
        """
        chosen = self.order(torch.arange(items.start, items.stop))
        if not self.in_pairs:
            return self.graph.edge_index[:, chosen]
        pairs = self.graph.pairs[:, chosen]
        if self.graph.undirected:
            return random_orientation(pairs, generator)
        both = torch.cat([pairs, pairs.flip(0)], dim=1)
        return both[:, NegativeSampler.of(self.graph).is_taken(both)]

    def neighbor_sampler(self) -> NeighborSampler:
        """Return a sampler of neighborhoods in which no hidden edge appears."""
        return NeighborSampler(
            self.graph.edge_index.contiguous(),
            self.graph.edge_weight,
            self.graph.adjacency.degree,
            self.is_hidden,
            1 - self.count / self.order.size,
        )
