"""MASK: hide a share of the edges; the rest is what the encoder sees.

The paper knows two readings of "edge": `undirected` hides both directions together, so that no
target can be seen in reverse; `directed` hides each direction on its own, which leaves 1 - ω of
the targets visible in reverse. `path` hides as `undirected` does, and chooses along random walks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor

from mgae.core.graph import MessageGraph
from mgae.core.ops.distinct import distinct
from mgae.core.ops.sparse import row_pointers
from mgae.data.splits.links import random_orientation
from mgae.registry import MASKS
from mgae.settings import PartSettings


@dataclass(frozen=True, eq=False)
class MaskedEdges:
    """A graph whose edges are divided anew.

    Attributes:
        visible: the graph with the edges that the encoder may use.
        masked: the hidden pairs [2, n], to be predicted, in random order.
    """

    visible: MessageGraph
    masked: Tensor


class MaskSettings(PartSettings):
    """How many edges are hidden, and what counts as one."""

    section: ClassVar[str] = "mask"

    ratio: float = Field(0.7, ge=0, lt=1, description="share ω of the edges that is hidden")


class PathSettings(MaskSettings):
    """How far a walk goes."""

    walk_length: int = Field(3, ge=1, description="edges of a walk; 1: edges on their own")


class Mask(ABC):
    """Divides a graph's edges into visible and masked ones."""

    def __init__(self, settings: MaskSettings) -> None:
        self.ratio = settings.ratio

    @abstractmethod
    def __call__(self, graph: MessageGraph, generator: torch.Generator) -> MaskedEdges:
        """Mask exactly round(ω·|E|) edges."""


@MASKS.register(
    "undirected", settings=MaskSettings, summary="hides both directions of an edge together"
)
class UndirectedMask(Mask):
    """Counts an edge once; each hidden one is a target once, in random orientation.

    In a directed graph an edge and its reverse share their fate, and keep their direction.
    """

    def __call__(self, graph: MessageGraph, generator: torch.Generator) -> MaskedEdges:
        """Mask round(ω·E) of the E undirected pairs."""
        return _hide(graph, _choose(graph.pairs.size(1), self.ratio, generator), generator)


@MASKS.register(
    "directed", settings=MaskSettings, summary="hides each direction of an edge on its own"
)
class DirectedMask(Mask):
    """Counts both directions; what is left visible is in general no longer symmetric."""

    def __call__(self, graph: MessageGraph, generator: torch.Generator) -> MaskedEdges:
        """Mask round(ω·m) of the m directed edges."""
        num_edges = graph.edge_index.size(1)
        chosen = _choose(num_edges, self.ratio, generator)
        kept = torch.ones(num_edges, dtype=torch.bool)
        kept[chosen] = False
        return MaskedEdges(graph.only(kept, undirected=False), graph.edge_index[:, chosen])


@MASKS.register(
    "path",
    settings=PathSettings,
    summary="hides both directions of the edges along random walks",
    paper="Li et al., What's Behind the Mask: Understanding Masked Graph Modeling, 2023",
)
class PathMask(Mask):
    """Walks begin with an edge drawn uniformly, until exactly enough pairs have been passed.

    Each walk goes on from the edge's source, against the arrows of a directed graph, by an edge
    drawn uniformly among those that end there; where none does, it stays on its last edge.
    """

    def __init__(self, settings: PathSettings) -> None:
        super().__init__(settings)
        self.walk_length = settings.walk_length

    def __call__(self, graph: MessageGraph, generator: torch.Generator) -> MaskedEdges:
        """Mask round(ω·E) of the E undirected pairs, walk after walk."""
        count = round(self.ratio * graph.pairs.size(1))
        passed = graph.pair_of_edge[self._walks(graph, generator)].flatten()
        # Every edge begins a walk, so that there are always enough.
        chosen = distinct(passed)[:count]
        return _hide(graph, chosen[torch.randperm(count, generator=generator)], generator)

    def _walks(self, graph: MessageGraph, generator: torch.Generator) -> Tensor:
        """A walk from every edge, in random order: edges [m, walk_length]."""
        source, target = graph.edge_index
        pointers = row_pointers(target, graph.num_nodes)
        walk = [torch.randperm(source.numel(), generator=generator)]
        for _ in range(self.walk_length - 1):
            at = source[walk[-1]]
            first, degree = pointers[at], pointers[at + 1] - pointers[at]
            turn = torch.randint(2**62, at.shape, generator=generator) % degree.clamp(min=1)
            walk.append(torch.where(degree > 0, first + turn, walk[-1]))
        return torch.stack(walk, dim=1)


def _hide(graph: MessageGraph, chosen: Tensor, generator: torch.Generator) -> MaskedEdges:
    """Mask the undirected pairs that were ``chosen`` [n], by number."""
    hidden = torch.zeros(graph.pairs.size(1), dtype=torch.bool)
    hidden[chosen] = True
    hidden_edge = hidden[graph.pair_of_edge]
    if graph.undirected:
        masked = random_orientation(graph.pairs[:, chosen], generator)
    else:
        masked = _shuffled(graph.edge_index[:, hidden_edge], generator)
    return MaskedEdges(graph.only(~hidden_edge), masked)


def _choose(count: int, ratio: float, generator: torch.Generator) -> Tensor:
    return torch.randperm(count, generator=generator)[: round(ratio * count)]


def _shuffled(pairs: Tensor, generator: torch.Generator) -> Tensor:
    return pairs[:, torch.randperm(pairs.size(1), generator=generator)]
