"""The graph attention network."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from mgae.core.encoders.base import Features, LayeredEncoder
from mgae.core.errors import ConfigError
from mgae.core.ops.sparse import Adjacency

_SLOPE = 0.2


class GATLayer(nn.Module):
    """Σ of the neighbors and the node itself, weighed by attention, for each head, + b.

    An edge of weight w counts as w edges: its share of the attention is w times as large. The
    node itself has weight 1.
    """

    def __init__(self, in_channels: int, out_channels: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.source = nn.Parameter(torch.empty(heads, out_channels // heads))
        self.target = nn.Parameter(torch.empty(heads, out_channels // heads))
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.reset_parameters()

    def forward(self, h: Features, adjacency: Adjacency) -> Tensor:
        """Map [num_nodes, in_channels] to [num_nodes, out_channels]."""
        sent = (h @ self.weight).unflatten(1, (self.heads, -1))
        to_send, to_receive = (sent * self.source).sum(-1), (sent * self.target).sum(-1)
        source, target = adjacency.edge_index
        own = leaky_relu(to_send + to_receive, _SLOPE)
        edge = leaky_relu(
            to_send.index_select(0, source) + to_receive.index_select(0, target), _SLOPE
        )
        index = target.unsqueeze(1).expand_as(edge)
        top = own.detach().scatter_reduce(0, index, edge.detach(), "amax")
        own, edge = (own - top).exp(), (edge - top.index_select(0, target)).exp()
        if adjacency.edge_weight is not None:
            edge = edge * adjacency.edge_weight.to(edge.dtype).unsqueeze(1)
        messages = sent.index_select(0, source) * edge.unsqueeze(2)
        total = (sent * own.unsqueeze(2)).index_add(0, target, messages)
        mean: Tensor = total / own.index_add(0, target, edge).unsqueeze(2)
        return mean.flatten(1) + self.bias

    def reset_parameters(self) -> None:
        """Draw the parameters as PyG's GATConv does."""
        for parameter in (self.weight, self.source, self.target):
            nn.init.xavier_uniform_(parameter)
        nn.init.zeros_(self.bias)


class GAT(LayeredEncoder):
    """A stack of GAT layers, ``heads`` side by side in ``hidden_channels``."""

    keeps_edge_messages = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int = 128,
        *args: Any,
        heads: int = 4,
        **kwargs: Any,
    ) -> None:
        if hidden_channels % heads:
            raise ConfigError(
                f"encoder.hidden_channels must be a multiple of encoder.heads {heads}, "
                f"got {hidden_channels}: change one of them"
            )
        self.heads = heads
        super().__init__(in_channels, hidden_channels, *args, **kwargs)

    def make_layer(self, in_channels: int, out_channels: int) -> nn.Module:
        """Return a `GATLayer`."""
        return GATLayer(in_channels, out_channels, self.heads)
