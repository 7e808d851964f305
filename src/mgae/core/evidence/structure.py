"""Structural evidence of pairs: counts of paths, walks, distances and embeddings.

All evidence is symmetric in the two ends. It is computed for a block of heads at a time against
all nodes and read at the pairs that are asked for, so that memory follows ``block · num_nodes``
and never the square of the nodes. Two chains of sparse products give nearly all of it: S^t e_u
with S = D^-1/2 A D^-1/2 (Resource Allocation, L3, PageRank, walks, distance) and A^t e_u (common
neighbors, paths, Katz).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch

from mgae.core.evidence.cosines import FeatureViews, SmoothedFeatures
from mgae.core.evidence.sketches import (
    Floats,
    Indices,
    leading_eigenvectors,
    random_projections,
    unit_rows,
)
from mgae.core.graph import MessageGraph, edge_matrix

STEPS = 16  # of the walks; a larger distance counts as one more
KATZ_TERMS = 6
RESTARTS = (0.15, 0.5)
SKETCH_CHANNELS, SKETCH_HOPS = 64, 3
_BLOCK_VALUES = 2_500_000  # of one matrix [num_nodes, heads]; about ten are alive at once
_MOST_HEADS = 96
_TINY = 1e-4
_NEGLIGIBLE = 1e-3  # weight of a walk step that is left out

NAMES = (
    "common neighbors",
    "adamic-adar",
    "resource allocation",
    "l3",
    "paths of length 3",
    "pagerank",
    "pagerank near",
    "walks",
    "katz",
    "hops",
    "jaccard",
    "degrees",
    "degree gap",
    "spectral",
    "spectral cubed",
    "sketch cosine",
    "same component",
    "smaller component",
    "component gap",
)


@dataclass(frozen=True, eq=False)
class Shortlist:
    """Likely new tails of some heads, grouped by head.

    Attributes:
        head: the index of the head among those that were asked about [n].
        tail: node ids [n].
        values: evidence [n, F].
    """

    head: Indices
    tail: Indices
    values: Floats


def column_names(with_features: bool) -> tuple[str, ...]:
    """Return the names of the columns of evidence; that of a node's own features is the last."""
    own, *smoothed = SmoothedFeatures.names
    return (*NAMES, *smoothed, own) if with_features else NAMES


class Evidence:
    """The evidence of any pair on one visible graph; directions and weights do not count.

    What is not known is NaN: all but their own features, if one of two nodes has no edges.

    Args:
        graph: the visible edges.
        features: the node features, prepared once for all visible graphs, or None.
        rank: of the spectral embedding.
    """

    def __init__(
        self, graph: MessageGraph, features: FeatureViews | None = None, rank: int = 64
    ) -> None:
        self.adjacency: sp.csr_array = edge_matrix(graph).astype(np.float32)
        self.num_nodes, self.sides = graph.num_nodes, graph.sides
        self.degree = np.diff(self.adjacency.indptr).astype(np.float32)
        self.root = np.sqrt(np.maximum(self.degree, 1))
        inverse = sp.diags_array((1 / self.root).astype(np.float32))
        self.walk = sp.csr_array(inverse @ self.adjacency @ inverse, dtype=np.float32)
        self.volume = max(float(self.degree.sum()), 1.0)
        self.features = None
        if features is not None:
            self.features = SmoothedFeatures(features, self.walk, self.root)
        self.rank = rank

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the evidence."""
        return column_names(self.features is not None)

    @property
    def block(self) -> int:
        """Heads at a time."""
        return int(np.clip(_BLOCK_VALUES // max(self.num_nodes, 1), 8, _MOST_HEADS))

    def pairs(self, pairs: Indices) -> Floats:
        """Return the evidence [n, F] of pairs [2, n]."""
        heads, tails = _fewer_heads(np.asarray(pairs), self.num_nodes)
        distinct, head = np.unique(heads, return_inverse=True)
        return self.explore(distinct, head, tails, 0)[0]

    def tails(self, heads: Indices, tails: Indices) -> Floats:
        """Return the evidence [h, t, F] of each of distinct heads with each of the tails."""
        head = np.arange(len(heads)).repeat(tails.size)
        values = self.explore(heads, head, np.tile(tails, len(heads)), 0)[0]
        return values.reshape(len(heads), tails.size, len(self.names))

    def shortlist(self, heads: Indices, count: int) -> Shortlist:
        """Return likely new tails of each head: the best ``count`` by each of several scores."""
        none = np.empty(0, np.int64)
        return self.explore(heads, none, none, count)[1]

    def explore(
        self, heads: Indices, head: Indices, tails: Indices, count: int
    ) -> tuple[Floats, Shortlist]:
        """Return the evidence [n, F] of (heads[head], tails) and the shortlist of every head.

        Both come from one walk. ``heads`` are distinct.
        """
        order = np.argsort(head, kind="stable")
        values = np.empty((len(head), len(self.names)), np.float32)
        start = np.searchsorted(head[order], np.arange(len(heads) + 1))
        lists: list[Shortlist] = []
        for first in range(0, len(heads), self.block):
            block = _Block(self, heads[first : first + self.block])
            mine = order[start[first] : start[min(first + self.block, len(heads))]]
            values[mine] = block.read(head[mine] - first, tails[mine])
            if count:
                which, tail = block.likely(count)
                lists.append(Shortlist(which + first, tail, block.read(which, tail)))
        return values, _joined(lists, values.shape[1])

    @cached_property
    def log_degree(self) -> Floats:
        """log(1 + degree) of each node."""
        logs: Floats = np.log1p(self.degree)
        return logs

    @cached_property
    def component(self) -> tuple[Indices, Floats]:
        """For each node the number of its component and the log of its size."""
        from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - slow to load

        _, label = connected_components(self.adjacency, directed=False)
        return label.astype(np.int64), np.log(np.bincount(label)[label]).astype(np.float32)

    @cached_property
    def katz_decay(self) -> float:
        """Half of the inverse of the largest eigenvalue, by power iteration."""
        vector, norm = self.root.astype(np.float32), 0.0
        for _ in range(20):
            vector = self.adjacency @ vector
            norm = float(np.linalg.norm(vector))
            if norm == 0:
                return 0.5
            vector = vector / np.float32(norm)
        return 0.5 / norm

    @cached_property
    def spectral(self) -> tuple[Floats, Floats]:
        """Eigenvectors [n, r], and two filters [2, r] of a dot product: PageRank's and λ³."""
        values, vectors = leading_eigenvectors(self.walk, self.rank)
        filtered = RESTARTS[0] / (1 - (1 - RESTARTS[0]) * values)
        return vectors, np.stack([filtered, values**3]).astype(np.float32)

    @cached_property
    def hops(self) -> list[Floats]:
        """FastRP: unit rows of P R, P² R and P³ R for a random R, [n, 64] each."""
        return random_projections(self.walk, SKETCH_CHANNELS, SKETCH_HOPS)

    @cached_property
    def sketch(self) -> Floats:
        """The sum of the hops, rows of unit length."""
        return unit_rows(np.sum(self.hops, axis=0))


class _Block:
    """All nodes as reached from a block of heads: matrices [num_nodes, heads]."""

    def __init__(self, evidence: Evidence, heads: Indices) -> None:
        self.evidence, self.heads = evidence, heads
        self._walk()
        self._count()

    def _walk(self) -> None:
        walk, columns = self.evidence.walk, np.arange(len(self.heads))
        now = np.zeros((self.evidence.num_nodes, len(self.heads)), np.float32)
        now[self.heads, columns] = 1
        self.pagerank = [np.float32(restart) * now for restart in RESTARTS]
        # The distance is the number of steps before which the walk had not arrived.
        self.hop = (now == 0).astype(np.int8)
        self.mean, steps = np.zeros_like(now), []
        for step in range(1, STEPS + 1):
            now = walk @ now
            self.mean += now
            self.hop += (self.mean == 0).view(np.int8)
            for restart, sums in zip(RESTARTS, self.pagerank, strict=True):
                weight = restart * (1 - restart) ** step
                if weight > _NEGLIGIBLE:
                    torch.from_numpy(sums).add_(torch.from_numpy(now), alpha=weight)
            if step <= 3:
                steps.append(now)
        self.adjacent, self.second, self.third = steps[0] > 0, steps[1], steps[2]
        self.hop[self.heads, columns] = 0

    def _count(self) -> None:
        adjacency, decay = self.evidence.adjacency, np.float32(self.evidence.katz_decay)
        one = self.adjacent.astype(np.float32)
        rarity = 1 / np.log(np.maximum(self.evidence.degree, 2))
        self.weighted = adjacency @ (one * rarity[:, None].astype(np.float32))
        self.common = adjacency @ one
        self.paths = adjacency @ self.common
        now, scale = self.paths, decay**2
        self.katz = decay * self.common + scale * self.paths
        for _ in range(4, KATZ_TERMS + 1):
            now, scale = adjacency @ now, scale * decay
            self.katz += scale * now
        self.katz /= decay  # in units of one path of length 2

    def read(self, which: Indices, tails: Indices) -> Floats:
        """Return the evidence [n, F] of (heads[which], tails)."""
        of, heads, at = self.evidence, self.heads[which], (tails, which)
        both = of.root[heads] * of.root[tails]
        sides = np.stack([of.log_degree[heads], of.log_degree[tails]])
        label, size = of.component
        common = self.common[at]
        union = of.degree[heads] + of.degree[tails] - common
        vectors, filters = of.spectral
        dots = (vectors[heads] * vectors[tails]) @ filters.T * of.num_nodes
        stationary = of.volume / both  # a walk is that much likelier than by degrees alone
        columns = [
            np.log1p(common),
            np.log1p(self.weighted[at]),
            np.log1p(10 * both * self.second[at]),
            np.log1p(100 * both * self.third[at]),
            np.log1p(self.paths[at]),
            np.log(stationary * self.pagerank[0][at] + _TINY),
            np.log(stationary * self.pagerank[1][at] + _TINY),
            np.log(stationary * self.mean[at] / STEPS + _TINY),
            np.log(self.katz[at] + _TINY),
            self.hop[at],
            common / np.maximum(union, 1),
            sides.sum(axis=0),
            np.abs(sides[0] - sides[1]),
            np.arcsinh(dots[:, 0]),
            np.arcsinh(dots[:, 1]),
            np.einsum("nd,nd->n", of.sketch[heads], of.sketch[tails]),
            label[heads] == label[tails],
            np.minimum(size[heads], size[tails]),
            np.abs(size[heads] - size[tails]),
        ]
        if of.features is not None:
            own, *smoothed = of.features.cosines(heads, tails)
            columns += [*smoothed, own]
        values = np.stack(columns, axis=1, dtype=np.float32, casting="unsafe")
        # Of a node without edges nothing is known but its own features: neither that it is far
        # from all others, nor that an edge of it must have been hidden.
        unknown = (of.degree[heads] == 0) | (of.degree[tails] == 0)
        values[unknown, : len(of.names) - (of.features is not None)] = np.nan
        return values

    def likely(self, count: int) -> tuple[Indices, Indices]:
        """Return (which head, tail) of the union of the best ``count`` by each score."""
        num_nodes = self.evidence.num_nodes
        blocked = torch.from_numpy(np.ascontiguousarray(self.adjacent.T))
        blocked[torch.arange(len(self.heads)), torch.from_numpy(self.heads)] = True
        if (sides := self.evidence.sides) is not None:
            heads = torch.from_numpy(self.heads).unsqueeze(1)
            blocked |= ~sides.across(heads, torch.arange(num_nodes))
        keys = []
        for scores in self._scores():
            allowed = torch.from_numpy(scores).masked_fill_(blocked, 0)
            best = allowed.topk(min(count, num_nodes), dim=1)
            row, column = (best.values > 0).nonzero(as_tuple=True)
            keys.append((row * num_nodes + best.indices[row, column]).numpy())
        joined = np.unique(np.concatenate(keys))
        return joined // num_nodes, joined % num_nodes

    def _scores(self) -> Iterator[Floats]:
        """Yield scores [heads, num_nodes] of all tails, one kind after the other."""
        of, root = self.evidence, self.evidence.root
        for walked in (self.pagerank[0], self.third, self.second):
            yield np.ascontiguousarray((walked * root[:, None]).T)
        yield np.ascontiguousarray(self.katz.T)
        vectors, filters = of.spectral
        yield (vectors[self.heads] * filters[0]) @ vectors.T * root
        if of.features is not None:
            yield from of.features.scores(self.heads)


def _fewer_heads(pairs: Indices, num_nodes: int) -> Indices:
    """Turn pairs [2, n] so that the end that occurs more often is the head: fewer walks."""
    count = np.bincount(pairs.ravel(), minlength=num_nodes)
    return np.where(count[pairs[1]] > count[pairs[0]], pairs[::-1], pairs)


def _joined(lists: list[Shortlist], width: int) -> Shortlist:
    if not lists:
        none = np.empty(0, np.int64)
        return Shortlist(none, none, np.empty((0, width), np.float32))
    return Shortlist(
        np.concatenate([one.head for one in lists]),
        np.concatenate([one.tail for one in lists]),
        np.concatenate([one.values for one in lists]),
    )
