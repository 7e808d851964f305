"""The perceptron that reads a pair's representation, and a decoder of the last layers."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from mgae.core.decoders.base import Decoder, last_layer
from mgae.core.ops.backend import multiplies_bfloat16
from mgae.core.ops.decoding import Layer, perceptron
from mgae.core.ops.dropout import dropout


class MLP(nn.Module):
    """Linear layers with ReLU and dropout between them, down to one number.

    Args:
        in_channels: the width of what it reads.
        hidden_channels: D, the width of its hidden layers.
        num_layers: its linear layers.
        dropout: dropout on its hidden layers.
        precision: what the first layer multiplies in while it trains: "float32", or "bfloat16"
            on devices that have instructions for it.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int = 256,
        num_layers: int = 2,
        dropout: float = 0.5,
        precision: str = "float32",
    ) -> None:
        super().__init__()
        widths = [in_channels] + [hidden_channels] * (num_layers - 1)
        self.hidden = nn.ModuleList(map(nn.Linear, widths, widths[1:]))
        self.last = nn.Linear(widths[-1], 1)
        self.dropout = dropout
        self.precision = precision

    @property
    def first(self) -> nn.Linear:
        """The layer that reads the pair's representation."""
        return cast(nn.Linear, self.hidden[0] if len(self.hidden) else self.last)

    def forward(self, pairs: Tensor, generator: torch.Generator | None) -> Tensor:
        """[..., in_channels] → [...]."""
        if len(self.hidden) == 1 and pairs.dim() == 2:
            return perceptron(
                pairs, *self.two_layers, self.dropout, generator, self.dtype(generator)
            )
        return self.after_first(self.read(pairs, self.first.weight.t(), generator), generator)

    def read(self, rows: Tensor, weight: Tensor, generator: torch.Generator | None) -> Tensor:
        """``rows @ weight`` and the first layer's bias, in training in its precision."""
        dtype = self.dtype(generator)
        if dtype is None:
            return rows @ weight + self.first.bias
        return (rows.to(dtype) @ weight.to(dtype)).to(rows.dtype) + self.first.bias

    def dtype(self, generator: torch.Generator | None) -> torch.dtype | None:
        """Return what the first layer multiplies in, None for what it is given.

        Evaluation is exact.
        """
        lowered = self.precision == "bfloat16" and generator is not None
        supported = lowered and multiplies_bfloat16(self.last.weight.device.type)
        return torch.bfloat16 if supported else None

    @property
    def two_layers(self) -> tuple[Layer, Layer]:
        """Weight and bias of the first and of the last layer, where there are no others."""
        return (self.first.weight, self.first.bias), (self.last.weight, self.last.bias)

    def after_first(self, read: Tensor, generator: torch.Generator | None) -> Tensor:
        """What follows once the first layer has read a pair: [..., width] → [...]."""
        if not len(self.hidden):
            return read.squeeze(-1)
        for layer in [*self.hidden[1:], self.last]:
            read = layer(dropout(torch.relu(read), self.dropout, generator))
        return read.squeeze(-1)

    def reset_parameters(self) -> None:
        """Draw every parameter anew."""
        for layer in (*self.hidden, self.last):
            cast(nn.Linear, layer).reset_parameters()


class PairMLP(Decoder):
    """MLP(combine(h_v, h_u)) on the last layers; combine is ⊙, ‖ or |·−·|.

    Args:
        in_channels: d, the encoder's width.
        in_layers: K, the encoder's layers; the last one alone is read.
        hidden_channels, num_layers, dropout, precision: of the `MLP`.
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
        """Fold each head into the first weights once, where the two ends are multiplied."""
        if self.combine != "hadamard":
            return super().score_all(heads, rows, generator)
        folded = torch.einsum("hd,od->hdo", last_layer(heads), self.mlp.first.weight)
        return self.mlp.after_first(self.mlp.read(last_layer(rows), folded, generator), generator)
