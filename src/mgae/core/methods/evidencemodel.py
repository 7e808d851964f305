"""The evidence model: a small network on what the visible graph says about a pair.

The edges are divided into fixed folds. The evidence of a fold's edges, and of pairs that are no
edges, is computed on the other folds: no edge counts for itself, and what is visible in training
is close to what is visible afterwards. Only the evidence is needed from then on, so that a step
costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from mgae.core.errors import GraphError
from mgae.core.evidence import Evidence, FeatureViews
from mgae.core.evidence.cosines import SmoothedFeatures
from mgae.core.evidence.structure import NAMES
from mgae.core.graph import MessageGraph
from mgae.core.methods.base import Method
from mgae.core.negatives import NegativeSampler
from mgae.core.ops.dropout import dropout
from mgae.core.seeding import Generators

_OUTLIER = 5.0  # standardized evidence is cut off here
_TAILS_PER_HEAD = 4  # of negatives: a head's walk serves several of them
_SCORES_AT_ONCE = 1 << 17


@dataclass(frozen=True, eq=False)
class FoldedEvidence:
    """Evidence [·, F] of the edges of all folds, each from the other folds, and of other pairs."""

    positives: Tensor
    negatives: Tensor

    @classmethod
    def of(
        cls, graph: MessageGraph, folds: int, max_edges: int, generator: torch.Generator
    ) -> FoldedEvidence:
        """Compute the evidence of at most ``max_edges`` edges and twice as many other pairs."""
        views = None if graph.x is None else FeatureViews.of(graph.x)
        number = torch.randperm(graph.pairs.size(1), generator=generator) % folds
        share = -(-max_edges // folds)
        positives, negatives = [], []
        for fold in range(folds):
            hidden = hideable(graph, number == fold)
            evidence = Evidence(graph.only(~hidden[graph.pair_of_edge]), views)
            edges = graph.pairs[:, hidden]
            chosen = torch.randperm(edges.size(1), generator=generator)[:share]
            positives.append(evidence.pairs(edges[:, chosen].numpy()))
            others = uniform_pairs(graph, 2 * max(1, chosen.numel()), generator)
            negatives.append(evidence.pairs(others.numpy()))
        return cls(
            torch.from_numpy(np.concatenate(positives)), torch.from_numpy(np.concatenate(negatives))
        )


def hideable(graph: MessageGraph, hidden: Tensor) -> Tensor:
    """Return which of the ``hidden`` pairs [E] leave both of their ends another edge.

    A node without edges would give away that one of them was hidden.
    """
    left = torch.bincount(graph.pairs[:, ~hidden].flatten(), minlength=graph.num_nodes)
    return hidden & (left[graph.pairs] > 0).all(dim=0)


def uniform_pairs(graph: MessageGraph, count: int, generator: torch.Generator) -> Tensor:
    """Draw about ``count`` pairs [2, n] with uniform ends that are no edges of the graph."""
    heads = torch.randint(graph.num_nodes, (-(-count // _TAILS_PER_HEAD),), generator=generator)
    tails = NegativeSampler.of(graph).sample_tails(heads, _TAILS_PER_HEAD, generator)
    pairs = torch.stack([heads.repeat_interleave(_TAILS_PER_HEAD), tails.flatten()])
    return pairs[:, pairs[1] >= 0]


@dataclass(eq=False)
class EncodedEvidence:
    """The evidence of one graph; that of the last pairs asked about is kept, as in validation."""

    evidence: Evidence
    _kept: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    def pairs(self, pairs: Tensor) -> Tensor:
        """Return the evidence [n, F] of pairs [2, n]."""
        for asked, values in self._kept:
            if asked is pairs:
                return values
        values = torch.from_numpy(self.evidence.pairs(pairs.numpy()))
        self._kept = [*self._kept[-3:], (pairs, values)]
        return values


class EvidenceModel(Method):
    """A linear map and a perceptron on the standardized evidence of a pair.

    Nothing is learned for a single node, so that nodes and graphs that were not there in training
    can be scored. Directions of edges do not count.

    Args:
        num_features: F of the graph; 0 without features.
        folds: in which the edges are divided; one of them is hidden at a time.
        hidden_channels: width of the perceptron.
        dropout: on its hidden layer.
        max_edges: edges whose evidence is computed, at most.
        step_size: edges per optimizer step; None: 512.
    """

    mean: Tensor
    scale: Tensor

    def __init__(
        self,
        num_features: int = 0,
        folds: int = 8,
        hidden_channels: int = 64,
        dropout: float = 0.1,
        max_edges: int = 6000,
        step_size: int | None = None,
    ) -> None:
        super().__init__()
        count = len(NAMES) + (len(SmoothedFeatures.names) if num_features else 0)
        self.folds, self.max_edges, self.dropout = folds, max_edges, dropout
        self.step_size = step_size or 512
        self.register_buffer("mean", torch.zeros(count))
        self.register_buffer("scale", torch.ones(count))
        self.linear = nn.Linear(count, 1)
        self.hidden, self.last = nn.Linear(count, hidden_channels), nn.Linear(hidden_channels, 1)
        self._folded: tuple[MessageGraph, FoldedEvidence] | None = None
        self._encoded: tuple[MessageGraph, EncodedEvidence] | None = None

    def losses(self, graph: MessageGraph, generators: Generators) -> Iterator[tuple[Tensor, str]]:
        """Yield as many steps as there are folds: random edges against random other pairs."""
        folded = self.fold(graph, generators)
        if not len(folded.positives):
            raise GraphError(
                "every edge is a node's last one, so that none can be hidden: use another method"
            )
        for _ in range(self.folds):
            positives = _some(folded.positives, self.step_size, generators["mask"])
            negatives = _some(folded.negatives, 2 * self.step_size, generators["negatives"])
            logits = self(torch.cat([positives, negatives]), generators["dropout"])
            labels = (torch.arange(len(logits)) < len(positives)).to(logits.dtype)
            yield binary_cross_entropy_with_logits(logits, labels), "model"

    def fold(self, graph: MessageGraph, generators: Generators) -> FoldedEvidence:
        """Return the evidence of all folds, computed once for a graph and a seed."""
        if self._folded is None or self._folded[0] is not graph:
            chance = generators.fresh("folds")
            folded = FoldedEvidence.of(graph, self.folds, self.max_edges, chance)
            self._standardize(torch.cat([folded.positives, folded.negatives]))
            self._folded = graph, folded
        return self._folded[1]

    def _standardize(self, evidence: Tensor) -> None:
        deviation = evidence.std(dim=0, unbiased=False)
        constant = deviation < 1e-4
        self.mean.copy_(evidence.mean(dim=0))
        self.scale.copy_(torch.where(constant, 0.0, 1 / deviation.clamp(min=1e-4)))

    def forward(self, evidence: Tensor, generator: torch.Generator | None) -> Tensor:
        """Return logits [n] of evidence [n, F]."""
        x = ((evidence - self.mean) * self.scale).clamp(-_OUTLIER, _OUTLIER)
        units = dropout(torch.relu(self.hidden(x)), self.dropout, generator)
        logits: Tensor = self.linear(x) + self.last(units)
        return logits.squeeze(1)

    def encode(self, graph: MessageGraph) -> EncodedEvidence:
        """Return the evidence of all edges of ``graph``; that of the last graph is kept."""
        if self._encoded is None or self._encoded[0] is not graph:
            views = None if graph.x is None else FeatureViews.of(graph.x)
            self._encoded = graph, EncodedEvidence(Evidence(graph, views))
        return self._encoded[1]

    def embed(self, graph: MessageGraph) -> Tensor:
        """Return the random projections of three hops, side by side (FastRP)."""
        hops = self.encode(graph).evidence.hops
        return torch.from_numpy(np.concatenate(hops, axis=1))

    @torch.no_grad()
    def score_links(self, encoded: EncodedEvidence, pairs: Tensor) -> Tensor:
        """Return logits of pairs."""
        self.eval()
        chunks = encoded.pairs(pairs).split(_SCORES_AT_ONCE)
        return torch.cat([self(chunk, None) for chunk in chunks])

    @torch.no_grad()
    def score_tails(self, encoded: EncodedEvidence, heads: Tensor, tails: Tensor) -> Tensor:
        """Return logits [h, n], from one walk for each head."""
        self.eval()
        size = max(1, _SCORES_AT_ONCE // max(1, tails.numel()))
        rows = []
        for some in heads.split(size):
            distinct, index = torch.unique(some, return_inverse=True)
            values = torch.from_numpy(encoded.evidence.tails(distinct.numpy(), tails.numpy()))
            rows.append(self(values.flatten(0, 1), None).view(len(distinct), -1)[index])
        return torch.cat(rows) if rows else torch.empty(0, tails.numel())


def _some(rows: Tensor, count: int, generator: torch.Generator) -> Tensor:
    return rows[torch.randint(len(rows), (count,), generator=generator)]
