"""LOSS: how wrong the decoder is about the masked edges, always from logits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import softplus

from mgae.core.decoders import Decoder
from mgae.core.errors import UnsupportedError
from mgae.core.negatives import NegativeSampler
from mgae.core.ops.chunks import Take, chunked_sum
from mgae.core.seeding import Generators
from mgae.registry import LOSSES
from mgae.settings import PartSettings


class LossSettings(PartSettings):
    """A loss without settings of its own."""

    section: ClassVar[str] = "loss"


class SampledLossSettings(LossSettings):
    """A loss that looks at some pairs that are no edges."""

    num_negatives: int = Field(1, ge=1, description="m, the negatives drawn per masked edge")


class SampledSoftmaxSettings(SampledLossSettings):
    """A softmax is only as sharp as its competitors are many."""

    num_negatives: int = Field(32, ge=1, description="m, the tails drawn per masked edge")


class FullSoftmaxSettings(LossSettings):
    """The exact loss, as long as it can be afforded."""

    max_pairs: int = Field(
        100_000_000, ge=1, description="refuse a step that would decode more pairs than this"
    )


class Loss(ABC):
    """The mean loss over masked edges; memory follows ``chunk`` and not their number."""

    @abstractmethod
    def __call__(
        self,
        decoder: Decoder,
        layers: Sequence[Tensor],
        positives: Tensor,
        negatives: NegativeSampler,
        generators: Generators,
        chunk: int,
    ) -> Tensor:
        """A scalar for ``positives`` [2, n], differentiable in the layers and the decoder."""


class SampledLoss(Loss):
    """Each masked edge stands in a row with its m negatives; a subclass says what a row costs."""

    def __init__(self, settings: SampledLossSettings) -> None:
        self.num_negatives = settings.num_negatives

    @abstractmethod
    def draw(
        self, positives: Tensor, negatives: NegativeSampler, generator: torch.Generator
    ) -> Tensor:
        """The negatives of each row: [2, n, m]; a tail of -1 is no pair at all."""

    @abstractmethod
    def cost(self, logits: Tensor) -> Tensor:
        """The summed cost of rows [n, 1 + m], the masked edge first; no pair has the logit -inf."""

    def __call__(
        self,
        decoder: Decoder,
        layers: Sequence[Tensor],
        positives: Tensor,
        negatives: NegativeSampler,
        generators: Generators,
        chunk: int,
    ) -> Tensor:
        """Rows in chunks, each with its negatives."""
        drawn = self.draw(positives, negatives, generators["negatives"])
        rows = torch.cat([positives.unsqueeze(2), drawn], dim=2)
        absent = rows[1] < 0
        whole = not bool(absent.any())
        heads, tails = rows.clamp(min=0)

        def cost(take: Take, part: slice) -> Tensor:
            ends = take(heads[part].flatten()), take(tails[part].flatten())
            logits = decoder.score(*ends, generators["dropout"]).view(-1, rows.size(2))
            if not whole:
                logits = logits.masked_fill(absent[part], -torch.inf)
            return self.cost(logits) / num_rows

        num_rows, row_chunk = positives.size(1), max(1, chunk // rows.size(2))
        return chunked_sum(cost, decoder.rows(layers), decoder.parameters(), num_rows, row_chunk)


@LOSSES.register(
    "bce",
    settings=SampledLossSettings,
    summary="binary cross-entropy against random pairs; what the authors' code does",
)
class BinaryCrossEntropy(SampledLoss):
    """-log σ(y_pos) - mean log(1 - σ(y_neg)), the negatives anywhere in the graph."""

    def draw(
        self, positives: Tensor, negatives: NegativeSampler, generator: torch.Generator
    ) -> Tensor:
        """Any free pairs."""
        count = positives.size(1)
        return negatives.sample(count * self.num_negatives, generator).view(2, count, -1)

    def cost(self, logits: Tensor) -> Tensor:
        """Stable for logits of any size."""
        sign, share = logits.new_ones(logits.size(1)), logits.new_ones(logits.size(1))
        sign[0], share[1:] = -1, 1 / self.num_negatives
        return (softplus(logits * sign) @ share).sum()


@LOSSES.register(
    "sampled-softmax",
    settings=SampledSoftmaxSettings,
    summary="Eq. 3 with the sum over m random tails of the same head",
)
class SampledSoftmax(SampledLoss):
    """-log of the masked edge's share among itself and m pairs with the same head."""

    def draw(
        self, positives: Tensor, negatives: NegativeSampler, generator: torch.Generator
    ) -> Tensor:
        """Free pairs with the positive's head."""
        tails = negatives.sample_tails(positives[0], self.num_negatives, generator)
        return torch.stack([positives[0].unsqueeze(1).expand_as(tails), tails])

    def cost(self, logits: Tensor) -> Tensor:
        """logsumexp over the row, less the positive."""
        return (logits.logsumexp(dim=1) - logits[:, 0]).sum()


@LOSSES.register(
    "softmax",
    settings=FullSoftmaxSettings,
    summary="Eq. 3 exactly: the sum runs over every node",
    paper="MGAE, Eq. 3",
)
class FullSoftmax(Loss):
    """-log exp(y_vu) / Σ_z exp(y_vz); the sum is formed once per head."""

    def __init__(self, settings: FullSoftmaxSettings) -> None:
        self.max_pairs = settings.max_pairs

    def __call__(
        self,
        decoder: Decoder,
        layers: Sequence[Tensor],
        positives: Tensor,
        negatives: NegativeSampler,
        generators: Generators,
        chunk: int,
    ) -> Tensor:
        """Heads in chunks, each against all nodes; a single head may exceed ``chunk`` pairs."""
        num_nodes = negatives.num_nodes
        heads, row = torch.unique(positives[0], return_inverse=True)
        if heads.numel() * num_nodes > self.max_pairs:
            raise UnsupportedError(
                f"the full softmax would decode {heads.numel() * num_nodes:,} pairs a step and "
                f"loss.max_pairs is {self.max_pairs:,}: use loss.kind = 'sampled-softmax'"
            )
        order = torch.argsort(row)
        row, tails = row[order], positives[1][order]

        def cost(take: Take, part: slice) -> Tensor:
            tails_of_all = take(torch.arange(num_nodes))
            logits = decoder.score_all(take(heads[part]), tails_of_all, generators["dropout"])
            here = (row >= part.start) & (row < part.stop)
            at = row[here] - part.start
            costs: Tensor = logits.logsumexp(dim=1)[at] - logits[at, tails[here]]
            return costs.sum() / positives.size(1)

        head_chunk = max(1, chunk // num_nodes)
        parameters = decoder.parameters()
        return chunked_sum(cost, decoder.rows(layers), parameters, heads.numel(), head_chunk)
