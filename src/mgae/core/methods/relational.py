"""A masked autoencoder for graphs whose edges have types: mask, encode, decode, loss.

The encoder is that of R-GCN (Schlichtkrull et al., 2018): a type and a direction weigh a few shared
matrices. The decoder has a vector for each type: Σ of source ⊙ type ⊙ target, where the two ends
are mapped by matrices of their own, so that "buys" is not "is bought by".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from mgae.core.encoders import EmbeddingTable, Features, Inputs, NodeFeatures
from mgae.core.errors import ConfigError
from mgae.core.graph import MessageGraph
from mgae.core.methods.base import Method
from mgae.core.negatives import TypedSampler
from mgae.core.ops.backend import bring
from mgae.core.ops.dropout import dropout
from mgae.core.seeding import Generators

_PAIRS_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class TypedMessages:
    """Typed edges as messages: each sends along its direction, and against it as another type.

    Attributes:
        source, target: [2T].
        kind: the type; of the second half the type + the number of types [2T].
        share: 1 / how many messages of its kind the target gets [2T].
    """

    source: Tensor
    target: Tensor
    kind: Tensor
    share: Tensor

    @classmethod
    def of(cls, triples: Tensor, num_nodes: int, num_types: int) -> TypedMessages:
        """Take triples (source, target, type) [3, T]."""
        source, target = torch.cat([triples[:2], triples[:2].flip(0)], dim=1)
        kind = torch.cat([triples[2], triples[2] + num_types])
        _, group, count = torch.unique(
            kind * num_nodes + target, return_inverse=True, return_counts=True
        )
        return cls(source, target, kind, 1 / count[group].float())


class RelationalLayer(nn.Module):
    """h W + b + Σ over types of the mean of the neighbors, times Σ_b c_b V_b of the type."""

    def __init__(self, in_channels: int, out_channels: int, num_kinds: int, num_bases: int) -> None:
        super().__init__()
        self.own = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bases = nn.Parameter(torch.empty(num_bases, in_channels, out_channels))
        self.mix = nn.Parameter(torch.empty(num_kinds, num_bases))
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.reset_parameters()

    def forward(self, h: Features, messages: TypedMessages) -> Tensor:
        """Map [num_nodes, in_channels] to [num_nodes, out_channels]."""
        total: Tensor = h @ self.own + self.bias
        weight = self.mix[messages.kind] * messages.share.unsqueeze(1)
        for number, basis in enumerate(self.bases):
            sent = (h @ basis).index_select(0, messages.source) * weight[:, number, None]
            total = total.index_add(0, messages.target, sent)
        return total

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        nn.init.xavier_uniform_(self.own)
        for basis in self.bases.data:
            nn.init.xavier_uniform_(basis)
        nn.init.xavier_uniform_(self.mix, gain=2.0)
        nn.init.zeros_(self.bias)


@dataclass(frozen=True, eq=False)
class EncodedTypes:
    """Every node as a source and as a target [num_nodes, c], and who is which of what type.

    Attributes:
        sends: whether a node is the source of an edge of a type [num_types, num_nodes].
        receives: whether it is the target of one.
        undirected: whether a pair without a type is the same as its reverse.
    """

    source: Tensor
    target: Tensor
    sends: Tensor
    receives: Tensor
    undirected: bool


class RelationalAutoencoder(Method):
    """Hides typed edges, encodes the rest, and predicts the hidden ones with their types.

    Edges without types are all of one. Asked about a pair without a type, it answers for the
    likeliest one.

    Args:
        num_nodes: rows of the table, if there are no features.
        num_features: F of the graph; 0: a learned table.
        num_types: types of edges.
        channels: width of a layer and of the decoder.
        num_layers: K.
        num_bases: matrices that all types share.
        ratio: share of the edges that is hidden.
        num_negatives: pairs of the same type for each hidden edge that are none.
        dropout: between layers.
        step_size: hidden edges per optimizer step; None: all of them.
    """

    typed: ClassVar[bool] = True

    def __init__(
        self,
        num_nodes: int,
        num_features: int = 0,
        num_types: int = 1,
        channels: int = 32,
        num_layers: int = 2,
        num_bases: int = 4,
        ratio: float = 0.5,
        num_negatives: int = 4,
        dropout: float = 0.2,
        step_size: int | None = None,
    ) -> None:
        super().__init__()
        self.num_types, self.ratio, self.num_negatives = num_types, ratio, num_negatives
        self.dropout, self.step_size = dropout, step_size
        self.inputs: Inputs = (
            NodeFeatures(num_features) if num_features else EmbeddingTable(num_nodes, channels)
        )
        widths = [num_features or channels] + [channels] * (num_layers - 1)
        self.layers = nn.ModuleList(
            RelationalLayer(width, channels, 2 * num_types, num_bases) for width in widths
        )
        self.source, self.target = (nn.Linear(num_layers * channels, channels) for _ in range(2))
        self.types = nn.Parameter(torch.empty(num_types, channels))
        self.bias = nn.Parameter(torch.empty(num_types))
        self._reset_types()

    def losses(self, graph: MessageGraph, generators: Generators) -> Iterator[tuple[Tensor, str]]:
        """Hide a share of the pairs anew, then yield a loss for each step of hidden edges."""
        triples, sampler = graph.typed_edges, TypedSampler.of(graph)
        hidden = self._hidden(triples, graph.num_nodes, generators["mask"])
        visible = TypedMessages.of(triples[:, ~hidden], graph.num_nodes, self.num_types)
        targets = triples[:, hidden]
        order = torch.randperm(targets.size(1), generator=generators["mask"])
        targets = targets[:, bring(order, targets.device)]
        for step in targets.split(self.step_size or targets.size(1), dim=1):
            positives, weight = generators.share.of(step)
            chance = generators.own("negatives")
            negatives = sampler.sample(positives, self.num_negatives, chance)
            source, target = self._ends(graph, visible, generators["dropout"])
            logits = self._score(source, target, positives)
            others = self._score(source, target, negatives)
            yield weight * (softplus(-logits).mean() + softplus(others).mean()), "model"

    def _hidden(self, triples: Tensor, num_nodes: int, generator: torch.Generator) -> Tensor:
        """Return which edges to hide [T]: a pair with all its types, or not at all."""
        ends = triples[:2].sort(dim=0).values
        pairs, pair = torch.unique(ends[0] * num_nodes + ends[1], return_inverse=True)
        count = round(self.ratio * pairs.numel())
        if not count:
            raise ConfigError(f"method.ratio {self.ratio} hides no edge of this graph: raise it")
        chosen = torch.zeros_like(pairs, dtype=torch.bool)
        order = torch.randperm(pairs.numel(), generator=generator)[:count]
        chosen[bring(order, pairs.device)] = True
        return chosen[pair]

    def _ends(
        self, graph: MessageGraph, messages: TypedMessages, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:
        """Return each node as a source and as a target: two tensors [num_nodes, channels]."""
        h: Features = self.inputs(graph, generator)
        outputs: list[Tensor] = []
        for layer in self.layers:
            outputs.append(torch.relu(layer(h, messages)))
            h = dropout(outputs[-1], self.dropout, generator)
        rows = torch.cat(outputs, dim=1)
        return self.source(rows), self.target(rows)

    def _score(self, source: Tensor, target: Tensor, triples: Tensor) -> Tensor:
        ends = source.index_select(0, triples[0]) * target.index_select(0, triples[1])
        return (ends * self.types[triples[2]]).sum(dim=1) + self.bias[triples[2]]

    @torch.no_grad()
    def encode(self, graph: MessageGraph) -> EncodedTypes:
        """Return every node from all the edges of ``graph``."""
        self.eval()
        triples = graph.typed_edges
        messages = TypedMessages.of(triples, graph.num_nodes, self.num_types)
        shape = (2, self.num_types, graph.num_nodes)
        roles = torch.zeros(shape, dtype=torch.bool, device=triples.device)
        roles[0, triples[2], triples[0]] = roles[1, triples[2], triples[1]] = True
        source, target = self._ends(graph, messages, None)
        return EncodedTypes(source, target, roles[0], roles[1], graph.undirected)

    def embed(self, graph: MessageGraph) -> Tensor:
        """Return each node as a source and as a target, side by side: [num_nodes, 2 channels]."""
        encoded = self.encode(graph)
        return torch.cat([encoded.source, encoded.target], dim=1)

    @torch.no_grad()
    def score_links(self, encoded: EncodedTypes, pairs: Tensor) -> Tensor:
        """Return logits of pairs [2, n] for their likeliest type, or of triples [3, n]."""
        chunks = [self._score_some(encoded, some) for some in pairs.split(_PAIRS_AT_ONCE, dim=1)]
        return torch.cat(chunks)

    def _score_some(self, encoded: EncodedTypes, pairs: Tensor) -> Tensor:
        if pairs.size(0) == 3:
            return self._score(encoded.source, encoded.target, pairs)
        best = self._all_types(encoded, pairs).amax(dim=1)
        if encoded.undirected:
            best = torch.maximum(best, self._all_types(encoded, pairs.flip(0)).amax(dim=1))
        return best

    def _all_types(self, encoded: EncodedTypes, pairs: Tensor) -> Tensor:
        """Return logits [n, num_types]."""
        ends = encoded.source[pairs[0]] * encoded.target[pairs[1]]
        return torch.addmm(self.bias, ends, self.types.t())

    @torch.no_grad()
    def score_typed_tails(
        self, encoded: EncodedTypes, heads: Tensor, tails: Tensor, kind: int
    ) -> Tensor:
        """Return logits [h, n] of edges of a type from the heads to the tails.

        A head that is only ever the target of such edges is asked about as their target.
        """
        forward = (encoded.source[heads] * self.types[kind]) @ encoded.target[tails].t()
        backward = (encoded.target[heads] * self.types[kind]) @ encoded.source[tails].t()
        turned = encoded.receives[kind, heads] & ~encoded.sends[kind, heads]
        scores = torch.where(turned.unsqueeze(1), backward, forward)
        return scores + self.bias[kind]

    def reset_parameters(self) -> None:
        """Draw every parameter anew."""
        super().reset_parameters()
        self._reset_types()

    def _reset_types(self) -> None:
        nn.init.normal_(self.types, mean=1.0, std=0.5)
        nn.init.zeros_(self.bias)
