"""What a decoder is: logits of pairs, from the layers of both ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn


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
