"""The perceptron that reads a pair's representation, and a decoder of the last layers."""

from __future__ import annotations

from typing import Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn

from mgae.core.decoders.base import Decoder, DecoderSettings, last_layer
from mgae.core.encoders import EncoderSettings
from mgae.core.ops.backend import multiplies_bfloat16
from mgae.core.ops.dropout import dropout
from mgae.core.ops.perceptron import Layer, perceptron
from mgae.registry import DECODERS


class MLPSettings(DecoderSettings):
    """The multilayer perceptron that reads a pair's representation."""

    num_layers: int = Field(2, ge=1, description="linear layers of the MLP")
    hidden_channels: int = Field(256, ge=1, description="D, the width of its hidden layers")
    dropout: float = Field(0.5, ge=0, lt=1, description="dropout on its hidden layers")
    precision: Literal["float32", "bfloat16"] | None = Field(
        None,
        description="what its first layer multiplies in while it trains; absent: float32, as where "
        "the processor has no instructions for bfloat16",
    )


class PairMLPSettings(MLPSettings):
    """Settings of a decoder that sees the last layer only."""

    combine: Literal["hadamard", "concat", "absdiff"] = Field(
        "hadamard", description="how the two ends become one vector"
    )


class MLP(nn.Module):
    """Linear layers with ReLU and dropout between them, down to one number."""

    def __init__(self, in_width: int, settings: MLPSettings) -> None:
        super().__init__()
        widths = [in_width] + [settings.hidden_channels] * (settings.num_layers - 1)
        self.hidden = nn.ModuleList(map(nn.Linear, widths, widths[1:]))
        self.last = nn.Linear(widths[-1], 1)
        self.dropout = settings.dropout
        self.precision = settings.precision

    @property
    def first(self) -> nn.Linear:
        """The layer that reads the pair's representation."""
        return cast(nn.Linear, self.hidden[0] if len(self.hidden) else self.last)

    def forward(self, pairs: Tensor, generator: torch.Generator | None) -> Tensor:
        """[..., in_width] → [...]."""
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
        """What the first layer multiplies in, None for what it is given; evaluation is exact."""
        lowered = self.precision == "bfloat16" and generator is not None
        there = lowered and multiplies_bfloat16(self.last.weight.device.type)
        return torch.bfloat16 if there else None

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


@DECODERS.register("mlp", settings=PairMLPSettings, summary="an MLP on the two ends' last layers")
class PairMLPDecoder(Decoder):
    """MLP(combine(h_v, h_u)) with ⊙, ‖ or |·−·|."""

    reads_last_only = True

    def __init__(self, settings: PairMLPSettings, encoder: EncoderSettings) -> None:
        super().__init__()
        self.combine = settings.combine
        self.symmetric = settings.combine != "concat"
        ends = 2 if settings.combine == "concat" else 1
        self.mlp = MLP(ends * encoder.hidden_channels, settings)

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
