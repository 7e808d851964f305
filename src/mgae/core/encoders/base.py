"""What all encoders share: inputs, and K layers of which each output is kept."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from mgae.core.errors import GraphError
from mgae.core.graph import CPU, MessageGraph
from mgae.core.ops.backend import bring
from mgae.core.ops.dropout import dropout
from mgae.core.ops.rows import Factor
from mgae.core.ops.sparse import Adjacency, SparseMatrix
from mgae.core.seeding import Generators

Features = Tensor | SparseMatrix
_ROWS = 4096  # of a sketch that one generator draws
ACTIVATIONS: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "elu": nn.ELU,
    "prelu": nn.PReLU,
    "tanh": nn.Tanh,
    "none": nn.Identity,
}
NORMS: dict[str, type[nn.Module]] = {
    "none": nn.Identity,
    "batch": nn.BatchNorm1d,
    "layer": nn.LayerNorm,
}


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


class Encoder(nn.Module, ABC):
    """Maps a graph to the outputs of its ``num_layers`` layers, each ``hidden_channels`` wide.

    An encoder that also has `propagate_along` can be trained on sampled neighborhoods.
    """

    samplable: bool = False
    inputs: Inputs
    hidden_channels: int
    num_layers: int

    def forward(self, graph: MessageGraph, generator: torch.Generator | None) -> list[Tensor]:
        """Return every layer's output: K tensors [num_nodes, d].

        ``graph`` holds the visible edges; ``generator`` draws the dropout, None in evaluation.
        """
        return self.propagate(self.inputs(graph, generator), graph, generator)

    @abstractmethod
    def propagate(
        self, x: Factor, graph: MessageGraph, generator: torch.Generator | None
    ) -> list[Tensor]:
        """Return the same from other features ``x`` [num_nodes, F]."""

    def reset_parameters(self) -> None:
        """Draw every parameter anew."""
        for module in self.modules():
            if module is not self and hasattr(module, "reset_parameters"):
                cast(Any, module).reset_parameters()


class LayeredEncoder(Encoder):
    """A stack of message-passing layers with norm, activation and dropout.

    A subclass says what one layer does. A layer maps its input and passes messages: both are
    linear, and the narrower matrix is the cheaper one to send along the edges.

    Args:
        in_channels: F, the width of the inputs.
        hidden_channels: d, the width of every layer.
        num_layers: K.
        dropout: dropout between layers.
        act: activation after a layer, a name in `ACTIVATIONS`.
        norm: norm after a layer, a name in `NORMS`; None is "none".
        act_last: whether the last layer has an activation too.
        drop_outputs: whether the decoder too reads a layer after its dropout.
        inputs: where x comes from; the graph's features unless given.
        edge_channels: E, the width of the edges' features; a message of a neighbor is then
            W h + V e of the edge e, so that V times the mean of e is added to a layer.
    """

    samplable = True
    # What the estimate of memory needs to know of a layer.
    maps_per_layer: ClassVar[int] = 1
    keeps_edge_messages: ClassVar[bool] = False

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int = 128,
        num_layers: int = 2,
        dropout: float = 0.5,
        act: str = "relu",
        norm: str | None = None,
        act_last: bool = True,
        drop_outputs: bool = False,
        inputs: Inputs | None = None,
        edge_channels: int = 0,
    ) -> None:
        super().__init__()
        self.hidden_channels, self.num_layers = hidden_channels, num_layers
        self.edge_channels = edge_channels
        if edge_channels:
            self.samplable = False  # a sampled neighborhood has no features of edges
        self.dropout, self.drop_outputs = dropout, drop_outputs
        self.inputs = NodeFeatures(in_channels) if inputs is None else inputs
        widths = [in_channels] + [hidden_channels] * (num_layers - 1)
        self.layers = nn.ModuleList(self.make_layer(width, hidden_channels) for width in widths)
        self.norms = nn.ModuleList(NORMS[norm or "none"](hidden_channels) for _ in widths)
        self.acts = nn.ModuleList(ACTIVATIONS[act]() for _ in widths)
        if not act_last:
            self.acts[-1] = nn.Identity()
        maps = range(num_layers if edge_channels else 0)
        self.edge_maps = nn.ModuleList(
            nn.Linear(edge_channels, hidden_channels, bias=False) for _ in maps
        )

    @abstractmethod
    def make_layer(self, in_channels: int, out_channels: int) -> nn.Module:
        """Return one layer: a module called with (h, adjacency)."""

    def propagate(
        self, x: Factor, graph: MessageGraph, generator: torch.Generator | None
    ) -> list[Tensor]:
        """Return every layer's output; ``x`` needs but be multiplied."""
        means = graph.edge_means if self.edge_channels else None
        return self.propagate_along([graph.adjacency] * len(self.layers), x, generator, means)

    def propagate_along(
        self,
        adjacencies: Sequence[Adjacency],
        h: Factor,
        generator: torch.Generator | None,
        edge_means: Tensor | None = None,
    ) -> list[Tensor]:
        """Return every layer's output from the inputs ``h``, each layer along edges of its own.

        ``edge_means`` [num_nodes, E] are the mean features of the edges into a node.
        """
        outputs: list[Tensor] = []
        parts = zip(self.layers, self.norms, self.acts, adjacencies, strict=True)
        for layer, norm, act, adjacency in parts:
            if outputs:
                h = dropout(outputs[-1], self.dropout, generator)
                if self.drop_outputs:
                    outputs[-1] = h
            received = layer(h, adjacency)[: adjacency.num_receivers]
            if edge_means is not None:
                received = received + self.edge_maps[len(outputs)](edge_means)
            outputs.append(act(norm(received)))
        return outputs
