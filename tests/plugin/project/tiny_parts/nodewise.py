"""A mask that hides all edges of some nodes."""

from __future__ import annotations

import torch

from mgae.core import Mask, MaskedEdges, MessageGraph
from mgae.core.masks import hide_pairs
from mgae.registry import MASKS
from mgae.runs.parts import MaskSettings


@MASKS.register("node-wise", settings=MaskSettings, summary="hides all edges of random nodes")
class NodeWise(Mask):
    """Hide node after node until enough edges are hidden."""

    def __call__(self, graph: MessageGraph, generator: torch.Generator) -> MaskedEdges:
        """Mask round(ω·E) of the E undirected pairs."""
        total = graph.pairs.size(1)
        turn = torch.randperm(graph.num_nodes, generator=generator)
        hidden = turn[graph.pairs].amin(dim=0).argsort()[: self.count(total)]
        order = torch.randperm(hidden.numel(), generator=generator)
        return hide_pairs(graph, hidden[order], generator)
