"""The graph isomorphism network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mgae.core.encoders.base import Features, LayeredEncoder
from mgae.core.ops.sparse import Adjacency


class GINLayer(nn.Module):
    """MLP((1 + ε) · h + Σ of the neighbors) with a learned ε; weighted edges give a weighted sum.

    The sum is formed after the MLP's first map: both are linear, and that is the narrower matrix.
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.epsilon = nn.Parameter(torch.empty(1))
        self.first = nn.Linear(in_channels, out_channels)
        self.second = nn.Linear(out_channels, out_channels)
        self.reset_parameters()

    def forward(self, h: Features, adjacency: Adjacency) -> Tensor:
        """Map [num_nodes, in_channels] to [num_nodes, out_channels]."""
        sent = h @ self.first.weight.t()
        read = adjacency.sum_neighbors(sent) + (1 + self.epsilon) * sent + self.first.bias
        out: Tensor = self.second(torch.relu(read))
        return out

    def reset_parameters(self) -> None:
        """Draw the parameters as PyG's GINConv with ``train_eps`` does."""
        nn.init.zeros_(self.epsilon)
        self.first.reset_parameters()
        self.second.reset_parameters()


class GIN(LayeredEncoder):
    """A stack of GIN layers."""

    def make_layer(self, in_channels: int, out_channels: int) -> nn.Module:
        """Return a `GINLayer`."""
        return GINLayer(in_channels, out_channels)
