"""What a decoder is, and the perceptron that most of them end in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from mgae.core.ops.backend import multiplies_bfloat16
from mgae.core.ops.decoding import Layer, perceptron
from mgae.core.ops.dropout import dropout


def stacked(layers: Sequence[Tensor]) -> Tensor:
    """Stack K layers [num_nodes, d] as [num_nodes, K, d]: a node's rows lie together."""
    return torch.stack(list(layers), dim=1)


def last_layer(rows: Tensor) -> Tensor:
    """Return [n, d] of [n, K, d]; for a single layer without a gradient full of zeros."""
    return rows.squeeze(1) if rows.size(1) == 1 else rows[:, -1]


class Decoder(nn.Module, ABC):
    """Gives logits [n] for pairs [2, n], from K layers [num_nodes, d].

    A subclass takes ``in_channels`` (d) and ``in_layers`` (K) first, then its own arguments.
    """

    symmetric: bool = False  # whether the order of the two ends does not matter
    reads_last_only: bool = False  # whether the last layer alone is read

    def rows(self, layers: Sequence[Tensor]) -> Tensor:
        """Stack the layers that it reads: [num_nodes, K, d], or [num_nodes, 1, d]."""
        return stacked(layers[-1:] if self.reads_last_only else layers)

    @abstractmethod
    def score(self, heads: Tensor, tails: Tensor, generator: torch.Generator | None) -> Tensor:
        """Return logits [n], never probabilities, from all layers of both ends [n, K, d].

        A decoder that reads the last layer only takes [n, 1, d] too.

        ``generator`` draws the dropout, None in evaluation.
        """

    def score_both(self, heads: Tensor, tails: Tensor) -> Tensor:
        """Return the mean of both orders' logits [n], in evaluation."""
        logits = self.score(heads, tails, None)
        if not self.symmetric:
            logits = (logits + self.score(tails, heads, None)) / 2
        return logits

    def score_all(self, heads: Tensor, rows: Tensor, generator: torch.Generator | None) -> Tensor:
        """Return logits [h, num_nodes] of ``heads`` [h, K, d], each with all ``rows`` as tails."""
        count, num_nodes = heads.size(0), rows.size(0)
        ends = heads.repeat_interleave(num_nodes, dim=0), rows.repeat(count, 1, 1)
        return self.score(*ends, generator).view(count, num_nodes)

    def against(self, head: Tensor, both: bool) -> Callable[[Tensor], Tensor]:
        """Return a function from tails [n, K, d] to their logits [n] with one ``head`` [K, d].

        What depends on the head alone is computed once. ``both`` asks for the mean of both orders.
        """

        def score(rows: Tensor) -> Tensor:
            logits = self.score_all(head.unsqueeze(0), rows, None)[0]
            if both and not self.symmetric:
                logits = (logits + self.score(rows, head.expand_as(rows), None)) / 2
            return logits

        return score

    def forward(
        self, layers: Sequence[Tensor], pairs: Tensor, generator: torch.Generator | None
    ) -> Tensor:
        """Return logits [n] for ``pairs`` [2, n]."""
        rows = self.rows(layers)
        return self.score(rows.index_select(0, pairs[0]), rows.index_select(0, pairs[1]), generator)

    def reset_parameters(self) -> None:
        """Draw every parameter anew."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                module.reset_parameters()


class MLP(nn.Module):
    """Linear layers with ReLU and dropout between them, down to one number.

    Args:
        in_channels: the width of what it reads.
        hidden_channels: D, the width of its hidden layers.
        num_layers: its linear layers.
        dropout: dropout on its hidden layers.
        precision: what the first layer multiplies in while it trains: "float32"; or "bfloat16"
            or "auto", which are bfloat16 on devices that have instructions for it.
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
        """Map [..., in_channels] to [...]."""
        if len(self.hidden) == 1 and pairs.dim() == 2:
            return perceptron(
                pairs, *self.two_layers, self.dropout, generator, self.dtype(generator)
            )
        return self.after_first(self.read(pairs, self.first.weight.t(), generator), generator)

    def read(self, rows: Tensor, weight: Tensor, generator: torch.Generator | None) -> Tensor:
        """Return ``rows @ weight`` plus the first layer's bias, in training in its precision."""
        dtype = self.dtype(generator)
        if dtype is None:
            return rows @ weight + self.first.bias
        return (rows.to(dtype) @ weight.to(dtype)).to(rows.dtype) + self.first.bias

    def dtype(self, generator: torch.Generator | None) -> torch.dtype | None:
        """Return what the first layer multiplies in, None for what it is given.

        Evaluation is exact.
        """
        lowered = self.precision != "float32" and generator is not None
        supported = lowered and multiplies_bfloat16(self.last.weight.device.type)
        return torch.bfloat16 if supported else None

    @property
    def two_layers(self) -> tuple[Layer, Layer]:
        """Weight and bias of the first and of the last layer, where there are no others."""
        return (self.first.weight, self.first.bias), (self.last.weight, self.last.bias)

    def after_first(self, read: Tensor, generator: torch.Generator | None) -> Tensor:
        """Apply all but the first layer: [..., width] → [...]."""
        if not len(self.hidden):
            return read.squeeze(-1)
        for layer in [*self.hidden[1:], self.last]:
            read = layer(dropout(torch.relu(read), self.dropout, generator))
        return read.squeeze(-1)

    def reset_parameters(self) -> None:
        """Draw every parameter anew."""
        for layer in (*self.hidden, self.last):
            cast(nn.Linear, layer).reset_parameters()
