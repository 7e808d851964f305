"""The evidence model: small networks on what the visible graph says about a pair.

They learn from the evidence of hidden edges (`mgae.core.evidence.folds`), which is computed once,
so that a step costs next to nothing.

There are two outputs. *link* tells edges from random pairs. *rank* orders the likely tails of one
head, its shortlist: there, nearly all pairs look like edges to the first one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from mgae.core.errors import GraphError
from mgae.core.evidence import Evidence, FeatureViews
from mgae.core.evidence.attribution import shares
from mgae.core.evidence.folds import FoldedEvidence
from mgae.core.evidence.shipped import shipped_weights
from mgae.core.evidence.structure import column_names
from mgae.core.graph import MessageGraph
from mgae.core.methods.base import Likely, Method, Parts, Stage
from mgae.core.ops.dropout import dropout
from mgae.core.seeding import Generators, drawn_from

Start = Literal["auto", "random", "shipped"]
_FEW_EDGES = 1000  # with fewer, what other graphs have taught is worth more than their own
# On large graphs a walk from each end takes long: so many edges to learn from, times the graph's.
_MOST_WALKED, _ENOUGH_EDGES = 2_400_000_000, 2000
_OUTLIER = 5.0  # standardized evidence is cut off here
_SCORES_AT_ONCE = 1 << 17
_OTHERS = 4  # random pairs that compete with a ranked edge, beside those of its shortlist


@dataclass(eq=False)
class EncodedEvidence:
    """The evidence of one graph; that of the last pairs asked about is kept, as in validation."""

    evidence: Evidence
    _kept: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    def pairs(self, pairs: Tensor) -> Tensor:
        """Return the evidence [n, F] of pairs [2, n]."""
        for asked, values in self._kept:
            if asked.is_set_to(pairs):  # the same memory, also as a part of the same tensor
                return values
        values = torch.from_numpy(self.evidence.pairs(pairs.numpy()))
        self._kept = [*self._kept[-3:], (pairs, values)]
        return values


class Output(nn.Module):
    """A linear map and a perceptron on standardized evidence."""

    def __init__(self, channels: int, hidden_channels: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.linear = nn.Linear(channels, 1)
        self.hidden, self.last = nn.Linear(channels, hidden_channels), nn.Linear(hidden_channels, 1)

    def forward(self, x: Tensor, generator: torch.Generator | None) -> Tensor:
        """Return logits [...] of evidence [..., F]."""
        units = dropout(torch.relu(self.hidden(x)), self.dropout, generator)
        logits: Tensor = self.linear(x) + self.last(units)
        return logits.squeeze(-1)

    def reset_parameters(self) -> None:
        """Draw every parameter anew."""
        for layer in (self.linear, self.hidden, self.last):
            layer.reset_parameters()


class EvidenceModel(Method):
    """Two small networks, *link* and *rank*, on the standardized evidence of a pair.

    Nothing is learned for a single node, so that nodes and graphs that were not there in training
    can be scored. Directions of edges do not count.

    Args:
        num_features: F of the graph; 0 without features.
        folds: in which the edges are divided; one of them is hidden at a time.
        hidden_channels: width of the perceptrons.
        dropout: on their hidden layers.
        max_edges: edges whose evidence is computed, at most; fewer on graphs of over 400,000 edges.
        shortlist: tails that each of several scores proposes for a head.
        step_size: edges per optimizer step; None: 512, or as many as there are.
        start: ``random`` weights, or the ``shipped`` ones, trained on other graphs; their
            standardization then stays. ``auto``: shipped ones, changed by few steps, where there
            are no features and too few edges to learn from.
    """

    shortlists = True
    may_leave_features = True
    stays_on_cpu = True  # scipy computes the evidence, and the networks are small
    mean: Tensor
    scale: Tensor

    def __init__(
        self,
        num_features: int = 0,
        folds: int = 8,
        hidden_channels: int = 64,
        dropout: float = 0.1,
        max_edges: int = 6000,
        shortlist: int = 50,
        step_size: int | None = None,
        start: Start = "auto",
    ) -> None:
        super().__init__()
        self.start = start
        self.names = column_names(num_features > 0)
        count = len(self.names)
        self.folds, self.max_edges, self.count = folds, max_edges, shortlist
        self.step_size = step_size or 512
        self.register_buffer("mean", torch.zeros(count))
        self.register_buffer("scale", torch.ones(count))
        self.link = Output(count, hidden_channels, dropout)
        self.rank = Output(count, hidden_channels, dropout)
        self._folded: tuple[MessageGraph, FoldedEvidence] | None = None
        self._encoded: tuple[MessageGraph, EncodedEvidence] | None = None
        if start == "shipped":
            self._take_shipped()

    def _take_shipped(self) -> None:
        self.load_state_dict(shipped_weights(self.names))

    @property
    def is_shipped(self) -> bool:
        """Whether the weights are the shipped ones, or were trained from these."""
        return torch.equal(self.mean.cpu(), shipped_weights(self.names)["mean"])

    @property
    def remembers_edges(self) -> bool:
        """Return False: few weights, and no edge is in its own evidence."""
        return False

    def reset_parameters(self) -> None:
        """Draw every parameter anew, or go back to the shipped ones."""
        super().reset_parameters()
        if self.start == "shipped":
            self._take_shipped()

    def stages(self, graph: MessageGraph, generators: Generators) -> list[Stage]:
        """Train to the end: so few weights do not overfit, and small validation sets saturate."""
        few = graph.pairs.size(1) < _FEW_EDGES
        shipped = shipped_weights(self.names)["link.hidden.weight"]
        # With features it was no better: what these say of links differs from table to table.
        fits = graph.x is None and shipped.shape == self.link.hidden.weight.shape
        return self._stages(self.start == "auto" and few and fits)

    def final_stages(self, graph: MessageGraph, generators: Generators) -> list[Stage]:
        """Train again from the start: what is visible in a fold is then close to the whole."""
        if not len(self.fold(graph, generators).positives):
            return []
        from_shipped = self.is_shipped
        with drawn_from(generators["init"]):
            self.reset_parameters()
        return self._stages(from_shipped)

    def _stages(self, from_shipped: bool) -> list[Stage]:
        if from_shipped:
            self._take_shipped()
        return [Stage(self, keep_last=True)]

    def parameter_groups(self) -> dict[str, list[nn.Module]]:
        """Return one group; the two outputs are clipped apart."""
        return {"model": [self.link, self.rank]}

    def losses(self, graph: MessageGraph, generators: Generators) -> Iterator[tuple[Tensor, str]]:
        """Yield as many steps as there are folds, of both outputs; one near the shipped weights."""
        folded = self.fold(graph, generators)
        if not folded.teaches:
            raise GraphError(
                "every edge is a node's last one, so that none can be hidden, or every pair is an "
                "edge: use another method"
            )
        for _ in range(1 if self.start == "auto" and self.is_shipped else self.folds):
            yield self.step_loss(folded, generators), "model"

    def step_loss(self, folded: FoldedEvidence, generators: Generators) -> Tensor:
        """Return the loss of both outputs on some of the evidence."""
        return self._link_loss(folded, generators) + self._rank_loss(folded, generators)

    def _link_loss(self, folded: FoldedEvidence, generators: Generators) -> Tensor:
        """Tell random edges from random other pairs."""
        count = min(self.step_size, len(folded.positives))
        positives = _some(folded.positives, count, generators["mask"])
        negatives = _some(folded.negatives, 2 * count, generators["negatives"])
        x = self.standardized(torch.cat([positives, negatives]))
        logits = self.link(x, generators["dropout"])
        labels = (torch.arange(len(logits)) < len(positives)).to(logits.dtype)
        return binary_cross_entropy_with_logits(logits, labels)

    def _rank_loss(self, folded: FoldedEvidence, generators: Generators) -> Tensor:
        """Put an edge before its competitors: those of a shortlist, and a few random pairs."""
        if not len(folded.contests.edge):
            return torch.zeros(())
        count = min(max(1, self.step_size // 4), len(folded.contests.edge))
        values, void = folded.contests.draw(count, generators["mask"])
        others = _some(folded.negatives, count * _OTHERS, generators["negatives"])
        values = torch.cat([values, others.view(count, _OTHERS, -1)], dim=1)
        logits = self.rank(self.standardized(values), generators["dropout"])
        listed, random = logits.split([void.size(1), _OTHERS], dim=1)
        all_logits = torch.cat([listed.masked_fill(void, -torch.inf), random], dim=1)
        return -torch.log_softmax(all_logits, dim=1)[:, 0].mean()

    def fold(self, graph: MessageGraph, generators: Generators) -> FoldedEvidence:
        """Return the evidence of all folds, computed once for a graph and a seed."""
        if self._folded is None or self._folded[0] is not graph:
            chance = generators.fresh("folds")
            affordable = max(_ENOUGH_EDGES, _MOST_WALKED // max(1, graph.pairs.size(1)))
            most = min(self.max_edges, affordable)
            folded = FoldedEvidence.of(graph, self.folds, most, self.count, chance)
            if folded.teaches and not self.is_shipped:
                self._standardize(torch.cat([folded.positives, folded.negatives]))
            self._folded = graph, folded
        return self._folded[1]

    def _standardize(self, evidence: Tensor) -> None:
        deviation = evidence.std(dim=0, unbiased=False)
        constant = deviation < 1e-4
        self.mean.copy_(evidence.mean(dim=0))
        self.scale.copy_(torch.where(constant, 0.0, 1 / deviation.clamp(min=1e-4)))

    def standardized(self, evidence: Tensor) -> Tensor:
        """Return evidence [..., F] with mean 0 and deviation 1; what is not known is 0."""
        return ((evidence - self.mean) * self.scale).clamp(-_OUTLIER, _OUTLIER).nan_to_num(0.0)

    @torch.no_grad()
    def outputs(self, evidence: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits [n] of both outputs, link and rank, for evidence [n, F]."""
        self.eval()
        chunks = [self.standardized(chunk) for chunk in evidence.split(_SCORES_AT_ONCE)]
        link, rank = (torch.cat([out(x, None) for x in chunks]) for out in (self.link, self.rank))
        return link, rank

    def parts(self, encoded: EncodedEvidence, pairs: Tensor, ranking: bool = True) -> Parts:
        """Return the shares of groups of columns in the second output, or in the first."""
        return self.output_parts(encoded.pairs(pairs), ranking)

    @torch.no_grad()
    def output_parts(self, values: Tensor, ranking: bool) -> Parts:
        """Return the shares in one of the outputs for evidence ``values`` [n, F]."""
        self.eval()
        source, output = ("rank", self.rank) if ranking else ("link", self.link)
        x = self.standardized(values)
        by_group = shares(lambda known: output(known, None), x, self.names)
        return {(source, group): share for group, share in by_group.items()}

    def encode(self, graph: MessageGraph) -> EncodedEvidence:
        """Return the evidence of all edges of ``graph``; that of the last graph is kept."""
        last = self._encoded  # read once: another thread may encode another graph
        if last is None or last[0] is not graph:
            views = None if graph.x is None else FeatureViews.of(graph.x)
            self._encoded = last = graph, self.encoded(graph, views)
        return last[1]

    def encoded(self, graph: MessageGraph, views: FeatureViews | None) -> EncodedEvidence:
        """Return the evidence of all edges of ``graph``, whose features are prepared."""
        return EncodedEvidence(Evidence(graph, views))

    def embed(self, graph: MessageGraph) -> Tensor:
        """Return the random projections of three hops, side by side (FastRP)."""
        hops = self.encode(graph).evidence.hops
        return torch.from_numpy(np.concatenate(hops, axis=1))

    def links(self, encoded: EncodedEvidence, values: Tensor) -> Tensor:
        """Return what tells edges from other pairs [n], for evidence [n, F]."""
        return self.outputs(values)[0]

    def ranks(self, encoded: EncodedEvidence, values: Tensor) -> Tensor:
        """Return what orders the tails of one head [n], for evidence [n, F]."""
        return self.outputs(values)[1]

    def score_links(self, encoded: EncodedEvidence, pairs: Tensor) -> Tensor:
        """Return the first output of pairs."""
        return self.links(encoded, encoded.pairs(pairs))

    def rank_links(self, encoded: EncodedEvidence, pairs: Tensor) -> Tensor:
        """Return the second output of pairs."""
        return self.ranks(encoded, encoded.pairs(pairs))

    def score_tails(self, encoded: EncodedEvidence, heads: Tensor, tails: Tensor) -> Tensor:
        """Return the second output [h, n], from one walk for each head."""
        size = max(1, _SCORES_AT_ONCE // max(1, tails.numel()))
        rows = []
        for some in heads.split(size):
            distinct, index = torch.unique(some, return_inverse=True)
            values = torch.from_numpy(encoded.evidence.tails(distinct.numpy(), tails.numpy()))
            ranked = self.ranks(encoded, values.flatten(0, 1))
            rows.append(ranked.view(len(distinct), -1)[index])
        return torch.cat(rows) if rows else torch.empty(0, tails.numel())

    def shortlist(self, encoded: EncodedEvidence, heads: Tensor) -> Likely:
        """Return likely new tails and their second output, from one walk for each head."""
        listed = encoded.evidence.shortlist(heads.numpy(), self.count)
        scores = self.ranks(encoded, torch.from_numpy(listed.values))
        return Likely(torch.from_numpy(listed.head), torch.from_numpy(listed.tail), scores)


def _some(rows: Tensor, count: int, generator: torch.Generator) -> Tensor:
    return rows[torch.randint(len(rows), (count,), generator=generator)]


def column_parts(values: Tensor, names: Sequence[str], weights: Tensor) -> Parts:
    """Return the shares of single columns in a weighted sum of ``values`` [n, F]."""
    counts = weights.nonzero().flatten().tolist()
    return {("column", names[c]): weights[c] * values[:, c] for c in counts}
