"""MASK: hide a share of the edges; the rest is what the encoder sees.

The paper knows two readings of "edge": `undirected` hides both directions together, so that no
target can be seen in reverse; `directed` hides each direction on its own, which leaves 1 - ω of
the targets visible in reverse.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor

from mgae.graphs.message import MessageGraph
from mgae.registry import MASKS
from mgae.settings import PartSettings
from mgae.splits.links import random_orientation


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


class Mask(ABC):
    """Divides a graph's edges into visible and masked ones."""

    def __init__(self, settings: MaskSettings) -> None:
        self.ratio = settings.ratio

    @abstractmethod
    def __call__(self, graph: MessageGraph, generator: torch.Generator) -> MaskedEdges:
        """Mask exactly round(ω·|E|) edges, chosen uniformly."""


@MASKS.register(
    "undirected", settings=MaskSettings, summary="hides both directions of an edge together"
)
class UndirectedMask(Mask):
    """Counts an edge once; each hidden one is a target once, in random orientation.

    In a directed graph an edge and its reverse share their fate, and keep their direction.
    """

    def __call__(self, graph: MessageGraph, generator: torch.Generator) -> MaskedEdges:
        """Mask round(ω·E) of the E undirected pairs."""
        num_pairs = graph.pairs.size(1)
        chosen = _choose(num_pairs, self.ratio, generator)
        hidden = torch.zeros(num_pairs, dtype=torch.bool)
        hidden[chosen] = True
        hidden_edge = hidden[graph.pair_of_edge]
        if graph.undirected:
            masked = random_orientation(graph.pairs[:, chosen], generator)
        else:
            masked = _shuffled(graph.edge_index[:, hidden_edge], generator)
        return MaskedEdges(graph.only(~hidden_edge), masked)


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


def _choose(count: int, ratio: float, generator: torch.Generator) -> Tensor:
    return torch.randperm(count, generator=generator)[: round(ratio * count)]


def _shuffled(pairs: Tensor, generator: torch.Generator) -> Tensor:
    return pairs[:, torch.randperm(pairs.size(1), generator=generator)]
