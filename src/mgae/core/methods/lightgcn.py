"""LightGCN: a learned table, smoothed along the edges, and nothing else."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from mgae.core.decoders import InnerProduct
from mgae.core.encoders import EmbeddingTable, Encoder
from mgae.core.graph import MessageGraph
from mgae.core.losses import Loss
from mgae.core.methods.autoencoders import GraphAutoencoder
from mgae.core.ops.rows import Factor


class NormalTable(EmbeddingTable):
    """A learned vector for each node, drawn from N(0, 0.1²) as in the original."""

    def reset_parameters(self) -> None:
        """Draw the table anew."""
        nn.init.normal_(self.table, std=0.1)


class Smoothing(Encoder):
    """The mean of x, S x, …, S^K x with S = D^-1/2 A D^-1/2, as the one layer; no weights.

    Args:
        inputs: x.
        num_hops: K.
    """

    num_layers = 1

    def __init__(self, inputs: EmbeddingTable, num_hops: int) -> None:
        super().__init__()
        self.inputs, self.num_hops = inputs, num_hops
        self.hidden_channels = inputs.channels

    def propagate(
        self, x: Factor, graph: MessageGraph, generator: torch.Generator | None
    ) -> list[Tensor]:
        """Return the mean: one tensor [num_nodes, channels]."""
        assert isinstance(x, Tensor), "a table is dense"
        h, total = x, x
        for _ in range(self.num_hops):
            h = graph.adjacency.smooth(h)
            total = total + h
        return [total / (self.num_hops + 1)]


class LightGCN(GraphAutoencoder):
    """Learns a table whose smoothed rows rank a node's neighbors first, by inner products.

    Args:
        num_nodes: rows of the table.
        loss: `BPR` in the original.
        channels: width of the table.
        num_hops: K, how far it is smoothed.
        steps: ``step_size`` and ``chunk_size`` of `LinkModel`.
    """

    def __init__(
        self, num_nodes: int, loss: Loss, channels: int = 64, num_hops: int = 3, **steps: Any
    ) -> None:
        encoder = Smoothing(NormalTable(num_nodes, channels), num_hops)
        super().__init__(encoder, InnerProduct(), loss, **steps)
