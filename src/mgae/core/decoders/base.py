"""What a decoder is: logits of pairs, from the layers of both ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from mgae.settings import PartSettings


class DecoderSettings(PartSettings):
    """A decoder without settings of its own."""

    section: ClassVar[str] = "decoder"


def stacked(layers: Sequence[Tensor]) -> Tensor:
    """K layers [num_nodes, d] as one tensor [num_nodes, K, d]: a node's rows lie together."""
    return torch.stack(list(layers), dim=1)


def last_layer(rows: Tensor) -> Tensor:
    """[n, d] of [n, K, d]; of a single layer the gradient is not filled up with zeros."""
    return rows.squeeze(1) if rows.size(1) == 1 else rows[:, -1]


class Decoder(nn.Module, ABC):
    """Gives logits [n] for pairs [2, n], from K layers [num_nodes, d]."""

    symmetric: bool = False
    reads_last_only: bool = False

    def rows(self, layers: Sequence[Tensor]) -> Tensor:
        """What it reads of the layers, a node's together: [num_nodes, K, d], or of the last one."""
        return stacked(layers[-1:] if self.reads_last_only else layers)

    @abstractmethod
    def score(self, heads: Tensor, tails: Tensor, generator: torch.Generator | None) -> Tensor:
        """Logits [n], never probabilities, from all layers of both ends [n, K, d].

        Where it reads the last layer only, that one alone will do.

        ``generator`` draws the dropout, None in evaluation.
        """

    def score_both(self, heads: Tensor, tails: Tensor) -> Tensor:
        """The mean of both orders' logits [n], in evaluation."""
        logits = self.score(heads, tails, None)
        if not self.symmetric:
            logits = (logits + self.score(tails, heads, None)) / 2
        return logits

    def score_all(self, heads: Tensor, rows: Tensor, generator: torch.Generator | None) -> Tensor:
        """Logits [h, num_nodes] of each of ``heads`` [h, K, d] with all ``rows`` as tails."""
        count, num_nodes = heads.size(0), rows.size(0)
        ends = heads.repeat_interleave(num_nodes, dim=0), rows.repeat(count, 1, 1)
        return self.score(*ends, generator).view(count, num_nodes)

    def against(self, head: Tensor, both: bool) -> Callable[[Tensor], Tensor]:
        """A function from tails [n, K, d] to their logits [n] with one ``head`` [K, d].

        What the head alone decides is done once. ``both`` asks for the mean of both orders.
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
        """Logits [n] for ``pairs`` [2, n]."""
        rows = self.rows(layers)
        return self.score(rows.index_select(0, pairs[0]), rows.index_select(0, pairs[1]), generator)

    def reset_parameters(self) -> None:
        """Draw every parameter anew."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                module.reset_parameters()
