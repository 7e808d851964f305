"""The shipped evidence model, corrected by what a few of the graph's own edges say: no training.

What ranks best is not the same on each kind of graph: paths of length 3 among proteins, common
neighbors among friends. So one fold of the graph's edges is hidden, and the evidence of some of
them, on all others, shows whether a plain column should count beside the shipped score.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from mgae.core.evidence import Evidence, FeatureViews
from mgae.core.evidence.folds import Contests, FoldedEvidence, are_among
from mgae.core.evidence.mixture import mixture
from mgae.core.graph import MessageGraph
from mgae.core.methods.base import Parts
from mgae.core.methods.evidencemodel import EncodedEvidence, EvidenceModel, column_parts
from mgae.core.seeding import Generators

LINK, RANK = 0, 1
PARTS = ("link", "rank")
# Columns that may count by themselves: the higher, the likelier.
COLUMNS = (
    "common neighbors",
    "adamic-adar",
    "resource allocation",
    "l3",
    "paths of length 3",
    "pagerank",
    "pagerank near",
    "walks",
    "katz",
    "jaccard",
    "degrees",
    "spectral",
    "spectral cubed",
    "sketch cosine",
    "neighbor cosine",
    "two-hop cosine",
    "cross cosine",
    "feature cosine",
)
_MOST_EDGES, _FEWEST_EDGES = 300, 30  # that are hidden and asked about
_GROWTH = 1.1  # up to so many times its edges a graph that has grown is not asked again
_EDGES_TIMES_ENTRIES = 40_000_000  # on a large graph a walk takes longer, and there are fewer


@dataclass(eq=False)
class EncodedInstant(EncodedEvidence):
    """The evidence of one graph, and what counts there.

    Attributes:
        weights: of the sources of the two scores, link and rank [2, S].
        edges: how many of the graph's own edges were hidden to choose them.
    """

    weights: Tensor = field(default_factory=lambda: torch.empty(0))
    edges: int = 0


class InstantModel(EvidenceModel):
    """The evidence model with the shipped weights, beside what ranks well here: nothing is trained.

    Args:
        num_features: F of the graph; 0 without features.
        shortlist: tails that each of several scores proposes for a head.
        self_check: hide some of the graph's own edges to choose what counts beside the shipped
            scores; else these are taken as they are.
    """

    trains: ClassVar[bool] = False

    def __init__(self, num_features: int = 0, shortlist: int = 50, self_check: bool = True) -> None:
        super().__init__(num_features, shortlist=shortlist, start="shipped")
        self.self_check = self_check
        self._choice: tuple[MessageGraph, Tensor, int] | None = None
        self.columns = [self.names.index(name) for name in COLUMNS if name in self.names]
        self.sources = (*PARTS, *(self.names[column] for column in self.columns))

    def encoded(self, graph: MessageGraph, views: FeatureViews | None) -> EncodedInstant:
        """Return the evidence of all edges, and weights that some of them have chosen."""
        last = self._choice  # read once: another thread may encode another graph
        if last is None or not _is_grown(graph, last[0]):
            self._choice = last = graph, *self._chosen(graph, views)
        return EncodedInstant(Evidence(graph, views), weights=last[1], edges=last[2])

    def links(self, encoded: EncodedEvidence, values: Tensor) -> Tensor:
        """Return what tells edges from other pairs [n], for evidence [n, F]."""
        return self._mixed(encoded, LINK, values)

    def ranks(self, encoded: EncodedEvidence, values: Tensor) -> Tensor:
        """Return what orders the tails of one head [n], for evidence [n, F]."""
        return self._mixed(encoded, RANK, values)

    def counts(self, encoded: EncodedInstant) -> dict[str, dict[str, float]]:
        """Return for ``link`` and ``rank`` the sources that count, and how much."""
        return {
            part: {name: float(w) for name, w in zip(self.sources, weights, strict=True) if w}
            for part, weights in zip(PARTS, encoded.weights, strict=True)
        }

    def parts(self, encoded: EncodedEvidence, pairs: Tensor, ranking: bool = True) -> Parts:
        """Return the weighted shares of both outputs by group, and of the columns beside them."""
        assert isinstance(encoded, EncodedInstant)
        values, parts = encoded.pairs(pairs), dict[tuple[str, str], Tensor]()
        weights = encoded.weights[RANK if ranking else LINK]
        for source, is_rank in ((LINK, False), (RANK, True)):
            if weights[source]:
                shares = self.output_parts(values, is_rank)
                parts |= {name: weights[source] * part for name, part in shares.items()}
        names, columns = self.sources[len(PARTS) :], self._read(values)[:, len(PARTS) :]
        return parts | column_parts(columns, names, weights[len(PARTS) :])

    def _mixed(self, encoded: EncodedEvidence, part: int, values: Tensor) -> Tensor:
        assert isinstance(encoded, EncodedInstant)
        return self._read(values) @ encoded.weights[part]

    def _read(self, values: Tensor) -> Tensor:
        """Return the sources of a score [n, S] for evidence [n, F]; what is not known is 0."""
        plain = values[:, self.columns] - self.mean[self.columns]
        known = (plain * self.scale[self.columns]).nan_to_num(0.0)
        return torch.cat([torch.stack(self.outputs(values), dim=1), known], dim=1)

    def _chosen(self, graph: MessageGraph, views: FeatureViews | None) -> tuple[Tensor, int]:
        """Return the weights of both scores [2, S], and how many hidden edges chose them."""
        shipped = torch.eye(len(PARTS), len(self.sources))
        count = _asked(graph)
        if not self.self_check or graph.pairs.size(1) < self.folds * _FEWEST_EDGES:
            return shipped, 0
        chance = Generators(0).fresh("instant")
        fold = torch.randperm(graph.pairs.size(1), generator=chance) % self.folds == 0
        own = FoldedEvidence.of_fold(graph, views, fold, count, self.count, chance)
        if min(len(own.positives), len(own.negatives), len(own.contests.edge)) < _FEWEST_EDGES:
            return shipped, 0
        link = self._link_weights(self._read(own.positives), self._read(own.negatives))
        return torch.stack([link, self._rank_weights(own.contests)]), len(own.positives)

    def _link_weights(self, edges: Tensor, others: Tensor) -> Tensor:
        """Choose by how many of the other pairs are below an edge, on average: the AUC."""
        sources, count = torch.cat([edges, others]), len(edges)

        def below(scores: Tensor) -> Tensor:
            ordered, asked = scores[count:].sort().values, scores[:count].contiguous()
            sides = [torch.searchsorted(ordered, asked, right=right) for right in (False, True)]
            return (sides[0] + sides[1]).double() / (2 * len(ordered))

        return mixture(sources, sources.std(dim=0), LINK, below)

    def _rank_weights(self, contests: Contests) -> Tensor:
        """Choose by an edge's rank on a shortlist, discounted by its logarithm."""
        sources = self._read(contests.values)
        contest, listed = contests.rows
        mean = torch.zeros(len(contests.edge), sources.size(1)).index_add(
            0, contest, sources[listed]
        ) / (contests.end - contests.first).unsqueeze(1)
        spread = (sources[listed] - mean[contest]).square().mean(dim=0).sqrt()
        return mixture(
            sources, spread, RANK, lambda scores: 1 / torch.log2(1 + contests.ranks(scores))
        )


def _is_grown(graph: MessageGraph, old: MessageGraph) -> bool:
    """Return whether this is the ``old`` graph with a few nodes and edges more."""
    few = graph.pairs.size(1) <= _GROWTH * old.pairs.size(1)
    if graph.num_nodes < old.num_nodes or not few:
        return False
    return bool(are_among(old.pairs, graph.pairs, graph.num_nodes).all())


def _asked(graph: MessageGraph) -> int:
    """Return how many edges are asked about: fewer on a graph where each of them costs more."""
    affordable = _EDGES_TIMES_ENTRIES // max(1, graph.edge_index.size(1))
    return max(2 * _FEWEST_EDGES, min(_MOST_EDGES, affordable))
