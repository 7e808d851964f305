"""What an encoder's first layer reads: features, an embedding table, sketches, or one-hot rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from mgae.core.errors import GraphError
from mgae.core.graph import CPU, MessageGraph
from mgae.core.ops.backend import bring
from mgae.core.ops.dropout import dropout
from mgae.core.ops.sparse import SparseMatrix
from mgae.core.seeding import Generators

Features = Tensor | SparseMatrix
_ROWS = 4096  # of a sketch that one generator draws


class Inputs(nn.Module, ABC):
    """x, what the first layer reads.

    Args:
        channels: F, the width of x.
        dropout: share of x that is dropped in training; of sparse features, share of the values.
    """

    inductive: ClassVar[bool] = True  # whether nodes that were not in training have an x
    reads_edges: ClassVar[bool] = False  # whether x comes from the edges, so that some must hide

    def __init__(self, channels: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.channels, self.dropout = channels, dropout

    @abstractmethod
    def whole(self, graph: MessageGraph) -> Features:
        """Return x of every node: [num_nodes, F]."""

    def forward(self, graph: MessageGraph, generator: torch.Generator | None) -> Features:
        """Return x, with some of it dropped in training."""
        return self.drop(self.whole(graph), generator)

    def drop(self, x: Features, generator: torch.Generator | None) -> Features:
        """Drop some of x; without a generator, nothing."""
        if generator is None or self.dropout == 0.0:
            return x
        if isinstance(x, SparseMatrix):
            return x.with_values(dropout(x.values, self.dropout, generator))
        return dropout(x, self.dropout, generator)

    def reset_parameters(self) -> None:
        """Draw every parameter anew."""


class NodeFeatures(Inputs):
    """The features of the graph; ``row_normalize`` divides a node's by their summed magnitude."""

    def __init__(self, channels: int, dropout: float = 0.0, row_normalize: bool = False) -> None:
        super().__init__(channels, dropout)
        self.row_normalize = row_normalize

    def whole(self, graph: MessageGraph) -> Features:
        """Return the features as they are, or normalized."""
        features = graph.row_normalized_x if self.row_normalize else graph.x
        if features is None:
            raise GraphError("the graph has no features: use EmbeddingTable as inputs")
        return features


class EmbeddingTable(Inputs):
    """A learned vector for each node."""

    inductive = False

    def __init__(self, num_nodes: int, channels: int, dropout: float = 0.0) -> None:
        super().__init__(channels, dropout)
        self.table = nn.Parameter(torch.empty(num_nodes, channels))
        self.reset_parameters()

    def whole(self, graph: MessageGraph) -> Features:
        """Return the table."""
        return self.table

    def reset_parameters(self) -> None:
        """Draw the table anew, as the authors' code does for ogbl-ddi."""
        nn.init.xavier_uniform_(self.table)


class Sketches(Inputs):
    """Random projections of a node's first hops along the visible edges, and its degree (FastRP).

    Nothing is learned for a node: one that was not there in training has sketches as well.

    Args:
        channels: of each hop.
        hops: how many.
        dropout: share of x that is dropped in training.
    """

    reads_edges = True

    def __init__(self, channels: int = 64, hops: int = 3, dropout: float = 0.0) -> None:
        super().__init__(hops * channels + 1, dropout)
        self.width, self.hops = channels, hops
        self._last: tuple[MessageGraph, Tensor] | None = None

    def whole(self, graph: MessageGraph) -> Features:
        """Return unit rows of S R, S² R, … side by side, scaled to unit variance, and log degrees.

        Those of the last graph are kept: an epoch takes many steps on the same edges.
        """
        last = self._last  # read once: another thread may encode another graph
        if last is None or last[0] is not graph:
            now, hops = _random_rows(graph.num_nodes, self.width), []
            now = bring(now, graph.edge_index.device)
            for _ in range(self.hops):
                now = graph.adjacency.smooth(now)
                hops.append(normalize(now) * math.sqrt(self.width))
            degree = torch.log1p(graph.adjacency.degree.abs()).unsqueeze(1)
            self._last = last = graph, torch.cat([*hops, degree], dim=1)
        return last[1]


def _random_rows(count: int, width: int) -> Tensor:
    """Draw normal rows [count, width]; a node's row does not depend on how many follow."""
    rows = [
        torch.randn(_ROWS, width, generator=Generators(block).fresh("sketch"))
        for block in range(-(-count // _ROWS))
    ]
    return torch.cat(rows)[:count] if rows else torch.empty(0, width)


class OneHot(Inputs):
    """The identity matrix."""

    inductive = False

    def __init__(self, num_nodes: int, dropout: float = 0.0) -> None:
        super().__init__(num_nodes, dropout)
        self._identities = {CPU: SparseMatrix.identity(num_nodes)}

    def whole(self, graph: MessageGraph) -> Features:
        """Return the identity, where the graph is."""
        device = graph.edge_index.device
        if device not in self._identities:
            self._identities[device] = self._identities[CPU].to(device)
        return self._identities[device]
