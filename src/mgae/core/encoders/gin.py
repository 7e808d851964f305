"""The graph isomorphism network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mgae.core.encoders.base import Encoder, EncoderSettings, Features
from mgae.core.ops.adjacency import Adjacency
from mgae.registry import ENCODERS


class GINLayer(nn.Module):
    """MLP((1 + ε) · h + Σ of the neighbors) with a learned ε; weighted edges give a weighted sum.

    The sum is formed after the MLP's first map: both are linear, and that is the narrower matrix.
    """

    def __init__(self, in_width: int, out_width: int) -> None:
        super().__init__()
        self.epsilon = nn.Parameter(torch.empty(1))
        self.first = nn.Linear(in_width, out_width)
        self.second = nn.Linear(out_width, out_width)
        self.reset_parameters()

    def forward(self, h: Features, adjacency: Adjacency) -> Tensor:
        """[num_nodes, in_width] → [num_nodes, out_width]."""
        sent = h @ self.first.weight.t()
        read = adjacency.sum_neighbors(sent) + (1 + self.epsilon) * sent + self.first.bias
        out: Tensor = self.second(torch.relu(read))
        return out

    def reset_parameters(self) -> None:
        """As PyG's GINConv with ``train_eps``."""
        nn.init.zeros_(self.epsilon)
        self.first.reset_parameters()
        self.second.reset_parameters()


@ENCODERS.register(
    "gin",
    settings=EncoderSettings,
    summary="graph isomorphism network: a sum of the neighbors, then an MLP",
    paper="Xu et al., How Powerful are Graph Neural Networks?, 2019",
)
class GIN(Encoder):
    """A stack of GIN layers."""

    def make_layer(self, in_width: int, out_width: int) -> nn.Module:
        """A `GINLayer`."""
        return GINLayer(in_width, out_width)
