"""Hard negatives after HeaRT (Li et al., 2023): pairs that look like edges and are none.

Of each held-out edge one end is kept, then the other, and joined to the nodes that Resource
Allocation, personalized PageRank or the cosine of the features hold for likely. A node's rank is
the best of its ranks. All of that uses the training edges alone; true edges of any part are left
out. Pairs that the user knows to be no edges and that are held out with the part count as likely
too: nothing is harder than an offer that was declined. In a bipartite
graph the pairs go across its sides, and paths of length 3 stand in for Resource Allocation, which
only ever joins one side to itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from mgae.core.graph import MessageGraph, edge_matrix
from mgae.core.ops import pagerank
from mgae.core.ops.sparse import SparseMatrix
from mgae.core.sides import Sides
from mgae.data.splits.known import is_known
from mgae.data.splits.links import LinkSplit, joined

Indices = NDArray[np.int64]
Scorer = Callable[[Indices], NDArray[np.float64]]
Bar = Callable[[Indices], NDArray[np.bool_]]
_ENDS_AT_ONCE = 64
_MOST_PAIRS = 4_000_000
# About two minutes on one core, once for all runs on a split. PubMed takes 3e10 for both parts.
_MOST_PRODUCTS = 5e10
# A dense product takes a small part of the time of one through a sparse pattern.
_DENSE_COST = 0.03


def too_costly(graph: MessageGraph, num_positives: int, count: int) -> str | None:
    """Return why hard negatives are too costly for a graph; None if they are not."""
    ends = min(2 * num_positives, graph.num_nodes)
    features = _DENSE_COST * graph.num_nodes * graph.num_features
    products = ends * (graph.edge_index.size(1) * pagerank.ROUNDS + features)
    if count and products > _MOST_PRODUCTS:
        return (
            f"no hard negatives: to rank the candidates of {ends:,} nodes takes {products:.1e} "
            f"products, and {_MOST_PRODUCTS:.0e} are allowed"
        )
    if num_positives * count > _MOST_PAIRS:
        return (
            f"no hard negatives: {count} for each of {num_positives:,} held-out edges are more "
            f"than {_MOST_PAIRS:,} pairs: lower evaluation.hard_negatives"
        )
    return None


def with_hard_negatives(
    split: LinkSplit,
    count: int,
    generator: torch.Generator,
    parts: Sequence[str] = ("test",),
    known: Tensor | None = None,
) -> LinkSplit:
    """Return the split with ``count`` hard negatives for each edge of the ``parts``.

    ``generator`` breaks ties; ``known`` [2, k] are the user's own negatives, of which each part
    has those that are among its negatives.
    """
    order = torch.randperm(split.message.num_nodes, generator=generator)
    inputs = [split.message.edge_index, split.val, split.test, order]
    inputs += [] if known is None else [known, split.val_negatives, split.test_negatives]
    digest = hashlib.sha256(b"".join(one.contiguous().numpy().tobytes() for one in inputs))
    asked = {part: _Asked(digest.hexdigest(), count, part, split, order, known) for part in parts}
    result: dict[str, Any] = {f"{part}_hard_negatives": _answer(one) for part, one in asked.items()}
    return replace(split, **result)


@dataclass(frozen=True)
class _Asked:
    """One question, the same for every run and method on one split."""

    digest: str
    count: int
    part: str
    split: LinkSplit = field(compare=False)
    order: Tensor = field(compare=False)
    known: Tensor | None = field(compare=False)


@lru_cache(maxsize=4)
def _answer(asked: _Asked) -> Tensor:
    split = asked.split
    whole = joined(joined(split.message, split.val), split.test)
    positives, negatives = split.pairs(asked.part)
    own = None
    if asked.known is not None:
        own = negatives[:, is_known(negatives, asked.known, split.message.num_nodes)]
    return hard_negatives(whole, split.message, positives, asked.count, asked.order, own)


def hard_negatives(
    whole: MessageGraph,
    message: MessageGraph,
    positives: Tensor,
    count: int,
    order: Tensor,
    known: Tensor | None = None,
) -> Tensor:
    """Return pairs [2, n, count] for ``positives`` [2, n]: the first half keeps the head.

    Args:
        whole: all edges; none of them is taken, in either direction.
        message: the edges and features by which candidates are ranked.
        order: the nodes in random order; of equals the first is taken.
        known: pairs [2, k] that are known to be no edges, in either direction.
    """
    ends, row_of_end = np.unique(positives.numpy(), return_inverse=True)
    half = count - count // 2
    barred = partial(_barred, edge_matrix(whole), message.sides)
    scorers = [*_scorers(message), *([] if known is None else [_declined(known, message)])]
    hardest = _hardest(barred, scorers, ends, half, order.numpy())
    first, second = (torch.from_numpy(hardest[row]) for row in row_of_end.reshape(positives.shape))
    kept_head = torch.stack([positives[0][:, None].expand_as(first), first])
    second = second[:, : count // 2]
    kept_tail = torch.stack([second, positives[1][:, None].expand_as(second)])
    pairs = torch.cat([kept_head, kept_tail], dim=2)
    return torch.where((pairs < 0).any(dim=0), -1, pairs)


def _barred(known: sp.csr_array, sides: Sides | None, ends: Indices) -> NDArray[np.bool_]:
    """Return whom each end cannot have as a negative [ends, nodes]: neighbors, itself, its side."""
    barred: NDArray[np.bool_] = known[ends].toarray() > 0
    barred[np.arange(ends.size), ends] = True
    if sides is not None:
        everyone = torch.arange(barred.shape[1])
        barred |= ~sides.across(torch.from_numpy(ends)[:, None], everyone).numpy()
    return barred


def _hardest(
    barred: Bar, scorers: list[Scorer], ends: Indices, count: int, order: Indices
) -> Indices:
    """Return the likeliest nodes [ends, count] that no end is barred from; -1: none."""
    blocks = [ends[start : start + _ENDS_AT_ONCE] for start in range(0, ends.size, _ENDS_AT_ONCE)]
    return np.concatenate([_hardest_of(barred, scorers, block, count, order) for block in blocks])


def _hardest_of(
    barred: Bar, scorers: list[Scorer], ends: Indices, count: int, order: Indices
) -> Indices:
    nodes, taken = order.size, barred(ends)
    best = np.full((ends.size, nodes), nodes)
    for scorer in scorers:
        best = np.minimum(best, _ranks(np.where(taken, 0, scorer(ends))[:, order], count))
    # Whom nobody ranks comes behind, in random order; whom one may not take comes last.
    best = np.where(taken[:, order], 2 * nodes, best) * nodes + np.arange(nodes)
    chosen = np.sort(np.partition(best, min(count, nodes) - 1, axis=1)[:, :count], axis=1)
    result = np.where(chosen < 2 * nodes * nodes, order[chosen % nodes], -1)
    return np.pad(result, ((0, 0), (0, count - result.shape[1])), constant_values=-1)


def _ranks(scores: NDArray[np.float64], count: int) -> Indices:
    """Rank the ``count`` best scores of a row from 0; others, and scores of 0, get the width.

    Of equals the first comes first, at the cut too.
    """
    rows, width = np.arange(len(scores))[:, None], scores.shape[1]
    count = min(count, width)
    cut = np.partition(scores, width - count, axis=1)[:, width - count, None]
    above, equal = scores > cut, scores == cut
    room = count - above.sum(axis=1, keepdims=True)
    taken = above | (equal & (equal.cumsum(axis=1) <= room))
    top = taken.nonzero()[1].reshape(len(scores), count)
    top = np.take_along_axis(top, np.argsort(-scores[rows, top], axis=1, kind="stable"), axis=1)
    ranks = np.full(scores.shape, width)
    ranks[rows, top] = np.where(scores[rows, top] > 0, np.arange(count), width)
    return ranks


def _scorers(message: MessageGraph) -> list[Scorer]:
    """Return functions that score each node as a neighbor of some ends: [ends, nodes]."""
    edges = edge_matrix(message)
    degree = pagerank.degrees(edges)
    weighted, walk = sp.csr_array(sp.diags_array(1 / degree) @ edges), pagerank.walk_matrix(edges)

    def resource_allocation(ends: Indices) -> NDArray[np.float64]:
        return np.asarray((edges[ends] @ weighted).toarray())

    def paths_of_three(ends: Indices) -> NDArray[np.float64]:
        return np.asarray(edges @ (walk @ edges[:, ends].toarray()), np.float64).T

    def personalized_pagerank(ends: Indices) -> NDArray[np.float64]:
        ratio = np.sqrt(degree[ends][:, None] / degree)
        return np.asarray(pagerank.resolvent(walk, ends).T * (ratio + 1 / ratio))

    near = resource_allocation if message.sides is None else paths_of_three
    if message.x is None:
        return [near, personalized_pagerank]
    return [near, personalized_pagerank, _cosine(message.x)]


def _declined(known: Tensor, message: MessageGraph) -> Scorer:
    """Return a function that scores 1 where a pair is known to be no edge."""
    (head, tail), size = known.numpy(), message.num_nodes
    ones = sp.csr_array((np.ones(head.size), (head, tail)), shape=(size, size))
    both = sp.csr_array((ones + ones.T) > 0, dtype=np.float64)
    return lambda ends: np.asarray(both[ends].toarray())


def _cosine(x: Tensor | SparseMatrix) -> Scorer:
    features = x.csr() if isinstance(x, SparseMatrix) else x
    plain = features.to_dense().double().numpy()
    unit = plain / np.maximum(np.linalg.norm(plain, axis=1, keepdims=True), 1e-12)
    # Rounded: equal features are equally near, whatever the order of the sum.
    return lambda ends: np.round(unit[ends] @ unit.T, 9)
