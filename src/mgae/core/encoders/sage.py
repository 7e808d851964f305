"""GraphSAGE."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mgae.core.encoders.base import Features, LayeredEncoder
from mgae.core.ops.sparse import Adjacency, propagate_before_map


class SAGELayer(nn.Module):
    """W_l · mean of the neighbors + W_r · h + b; weighted edges give a weighted mean."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        # Both maps in one matrix: the features are read once.
        self.weight = nn.Parameter(torch.empty(in_channels, 2 * out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.reset_parameters()

    def forward(self, h: Features, adjacency: Adjacency) -> Tensor:
        """Map [num_nodes, in_channels] to [num_nodes, out_channels]."""
        if propagate_before_map(h, self.bias.numel()):
            ends = torch.cat([adjacency.mean_neighbors(h), h], dim=1)
            return torch.addmm(self.bias, ends, torch.cat(self.weight.chunk(2, dim=1)))
        neighbors, own = (h @ self.weight).chunk(2, dim=1)
        return adjacency.mean_neighbors(neighbors.contiguous()).add_(own).add_(self.bias)

    def reset_parameters(self) -> None:
        """Draw the parameters as PyG's SAGEConv does."""
        for half in self.weight.data.chunk(2, dim=1):
            half.copy_(nn.init.kaiming_uniform_(torch.empty_like(half).t(), a=5**0.5).t())
        bound = max(1, self.weight.size(0)) ** -0.5
        nn.init.uniform_(self.bias, -bound, bound)


class SAGE(LayeredEncoder):
    """A stack of GraphSAGE layers."""

    maps_per_layer = 2

    def make_layer(self, in_channels: int, out_channels: int) -> nn.Module:
        """Return a `SAGELayer`."""
        return SAGELayer(in_channels, out_channels)
