"""Decoders that read the last layer alone."""

from __future__ import annotations

import torch
from torch import Tensor

from mgae.core.decoders.base import MLP, Decoder, last_layer


class InnerProduct(Decoder):
    """h_v · h_u."""

    symmetric = True
    reads_last_only = True

    def __init__(self, in_channels: int = 0, in_layers: int = 1) -> None:
        super().__init__()

    def score(self, heads: Tensor, tails: Tensor, generator: torch.Generator | None) -> Tensor:
        """Return one product per pair."""
        return (last_layer(heads) * last_layer(tails)).sum(dim=1)

    def score_all(self, heads: Tensor, rows: Tensor, generator: torch.Generator | None) -> Tensor:
        """Multiply two matrices."""
        return last_layer(heads) @ last_layer(rows).t()


class PairMLP(Decoder):
    """MLP(combine(h_v, h_u)) on the last layers; combine is ⊙, ‖ or |·−·|.

    Args:
        in_channels: d, the encoder's width.
        in_layers: K, the encoder's layers; the last one alone is read.
        hidden_channels: width of the `MLP`.
        num_layers: its layers.
        dropout: between them.
        precision: of its products in training, "float32" or "bfloat16".
        combine: "hadamard", "concat" or "absdiff".
    """

    reads_last_only = True

    def __init__(
        self,
        in_channels: int,
        in_layers: int = 2,
        hidden_channels: int = 256,
        num_layers: int = 2,
        dropout: float = 0.5,
        precision: str = "float32",
        combine: str = "hadamard",
    ) -> None:
        super().__init__()
        self.combine = combine
        self.symmetric = combine != "concat"
        width = (1 if self.symmetric else 2) * in_channels
        self.mlp = MLP(width, hidden_channels, num_layers, dropout, precision)

    def score(self, heads: Tensor, tails: Tensor, generator: torch.Generator | None) -> Tensor:
        """Combine the ends, then read them."""
        heads, tails = last_layer(heads), last_layer(tails)
        if self.combine == "concat":
            joined = torch.cat([heads, tails], dim=1)
        else:
            joined = heads * tails if self.combine == "hadamard" else (heads - tails).abs()
        logits: Tensor = self.mlp(joined, generator)
        return logits

    def score_all(self, heads: Tensor, rows: Tensor, generator: torch.Generator | None) -> Tensor:
        """Fold each head into the first weights once, if the two ends are multiplied."""
        if self.combine != "hadamard":
            return super().score_all(heads, rows, generator)
        folded = torch.einsum("hd,od->hdo", last_layer(heads), self.mlp.first.weight)
        return self.mlp.after_first(self.mlp.read(last_layer(rows), folded, generator), generator)
