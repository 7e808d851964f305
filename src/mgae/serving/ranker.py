"""Rank the tails of a head, from all nodes or from candidates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mgae.core.methods.base import Method
from mgae.core.sides import Sides
from mgae.serving.candidates import Candidates, Neighbors


@dataclass(frozen=True)
class Ranked:
    """Nodes [n] and their scores [n], the best first."""

    nodes: Tensor
    scores: Tensor


@dataclass(frozen=True, eq=False)
class Ranking:
    """Order nodes by a method's score; neither the head nor its side is ever among them.

    Attributes:
        encoded: what the method made of the graph.
        neighbors: what to leave out if known edges are not wanted.
        embed: the embedding of all nodes, for candidates of a method without a decoder.
        listed: whether candidates are the method's own shortlists.
        ruled_out: what to leave out always, known to be no edges; or None.
        sides: of a bipartite graph: a head gets tails of the other side only.
    """

    method: Method
    encoded: Any
    neighbors: Neighbors
    num_nodes: int
    embed: Callable[[], Tensor]
    listed: bool = False
    ruled_out: Neighbors | None = None
    sides: Sides | None = None

    def exact(
        self,
        heads: Tensor,
        k: int,
        exclude_known: bool = True,
        among: Tensor | None = None,
        kind: int | None = None,
    ) -> list[Ranked]:
        """Return the best ``k`` for each of ``heads`` [h], of all nodes or of ``among`` [n].

        ``kind`` asks for edges of one type, of a method that tells them apart.
        """
        if among is None and self.sides is not None:
            return self._across(self.sides, heads, k, exclude_known, kind)
        tails = torch.arange(self.num_nodes) if among is None else among
        if kind is None:
            scores = self.method.score_tails(self.encoded, heads, tails)
        else:
            scores = self.method.score_typed_tails(self.encoded, heads, tails, kind)
        return [
            self._best(head, tails, row, k, exclude_known)
            for head, row in zip(heads.tolist(), scores, strict=True)
        ]

    def _across(
        self, sides: Sides, heads: Tensor, k: int, exclude_known: bool, kind: int | None
    ) -> list[Ranked]:
        """Score the heads of each side with the other side alone."""
        ranked: dict[int, Ranked] = {}
        for side in sides.of[heads].unique():
            some = heads[sides.of[heads] == side]
            rows = self.exact(some, k, exclude_known, sides.opposite(int(some[0])), kind)
            ranked.update(zip(some.tolist(), rows, strict=True))
        return [ranked[head] for head in heads.tolist()]

    def proposed(
        self, heads: Tensor, k: int, exclude_known: bool = True, count: int = 500
    ) -> list[Ranked]:
        """Return the best ``k`` for each of ``heads`` [h], of ``count`` candidates."""
        if self.listed:
            return self._of_shortlists(heads, k)
        which, tails = self.candidates.of(heads, count)
        kept = ~self._left_out(heads[which], tails, exclude_known)
        which, tails = which[kept], tails[kept]
        scores = self.method.rank_links(self.encoded, torch.stack([heads[which], tails]))
        return best_of_each(which, tails, scores, len(heads), k)

    def _of_shortlists(self, heads: Tensor, k: int) -> list[Ranked]:
        """Return the best ``k`` of each shortlist, or of all nodes where a list is too short."""
        distinct, index = torch.unique(heads, return_inverse=True)
        likely = self.method.shortlist(self.encoded, distinct)
        bounds = torch.searchsorted(likely.head, torch.arange(len(distinct) + 1)).tolist()
        ranked = []
        for head, first, end in zip(distinct.tolist(), bounds[:-1], bounds[1:], strict=True):
            tails, scores = likely.tail[first:end], likely.scores[first:end]
            one = self._best(head, tails, scores, k, exclude_known=True)
            short = len(one.nodes) < k
            ranked.append(self.exact(torch.tensor([head]), k)[0] if short else one)
        return [ranked[number] for number in index.tolist()]

    def recall(self, heads: Tensor, k: int, count: int) -> float:
        """Return the share of the best ``k`` of all nodes that are among ``count`` candidates."""
        pairs = zip(self.exact(heads, k), self.proposed(heads, k, count=count), strict=True)
        shares = [
            float(torch.isin(every.nodes, some.nodes).float().mean())
            for every, some in pairs
            if len(every.nodes)
        ]
        return float(np.mean(shares)) if shares else 1.0

    @cached_property
    def candidates(self) -> Candidates:
        """Propose candidates; made when first needed."""
        return Candidates(self.method, self.encoded, self.neighbors, self.embed, self.sides)

    def _best(
        self, head: int, tails: Tensor, scores: Tensor, k: int, exclude_known: bool
    ) -> Ranked:
        left_out = self._left_out(torch.full_like(tails, head), tails, exclude_known)
        kept = (~left_out).nonzero().squeeze(1)
        return best(tails[kept], scores[kept], k)

    def _left_out(self, heads: Tensor, tails: Tensor, exclude_known: bool) -> Tensor:
        """Return which pairs [n] are never recommended."""
        left_out = tails == heads
        if self.sides is not None:
            left_out |= ~self.sides.across(heads, tails) & (self.sides.of[heads] >= 0)
        if self.ruled_out is not None:
            left_out |= self.ruled_out.join(heads, tails)
        if exclude_known:
            left_out |= self.neighbors.join(heads, tails)
        return left_out


def best(nodes: Tensor, scores: Tensor, k: int) -> Ranked:
    """Return the ``k`` highest, and of equal ones those that come first.

    >>> best(torch.tensor([5, 6, 7]), torch.tensor([1.0, 2.0, 2.0]), 2).nodes.tolist()
    [6, 7]
    """
    if k < len(scores):
        least = torch.topk(scores, k).values[-1]
        near = (scores >= least).nonzero().squeeze(1)
        nodes, scores = nodes[near], scores[near]
    order = torch.from_numpy(np.argsort(-scores.numpy(), kind="stable")[:k])
    return Ranked(nodes[order], scores[order])


def best_of_each(which: Tensor, nodes: Tensor, scores: Tensor, count: int, k: int) -> list[Ranked]:
    """Do the same for ``count`` heads; ``which`` [n] says whose each of the nodes [n] is.

    >>> both = best_of_each(torch.tensor([0, 0, 2]), torch.tensor([5, 6, 7]), torch.ones(3), 3, 1)
    >>> [ranked.nodes.tolist() for ranked in both]
    [[5], [], [7]]
    """
    order = torch.from_numpy(np.lexsort((-scores.numpy(), which.numpy())))
    which, nodes, scores = which[order], nodes[order], scores[order]
    lengths = torch.bincount(which, minlength=count)
    kept = torch.arange(len(which)) - (lengths.cumsum(0) - lengths)[which] < k
    parts = lengths.clamp(max=k).tolist()
    return list(map(Ranked, nodes[kept].split(parts), scores[kept].split(parts)))
