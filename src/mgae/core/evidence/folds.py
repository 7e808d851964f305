"""The evidence of hidden edges, to learn from.

The edges are divided into fixed folds. The evidence of a fold's edges, and of pairs that are no
edges, is computed on the other folds: no edge counts for itself, and what is visible in training
is close to what is visible afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from mgae.core.evidence import Evidence, FeatureViews, Shortlist
from mgae.core.evidence.sketches import Floats
from mgae.core.graph import MessageGraph
from mgae.core.negatives import NegativeSampler

_TAILS_PER_HEAD = 4  # of negatives: a head's walk serves several of them
_COMPETITORS = 16  # of a ranked edge, from the same shortlist


@dataclass(frozen=True, eq=False)
class Contests:
    """Hidden edges that are on the shortlist of one of their ends, among the rest of that list.

    Attributes:
        values: the evidence of all shortlists [n, F].
        is_edge: whether a row is a hidden edge [n].
        edge: the rows that are [c].
        first, end: the rows of the list that an edge is on [c].
    """

    values: Tensor
    is_edge: Tensor
    edge: Tensor
    first: Tensor
    end: Tensor

    @classmethod
    def of(cls, lists: Shortlist, is_edge: Tensor) -> Contests:
        """Take shortlists grouped by head."""
        head = torch.from_numpy(lists.head)
        edge = is_edge.nonzero().squeeze(1)
        first = torch.searchsorted(head, head[edge])
        end = torch.searchsorted(head, head[edge], right=True)
        values = torch.from_numpy(lists.values)
        return cls(values, is_edge, edge, first, end)

    @classmethod
    def joined(cls, parts: list[Contests]) -> Contests:
        """Put the contests of several folds, numbered on, one after the other."""
        before = np.cumsum([0, *(len(part.values) for part in parts[:-1])]).tolist()
        moved = [
            (part.edge + rows, part.first + rows, part.end + rows)
            for part, rows in zip(parts, before, strict=True)
        ]
        evidence = torch.cat([part.values for part in parts])
        is_edge = torch.cat([part.is_edge for part in parts])
        return cls(evidence, is_edge, *map(torch.cat, zip(*moved, strict=True)))

    @cached_property
    def rows(self) -> tuple[Tensor, Tensor]:
        """All lists one after the other: whose contest it is, and the rows, [r] each."""
        length = self.end - self.first
        contest = torch.repeat_interleave(torch.arange(len(length)), length)
        before = torch.repeat_interleave(self.first - length.cumsum(0) + length, length)
        return contest, torch.arange(len(contest)) + before

    def ranks(self, scores: Tensor) -> Tensor:
        """Return the rank [c] of each edge on its list by scores [n] of all rows, from 1.

        A tie takes the mean of the best and the worst rank.
        """
        contest, listed = self.rows
        own = scores[self.edge][contest]
        ahead = (scores[listed] > own).double() + 0.5 * (scores[listed] == own).double()
        return 0.5 + torch.zeros(len(self.edge)).double().index_add(0, contest, ahead)

    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draw edges and their competitors: evidence [count, 1 + m, F], the edge first.

        The second value [count, 1 + m] is true for competitors that are edges themselves.
        """
        which = torch.randint(len(self.edge), (count,), generator=generator)
        first, length = self.first[which], (self.end - self.first)[which]
        chance = torch.rand(count, _COMPETITORS, generator=generator)
        others = first.unsqueeze(1) + (chance * length.unsqueeze(1)).long()
        rows = torch.cat([self.edge[which].unsqueeze(1), others], dim=1)
        void = self.is_edge[rows]
        void[:, 0] = False
        return self.values[rows], void


@dataclass(frozen=True, eq=False)
class FoldedEvidence:
    """What is learned from, each fold's share computed on the other folds.

    Attributes:
        positives, negatives: the evidence of edges and of other pairs [·, F].
        contests: shortlists with hidden edges on them.
    """

    positives: Tensor
    negatives: Tensor
    contests: Contests

    @property
    def teaches(self) -> bool:
        """Whether there are edges that can be hidden, and other pairs to tell them from."""
        return len(self.positives) > 0 and len(self.negatives) > 0

    @classmethod
    def of(
        cls,
        graph: MessageGraph,
        folds: int,
        max_edges: int,
        shortlist: int,
        generator: torch.Generator,
    ) -> FoldedEvidence:
        """Compute the evidence of at most ``max_edges`` edges and twice as many other pairs."""
        views = None if graph.x is None else FeatureViews.of(graph.x)
        number = torch.randperm(graph.pairs.size(1), generator=generator) % folds
        share = -(-max_edges // folds)
        parts = [
            cls.of_fold(graph, views, number == fold, share, shortlist, generator)
            for fold in range(folds)
        ]
        return cls(
            torch.cat([part.positives for part in parts]),
            torch.cat([part.negatives for part in parts]),
            Contests.joined([part.contests for part in parts]),
        )

    @classmethod
    def of_fold(
        cls,
        graph: MessageGraph,
        views: FeatureViews | None,
        fold: Tensor,
        max_edges: int,
        shortlist: int,
        generator: torch.Generator,
    ) -> FoldedEvidence:
        """Hide the pairs of one ``fold`` [E], and compute the evidence of some on the others."""
        hidden = hideable(graph, fold)
        evidence = Evidence(graph.only(~hidden[graph.pair_of_edge]), views)
        edges = graph.pairs[:, hidden]
        chosen = edges[:, torch.randperm(edges.size(1), generator=generator)[:max_edges]]
        others = uniform_pairs(graph, 2 * max(1, chosen.size(1)), generator)
        # Both ends of one half have their shortlists; the other half needs no walk of its own.
        heads = torch.unique(chosen[:, : -(-chosen.size(1) // 2)])
        lists = evidence.shortlist(heads.numpy(), shortlist)
        pairs = torch.stack([heads[lists.head], torch.from_numpy(lists.tail)])
        return cls(
            torch.from_numpy(evidence.pairs(chosen.numpy())),
            torch.from_numpy(_known(evidence.pairs(others.numpy()))),
            Contests.of(lists, are_among(pairs, edges, graph.num_nodes)),
        )


def _known(values: Floats) -> Floats:
    """Return the rows that are known: a node without edges is no sign of a missing link."""
    return values[~np.isnan(values).any(axis=1)]


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


def are_among(pairs: Tensor, edges: Tensor, num_nodes: int) -> Tensor:
    """Return which of ``pairs`` [2, n] are one of ``edges``, in either order: [n]."""
    keys = [low * num_nodes + high for low, high in (p.sort(dim=0).values for p in (pairs, edges))]
    return torch.isin(*keys)
