"""Graph convolution."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mgae.core.encoders.base import Encoder, EncoderSettings, Features, sends_first
from mgae.core.ops.adjacency import Adjacency
from mgae.registry import ENCODERS


class GCNLayer(nn.Module):
    """D̂^-1/2 (A + I) D̂^-1/2 H W + b, the self-loop always there (Kipf and Welling, 2017)."""

    def __init__(self, in_width: int, out_width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_width, out_width))
        self.bias = nn.Parameter(torch.empty(out_width))
        self.reset_parameters()

    def forward(self, h: Features, adjacency: Adjacency) -> Tensor:
        """[num_nodes, in_width] → [num_nodes, out_width]."""
        if sends_first(h, self.weight.size(1)):
            return torch.addmm(self.bias, adjacency.convolve(h), self.weight)
        return adjacency.convolve(h @ self.weight).add_(self.bias)

    def reset_parameters(self) -> None:
        """As PyG's GCNConv."""
        nn.init.xavier_uniform_(self.weight)
        nn.init.zeros_(self.bias)


@ENCODERS.register(
    "gcn",
    settings=EncoderSettings,
    summary="graph convolution, symmetrically normalized",
    paper="Kipf and Welling, Semi-Supervised Classification with GCNs, 2017",
)
class GCN(Encoder):
    """A stack of GCN layers."""

    def make_layer(self, in_width: int, out_width: int) -> nn.Module:
        """A `GCNLayer`."""
        return GCNLayer(in_width, out_width)
