"""DECODE: how likely a pair is an edge, as a logit, from the layers of both ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement
from typing import ClassVar, Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn

from mgae.encoders import EncoderSettings
from mgae.ops.crosscorrelation import cross_correlation
from mgae.ops.dropout import dropout
from mgae.registry import DECODERS
from mgae.settings import PartSettings


class DecoderSettings(PartSettings):
    """A decoder without settings of its own."""

    section: ClassVar[str] = "decoder"


class MLPSettings(DecoderSettings):
    """The multilayer perceptron that reads a pair's representation."""

    num_layers: int = Field(2, ge=1, description="linear layers of the MLP")
    hidden_channels: int = Field(256, ge=1, description="D, the width of its hidden layers")
    dropout: float = Field(0.5, ge=0, lt=1, description="dropout on its hidden layers")


class CrossCorrelationSettings(MLPSettings):
    """Settings of the paper's decoder."""

    symmetric: bool = Field(False, description="score(u, v) = score(v, u): W_kj = W_jk")


class PairMLPSettings(MLPSettings):
    """Settings of a decoder that sees the last layer only."""

    combine: Literal["hadamard", "concat", "absdiff"] = Field(
        "hadamard", description="how the two ends become one vector"
    )


def stacked(layers: Sequence[Tensor]) -> Tensor:
    """K layers [num_nodes, d] as one tensor [num_nodes, K, d]: a node's rows lie together."""
    return torch.stack(list(layers), dim=1)


class Decoder(nn.Module, ABC):
    """Gives logits [n] for pairs [2, n], from K layers [num_nodes, d]."""

    symmetric: bool = False

    @abstractmethod
    def score(self, heads: Tensor, tails: Tensor, generator: torch.Generator | None) -> Tensor:
        """Logits [n], never probabilities, from all layers of both ends [n, K, d].

        ``generator`` draws the dropout, None in evaluation.
        """

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
        rows = stacked(layers)
        return self.score(rows.index_select(0, pairs[0]), rows.index_select(0, pairs[1]), generator)

    def reset_parameters(self) -> None:
        """Draw every parameter anew."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                module.reset_parameters()


class MLP(nn.Module):
    """Linear layers with ReLU and dropout between them, down to one number."""

    def __init__(self, in_width: int, settings: MLPSettings) -> None:
        super().__init__()
        widths = [in_width] + [settings.hidden_channels] * (settings.num_layers - 1)
        self.hidden = nn.ModuleList(map(nn.Linear, widths, widths[1:]))
        self.last = nn.Linear(widths[-1], 1)
        self.dropout = settings.dropout

    @property
    def first(self) -> nn.Linear:
        """The layer that reads the pair's representation."""
        return cast(nn.Linear, self.hidden[0] if len(self.hidden) else self.last)

    def forward(self, pairs: Tensor, generator: torch.Generator | None) -> Tensor:
        """[..., in_width] → [...]."""
        return self.after_first(self.first(pairs), generator)

    def after_first(self, read: Tensor, generator: torch.Generator | None) -> Tensor:
        """What follows once the first layer has read a pair: [..., width] → [...]."""
        if not len(self.hidden):
            return read.squeeze(-1)
        for layer in [*self.hidden[1:], self.last]:
            read = layer(dropout(torch.relu(read), self.dropout, generator))
        return read.squeeze(-1)


@DECODERS.register(
    "cross-correlation",
    settings=CrossCorrelationSettings,
    summary="every layer of one end times every layer of the other, then an MLP",
    paper="MGAE, Eq. 2",
)
class CrossCorrelationDecoder(Decoder):
    """MLP(‖_{k,j} h_v^(k) ⊙ h_u^(j)).

    The symmetric form ties W_kj = W_jk: the products (k, j) and (j, k) are added before the MLP,
    so that K(K+1)/2 blocks remain and the order of the ends does not matter.
    """

    def __init__(self, settings: CrossCorrelationSettings, encoder: EncoderSettings) -> None:
        super().__init__()
        depth = encoder.num_layers
        self.symmetric = settings.symmetric or depth == 1
        blocks = depth * (depth + 1) // 2 if self.symmetric else depth * depth
        self.mlp = MLP(blocks * encoder.hidden_channels, settings)

    def score(self, heads: Tensor, tails: Tensor, generator: torch.Generator | None) -> Tensor:
        """Eq. 2 of the paper, read by the MLP."""
        crossed = _tied(heads, tails) if self.symmetric else cross_correlation(heads, tails)
        logits: Tensor = self.mlp(crossed, generator)
        return logits

    def score_all(self, heads: Tensor, rows: Tensor, generator: torch.Generator | None) -> Tensor:
        """Fold each head into the first weights once, Σ_k diag(h_v^(k))·W_kj.

        A tail then costs K·d products with them instead of K²·d.
        """
        first = self.mlp.first
        folded = torch.einsum("hkd,okjd->hjdo", heads, self._blocks(first.weight, heads.size(1)))
        read = rows.flatten(1) @ folded.flatten(1, 2) + first.bias
        return self.mlp.after_first(read, generator)

    def against(self, head: Tensor, both: bool) -> Callable[[Tensor], Tensor]:
        """Fold the head in as W_kj's first index and as its second one, side by side."""
        first, orders = self.mlp.first, ["okjd", "ojkd"][: 2 if both and not self.symmetric else 1]
        blocks = self._blocks(first.weight, head.size(0))
        sides = [torch.einsum(f"kd,{order}->jdo", head, blocks).flatten(0, 1) for order in orders]
        folded, bias = torch.cat(sides, dim=1), first.bias.repeat(len(orders))

        def score(rows: Tensor) -> Tensor:
            read = torch.addmm(bias, rows.flatten(1), folded)
            return self.mlp.after_first(
                read.view(len(rows), len(orders), first.out_features), None
            ).mean(dim=1)

        return score

    def _blocks(self, weight: Tensor, depth: int) -> Tensor:
        """W_kj for all k and j: [width, K, K, d]."""
        if not self.symmetric:
            return weight.view(weight.size(0), depth, depth, -1)
        order = list(combinations_with_replacement(range(depth), 2))
        place = [order.index((min(k, j), max(k, j))) for k in range(depth) for j in range(depth)]
        blocks = weight.view(weight.size(0), len(order), -1)[:, place]
        return blocks.view(weight.size(0), depth, depth, -1)


def _tied(heads: Tensor, tails: Tensor) -> Tensor:
    """[n, K, d] and [n, K, d] → [n, K(K+1)/2·d], the blocks (k, j) and (j, k) added."""
    blocks = []
    for k, j in combinations_with_replacement(range(heads.size(1)), 2):
        block = heads[:, k] * tails[:, j]
        blocks.append(block if k == j else block + heads[:, j] * tails[:, k])
    return torch.cat(blocks, dim=1)


@DECODERS.register("mlp", settings=PairMLPSettings, summary="an MLP on the two ends' last layers")
class PairMLPDecoder(Decoder):
    """MLP(combine(h_v, h_u)) with ⊙, ‖ or |·−·|."""

    def __init__(self, settings: PairMLPSettings, encoder: EncoderSettings) -> None:
        super().__init__()
        self.combine = settings.combine
        self.symmetric = settings.combine != "concat"
        ends = 2 if settings.combine == "concat" else 1
        self.mlp = MLP(ends * encoder.hidden_channels, settings)

    def score(self, heads: Tensor, tails: Tensor, generator: torch.Generator | None) -> Tensor:
        """Combine the ends, then read them."""
        heads, tails = heads[:, -1], tails[:, -1]
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
        first = self.mlp.first
        folded = torch.einsum("hd,od->hdo", heads[:, -1], first.weight)
        return self.mlp.after_first(rows[:, -1] @ folded + first.bias, generator)


@DECODERS.register(
    "inner-product",
    settings=DecoderSettings,
    summary="the inner product of the two ends' last layers",
    paper="Kipf and Welling, Variational Graph Auto-Encoders, 2016",
)
class InnerProductDecoder(Decoder):
    """h_v · h_u."""

    symmetric = True

    def __init__(self, settings: DecoderSettings, encoder: EncoderSettings) -> None:
        super().__init__()

    def score(self, heads: Tensor, tails: Tensor, generator: torch.Generator | None) -> Tensor:
        """One product per pair."""
        return (heads[:, -1] * tails[:, -1]).sum(dim=1)

    def score_all(self, heads: Tensor, rows: Tensor, generator: torch.Generator | None) -> Tensor:
        """One product of two matrices."""
        return heads[:, -1] @ rows[:, -1].t()
