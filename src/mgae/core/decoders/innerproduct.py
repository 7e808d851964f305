"""The decoder that learns nothing."""

from __future__ import annotations

import torch
from torch import Tensor

from mgae.core.decoders.base import Decoder, last_layer


class InnerProduct(Decoder):
    """h_v · h_u."""

    symmetric = True
    reads_last_only = True

    def __init__(self, in_channels: int = 0, in_layers: int = 1) -> None:
        super().__init__()

    def score(self, heads: Tensor, tails: Tensor, generator: torch.Generator | None) -> Tensor:
        """One product per pair."""
        return (last_layer(heads) * last_layer(tails)).sum(dim=1)

    def score_all(self, heads: Tensor, rows: Tensor, generator: torch.Generator | None) -> Tensor:
        """One product of two matrices."""
        return last_layer(heads) @ last_layer(rows).t()
