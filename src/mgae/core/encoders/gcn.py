"""Graph convolution."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mgae.core.encoders.base import Features, LayeredEncoder
from mgae.core.ops.sparse import Adjacency, propagate_before_map


class GCNLayer(nn.Module):
    """D̂^-1/2 (A + I) D̂^-1/2 H W + b, the self-loop always there (Kipf and Welling, 2017)."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.reset_parameters()

    def forward(self, h: Features, adjacency: Adjacency) -> Tensor:
        """Map [num_nodes, in_channels] to [num_nodes, out_channels]."""
        if propagate_before_map(h, self.weight.size(1)):
            return torch.addmm(self.bias, adjacency.convolve(h), self.weight)
        return adjacency.convolve(h @ self.weight).add_(self.bias)

    def reset_parameters(self) -> None:
        """Draw the parameters as PyG's GCNConv does."""
        nn.init.xavier_uniform_(self.weight)
        nn.init.zeros_(self.bias)


class GCN(LayeredEncoder):
    """A stack of GCN layers."""

    def make_layer(self, in_channels: int, out_channels: int) -> nn.Module:
        """Return a `GCNLayer`."""
        return GCNLayer(in_channels, out_channels)
