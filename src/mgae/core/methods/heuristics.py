"""Heuristics: scores that need no training, printed beside every result."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import normalize

from mgae.core.encoders import Encoder
from mgae.core.errors import UnsupportedError
from mgae.core.graph import MessageGraph, edge_matrix
from mgae.core.methods.base import Encoded, Method
from mgae.core.methods.embedding import InnerProductMethod
from mgae.core.ops import pagerank
from mgae.core.ops.sparse import SparseMatrix

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Columns = NDArray[np.floating[Any]]
_NEIGHBORS_AT_ONCE = 1 << 18  # of the pairs in a chunk; the largest node alone may have more
OVERLAP_BYTES = 64 * _NEIGHBORS_AT_ONCE  # what a chunk of pairs takes
HEADS_AT_ONCE = 64  # so that their columns stay in the cache
_POWER_ROUNDS = 100


class NeighborOverlap(Method):
    """Σ over common neighbors z of weight(degree of z); two sides of a graph never have one."""

    trains: ClassVar[bool] = False
    stays_on_cpu: ClassVar[bool] = True

    @abstractmethod
    def weight(self, degree: Floats) -> Floats:
        """Return what a common neighbor of this degree (two or more) counts."""

    def encode(self, graph: MessageGraph) -> sp.csr_array:
        """Return the edges as a matrix."""
        if graph.side is not None:
            raise UnsupportedError(
                f"method {self.name!r} counts common neighbors, and in a bipartite graph the ends "
                "of an edge have none: use 'l3'"
            )
        return edge_matrix(graph)

    def score_links(self, encoded: sp.csr_array, pairs: Tensor) -> Tensor:
        """Look up the neighbors of each pair's smaller end among those of the larger one.

        A star's center is the larger end of all its pairs: neither time nor memory follow its
        degree.
        """
        degree, weight = np.diff(encoded.indptr), self._weights(encoded)
        head, tail = pairs.numpy()
        swap = degree[tail] < degree[head]
        small, large = np.where(swap, tail, head), np.where(swap, head, tail)
        keys = _edge_keys(encoded)
        chunks = np.cumsum(degree[small], dtype=np.int64) // _NEIGHBORS_AT_ONCE
        cuts = np.flatnonzero(np.diff(chunks)) + 1
        scores = [
            _shared_weight(encoded, keys, weight, *ends)
            for ends in zip(np.split(small, cuts), np.split(large, cuts), strict=True)
        ]
        return torch.from_numpy(np.concatenate(scores)).float()

    def score_tails(self, encoded: sp.csr_array, heads: Tensor, tails: Tensor) -> Tensor:
        """Multiply two matrices."""
        product = encoded[heads.numpy()] @ self._weighted(encoded)[tails.numpy()].T
        return torch.from_numpy(product.toarray()).float()

    def _weighted(self, encoded: sp.csr_array) -> sp.csr_array:
        """Return the edges, each with what its target counts as a common neighbor."""
        return sp.csr_array(encoded @ sp.diags_array(self._weights(encoded)))

    def _weights(self, encoded: sp.csr_array) -> Floats:
        """Return what each node counts as a common neighbor [n]."""
        # A node with one edge is nobody's common neighbor; 2 keeps its logarithm from zero.
        return self.weight(np.maximum(_degree(encoded), 2))


def _edge_keys(edges: sp.csr_array) -> Indices:
    """Return row · n + column of each entry, sorted."""
    rows = np.repeat(np.arange(edges.shape[0], dtype=np.int64), np.diff(edges.indptr))
    return rows * edges.shape[0] + edges.indices


def _shared_weight(
    edges: sp.csr_array, keys: Indices, weight: Floats, small: Indices, large: Indices
) -> Floats:
    """Return the summed weight of the neighbors that each ``small`` [n] and ``large`` [n] share."""
    count = np.diff(edges.indptr)[small]
    pair = np.repeat(np.arange(small.size), count)
    first = np.repeat(edges.indptr[small] - np.concatenate([[0], np.cumsum(count)[:-1]]), count)
    between = edges.indices[first + np.arange(pair.size)]
    wanted = large[pair] * edges.shape[0] + between
    index = np.minimum(np.searchsorted(keys, wanted), max(keys.size - 1, 0))
    shared = keys[index] == wanted if keys.size else np.zeros(0, bool)
    total = np.bincount(pair[shared], weight[between[shared]], minlength=small.size)
    return total.astype(np.float64, copy=False)


class CommonNeighbors(NeighborOverlap):
    """Each common neighbor counts 1."""

    def weight(self, degree: Floats) -> Floats:
        """Return 1."""
        return np.ones_like(degree)


class AdamicAdar(NeighborOverlap):
    """Each common neighbor counts 1 / log(degree)."""

    def weight(self, degree: Floats) -> Floats:
        """Return 1 / log(degree)."""
        return 1 / np.log(degree)


class ResourceAllocation(NeighborOverlap):
    """Each common neighbor counts 1 / degree."""

    def weight(self, degree: Floats) -> Floats:
        """Return 1 / degree."""
        return 1 / degree


class Jaccard(CommonNeighbors):
    """The share of both ends' neighbors that they have in common; 0 where neither has any."""

    def score_links(self, encoded: sp.csr_array, pairs: Tensor) -> Tensor:
        """Return a share per pair."""
        degree = torch.from_numpy(_degree(encoded)).float()
        shared = super().score_links(encoded, pairs)
        return shared / (degree[pairs].sum(dim=0) - shared).clamp(min=1)

    def score_tails(self, encoded: sp.csr_array, heads: Tensor, tails: Tensor) -> Tensor:
        """Divide the product of two matrices."""
        degree = torch.from_numpy(_degree(encoded)).float()
        shared = super().score_tails(encoded, heads, tails)
        return shared / (degree[heads].unsqueeze(1) + degree[tails] - shared).clamp(min=1)


class EmbeddingHeuristic(InnerProductMethod):
    """Scores a link by the cosine of its ends' embeddings."""

    trains: ClassVar[bool] = False

    def encode(self, graph: MessageGraph) -> Encoded:
        """Return unit vectors."""
        return Encoded([normalize(self.embed(graph))], graph.undirected)


class RawFeatures(EmbeddingHeuristic):
    """No graph at all."""

    stays_on_cpu: ClassVar[bool] = True

    def embed(self, graph: MessageGraph) -> Tensor:
        """Return the features themselves."""
        if graph.x is None:
            raise UnsupportedError("method 'raw-features' needs node features")
        return graph.x.to_dense() if isinstance(graph.x, SparseMatrix) else graph.x


class RandomInit(EmbeddingHeuristic):
    """What the architecture gives before anything is learned."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    @torch.no_grad()
    def embed(self, graph: MessageGraph) -> Tensor:
        """Return the untrained layers side by side."""
        self.eval()
        return torch.cat(self.encoder(graph, None), dim=1)


class PreferentialAttachment(Method):
    """The product of both degrees."""

    trains: ClassVar[bool] = False
    stays_on_cpu: ClassVar[bool] = True

    def encode(self, graph: MessageGraph) -> sp.csr_array:
        """Return the edges as a matrix."""
        return edge_matrix(graph)

    def score_links(self, encoded: sp.csr_array, pairs: Tensor) -> Tensor:
        """Return a product per pair."""
        degree = torch.from_numpy(_degree(encoded)).float()
        return degree[pairs[0]] * degree[pairs[1]]

    def score_tails(self, encoded: sp.csr_array, heads: Tensor, tails: Tensor) -> Tensor:
        """Return an outer product."""
        degree = torch.from_numpy(_degree(encoded)).float()
        return torch.outer(degree[heads], degree[tails])


def _degree(edges: sp.csr_array) -> Floats:
    return np.asarray(edges.sum(axis=0), dtype=np.float64).ravel()


class HeadwiseHeuristic(Method):
    """A symmetric score that one end's walks give for all other ends together.

    A subclass says what a block of heads gives. Memory is that of a block: [num_nodes, heads].
    """

    trains: ClassVar[bool] = False
    stays_on_cpu: ClassVar[bool] = True
    rounds: ClassVar[int]  # products with all edges that a block of heads takes

    def encode(self, graph: MessageGraph) -> sp.csr_array:
        """Return the edges as a matrix."""
        return edge_matrix(graph)

    @abstractmethod
    def columns(self, encoded: sp.csr_array) -> Callable[[Indices], Columns]:
        """Return a function from heads [h] to the values of all nodes with each: [n, h]."""

    def scale(self, encoded: sp.csr_array, head: Indices, tail: Indices) -> Floats | float:
        """Return what the value of each pair is multiplied by."""
        return 1.0

    def score_links(self, encoded: sp.csr_array, pairs: Tensor) -> Tensor:
        """Score head after head, some at once."""
        head, tail = pairs.numpy()
        degree = np.diff(encoded.indptr)
        # As the head the end that comes more often, or else is better joined: few heads are enough.
        often = np.bincount(pairs.numpy().ravel(), minlength=degree.size) + degree / degree.size
        swap = often[tail] > often[head]
        head, tail = np.where(swap, tail, head), np.where(swap, head, tail)
        heads, row = np.unique(head, return_inverse=True)
        self._require_affordable(heads.size * encoded.nnz * self.rounds)
        columns = self.columns(encoded)
        scores = np.zeros(head.size)
        for start in range(0, heads.size, HEADS_AT_ONCE):
            some = heads[start : start + HEADS_AT_ONCE]
            here = np.flatnonzero((row >= start) & (row < start + some.size))
            scores[here] = columns(some)[tail[here], row[here] - start]
        return torch.from_numpy(scores * self.scale(encoded, head, tail)).float()

    def score_tails(self, encoded: sp.csr_array, heads: Tensor, tails: Tensor) -> Tensor:
        """Read each head's column at the tails."""
        self._require_affordable(heads.numel() * encoded.nnz * self.rounds)
        columns, at = self.columns(encoded), tails.numpy()
        scores = np.zeros((heads.numel(), at.size))
        for start in range(0, heads.numel(), HEADS_AT_ONCE):
            some = heads.numpy()[start : start + HEADS_AT_ONCE]
            scale = self.scale(encoded, some[:, None], at)
            scores[start : start + some.size] = columns(some)[at].T * scale
        return torch.from_numpy(scores).float()

    def _require_affordable(self, products: int) -> None:
        if products > pagerank.MOST_PRODUCTS:
            raise UnsupportedError(
                f"method {self.name!r} would take {products:.0e} products for these pairs and "
                f"{pagerank.MOST_PRODUCTS:.0e} are allowed: score fewer pairs, or leave it out"
            )


class PersonalizedPageRank(HeadwiseHeuristic):
    """ppr_u(v) + ppr_v(u); directions and weights do not count, as for common neighbors.

    With S = D^-1/2 A D^-1/2 and F = α (I - (1-α) S)^-1 this is F_uv (√(d_v/d_u) + √(d_u/d_v)): one
    end of each pair is enough, and F is symmetric, so that the iteration may be an accelerated one.
    """

    rounds = pagerank.ROUNDS

    def columns(self, encoded: sp.csr_array) -> Callable[[Indices], Columns]:
        """Return columns of F."""
        return partial(pagerank.resolvent, pagerank.walk_matrix(encoded))

    def scale(self, encoded: sp.csr_array, head: Indices, tail: Indices) -> Floats | float:
        """Return √(d_v/d_u) + √(d_u/d_v)."""
        degree = pagerank.degrees(encoded)
        ratio = np.sqrt(degree[head] / degree[tail])
        return ratio + 1 / ratio


class Katz(HeadwiseHeuristic):
    """Σ over l = 1 … 6 of β^l times the walks of length l, with β = 0.5 / λ_max.

    The seventh term and all later ones are together less than 1 / 64 of the largest possible sum.
    """

    rounds = 6

    def encode(self, graph: MessageGraph) -> sp.csr_array:
        """Return β A; a graph without edges has none."""
        edges = edge_matrix(graph)
        return sp.csr_array(edges * (0.5 / max(_largest_eigenvalue(edges), 1.0)))

    def columns(self, encoded: sp.csr_array) -> Callable[[Indices], Columns]:
        """Return columns of Σ (β A)^l."""

        def walks(heads: Indices) -> Columns:
            term = encoded[:, heads].toarray()
            total = term.copy()
            for _ in range(self.rounds - 1):
                term = encoded @ term
                total += term
            return total

        return walks


def _largest_eigenvalue(edges: sp.csr_array) -> float:
    """Return λ_max of a symmetric 0/1 matrix, from A + I, for which power iteration converges."""
    vector = np.sqrt(_degree(edges) + 1)
    for _ in range(_POWER_ROUNDS):
        vector = edges @ vector + vector
        vector /= np.linalg.norm(vector)
    return float(vector @ (edges @ vector))


class PathsOfThree(HeadwiseHeuristic):
    """L3: Σ over paths u-x-y-v of 1 / √(degree of x · degree of y)."""

    rounds = 2

    def columns(self, encoded: sp.csr_array) -> Callable[[Indices], Columns]:
        """Return columns of A S A with S = D^-1/2 A D^-1/2."""
        walk = pagerank.walk_matrix(encoded)
        return lambda heads: encoded @ (walk @ encoded[:, heads].toarray())
