"""LOSS: how wrong the decoder is about the masked edges, always from logits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import softplus

from mgae.core.decoders import Decoder
from mgae.core.errors import UnsupportedError
from mgae.core.negatives import NegativeSampler
from mgae.core.ops.chunks import Take, chunked_sum


class Loss(ABC):
    """The mean loss over masked edges; memory follows ``chunk`` and not their number."""

    samplable: ClassVar[bool] = True  # whether it can do with the nodes of its own pairs

    @abstractmethod
    def draw(
        self, positives: Tensor, sampler: NegativeSampler, generator: torch.Generator
    ) -> Tensor:
        """Draw the negatives of ``positives`` [2, n]: [2, n, m]; a tail of -1 is no pair."""

    @abstractmethod
    def __call__(
        self,
        decoder: Decoder,
        layers: Sequence[Tensor],
        positives: Tensor,
        negatives: Tensor,
        generator: torch.Generator | None,
        chunk: int,
    ) -> Tensor:
        """Return a scalar, differentiable in the layers and the decoder.

        Args:
            decoder: scores pairs.
            layers: K tensors [num_nodes, d].
            positives: masked edges [2, n].
            negatives: what `draw` gave for them.
            generator: draws the dropout.
            chunk: pairs that are decoded at once.
        """


class SampledLoss(Loss):
    """Each masked edge stands in a row with its m negatives; a subclass says what a row costs.

    Args:
        num_negatives: m.
    """

    may_lack_negatives: ClassVar[bool] = False  # whether `draw` may give tails that are -1

    def __init__(self, num_negatives: int = 1) -> None:
        self.num_negatives = num_negatives

    @abstractmethod
    def cost(self, logits: Tensor) -> Tensor:
        """Sum the cost of rows [n, 1 + m], the masked edge first; no pair has the logit -inf."""

    def __call__(
        self,
        decoder: Decoder,
        layers: Sequence[Tensor],
        positives: Tensor,
        negatives: Tensor,
        generator: torch.Generator | None,
        chunk: int,
    ) -> Tensor:
        """Decode rows in chunks, each with its negatives."""
        rows = torch.cat([positives.unsqueeze(2), negatives], dim=2)
        absent = rows[1] < 0
        heads, tails = rows.clamp(min=0)

        def cost(take: Take, part: slice) -> Tensor:
            ends = take(heads[part].flatten()), take(tails[part].flatten())
            logits = decoder.score(*ends, generator).view(-1, rows.size(2))
            if self.may_lack_negatives:
                logits = logits.masked_fill(absent[part], -torch.inf)
            return self.cost(logits) / num_rows

        num_rows, row_chunk = positives.size(1), max(1, chunk // rows.size(2))
        return chunked_sum(cost, decoder.rows(layers), decoder.parameters(), num_rows, row_chunk)


class BCE(SampledLoss):
    """Binary cross-entropy, -log σ(y_pos) - mean log(1 - σ(y_neg)), as in the authors' code."""

    def draw(
        self, positives: Tensor, sampler: NegativeSampler, generator: torch.Generator
    ) -> Tensor:
        """Draw free pairs anywhere in the graph."""
        count = positives.size(1)
        return sampler.sample(count * self.num_negatives, generator).view(2, count, -1)

    def cost(self, logits: Tensor) -> Tensor:
        """Stay stable for logits of any size."""
        sign, share = logits.new_ones(logits.size(1)), logits.new_ones(logits.size(1))
        sign[0], share[1:] = -1, 1 / self.num_negatives
        return (softplus(logits * sign) @ share).sum()


class SameHeadLoss(SampledLoss):
    """The negatives of a masked edge are m pairs with the same head."""

    may_lack_negatives = True

    def draw(
        self, positives: Tensor, sampler: NegativeSampler, generator: torch.Generator
    ) -> Tensor:
        """Draw free pairs with the positive's head."""
        tails = sampler.sample_tails(positives[0], self.num_negatives, generator)
        return torch.stack([positives[0].unsqueeze(1).expand_as(tails), tails])


class SampledSoftmax(SameHeadLoss):
    """-log of the masked edge's share among itself and m pairs with the same head (Eq. 3)."""

    def __init__(self, num_negatives: int = 32) -> None:
        super().__init__(num_negatives)

    def cost(self, logits: Tensor) -> Tensor:
        """Return logsumexp over the row, less the positive."""
        return (logits.logsumexp(dim=1) - logits[:, 0]).sum()


class BPR(SameHeadLoss):
    """Bayesian personalized ranking: mean -log σ(y_pos - y_neg) over the same head's negatives."""

    def cost(self, logits: Tensor) -> Tensor:
        """Compare each negative with the positive of its row; no pair costs nothing."""
        return softplus(logits[:, 1:] - logits[:, :1]).sum() / self.num_negatives


class FullSoftmax(Loss):
    """-log exp(y_vu) / Σ_z exp(y_vz), Eq. 3 exactly; the sum is formed once per head.

    Args:
        max_pairs: refuse a step that would decode more pairs than this.
    """

    samplable = False

    def __init__(self, max_pairs: int = 100_000_000) -> None:
        self.max_pairs = max_pairs

    def draw(
        self, positives: Tensor, sampler: NegativeSampler, generator: torch.Generator
    ) -> Tensor:
        """Draw nothing: every node is a negative.

        Raises:
            UnsupportedError: if the graph has two sides, so that not every node is.
        """
        if sampler.sides is not None:
            raise UnsupportedError(
                "the full softmax takes every node as a negative, and this graph is bipartite: "
                "use loss.kind = 'sampled-softmax'"
            )
        return positives.new_empty(2, positives.size(1), 0)

    def __call__(
        self,
        decoder: Decoder,
        layers: Sequence[Tensor],
        positives: Tensor,
        negatives: Tensor,
        generator: torch.Generator | None,
        chunk: int,
    ) -> Tensor:
        """Decode heads in chunks, each against all nodes; one head may exceed ``chunk`` pairs."""
        num_nodes = layers[-1].size(0)
        heads, row = torch.unique(positives[0], return_inverse=True)
        if heads.numel() * num_nodes > self.max_pairs:
            raise UnsupportedError(
                f"the full softmax would decode {heads.numel() * num_nodes:,} pairs a step and "
                f"loss.max_pairs is {self.max_pairs:,}: use loss.kind = 'sampled-softmax'"
            )
        order = torch.argsort(row)
        row, tails = row[order], positives[1][order]

        everyone = torch.arange(num_nodes, device=row.device)

        def cost(take: Take, part: slice) -> Tensor:
            logits = decoder.score_all(take(heads[part]), take(everyone), generator)
            here = (row >= part.start) & (row < part.stop)
            at = row[here] - part.start
            costs: Tensor = logits.logsumexp(dim=1)[at] - logits[at, tails[here]]
            return costs.sum() / positives.size(1)

        head_chunk = max(1, chunk // num_nodes)
        parameters = decoder.parameters()
        return chunked_sum(cost, decoder.rows(layers), parameters, heads.numel(), head_chunk)
