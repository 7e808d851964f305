"""Heuristics: scores that need no training, printed beside every result."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

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
_PAIRS_AT_ONCE = 65536
_HEADS_AT_ONCE = 64  # so that their columns stay in the cache


class NeighborOverlap(Method):
    """Σ over common neighbors z of weight(degree of z)."""

    trains: ClassVar[bool] = False

    @abstractmethod
    def weight(self, degree: Floats) -> Floats:
        """Return what a common neighbor of this degree (two or more) counts."""

    def encode(self, graph: MessageGraph) -> sp.csr_array:
        """Return the edges as a matrix."""
        return edge_matrix(graph)

    def score_links(self, encoded: sp.csr_array, pairs: Tensor) -> Tensor:
        """Return a row product per pair."""
        weighted = self._weighted(encoded)
        scores = [
            np.asarray(encoded[heads].multiply(weighted[tails]).sum(axis=1)).ravel()
            for heads, tails in (chunk.numpy() for chunk in pairs.split(_PAIRS_AT_ONCE, dim=1))
        ]
        return torch.from_numpy(np.concatenate(scores)).float()

    def score_tails(self, encoded: sp.csr_array, heads: Tensor, tails: Tensor) -> Tensor:
        """Multiply two matrices."""
        product = encoded[heads.numpy()] @ self._weighted(encoded)[tails.numpy()].T
        return torch.from_numpy(product.toarray()).float()

    def _weighted(self, encoded: sp.csr_array) -> sp.csr_array:
        """Return the edges, each with what its target counts as a common neighbor."""
        # A node with one edge is nobody's common neighbor; 2 keeps its logarithm from zero.
        degree = np.maximum(np.asarray(encoded.sum(axis=0), dtype=np.float64).ravel(), 2)
        return sp.csr_array(encoded @ sp.diags_array(self.weight(degree)))


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


class EmbeddingHeuristic(InnerProductMethod):
    """Scores a link by the cosine of its ends' embeddings."""

    trains: ClassVar[bool] = False

    def encode(self, graph: MessageGraph) -> Encoded:
        """Return unit vectors."""
        return Encoded([normalize(self.embed(graph))], graph.undirected)


class RawFeatures(EmbeddingHeuristic):
    """No graph at all."""

    def embed(self, graph: MessageGraph) -> Tensor:
        """Return the features themselves."""
        if graph.x is None:
            raise UnsupportedError("method 'raw-features' needs node features")
        return graph.x.csr().to_dense() if isinstance(graph.x, SparseMatrix) else graph.x


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


class PersonalizedPageRank(Method):
    """ppr_u(v) + ppr_v(u); directions and weights do not count, as for common neighbors.

    With S = D^-1/2 A D^-1/2 and F = α (I - (1-α) S)^-1 this is F_uv (√(d_v/d_u) + √(d_u/d_v)): one
    end of each pair is enough, and F is symmetric, so that the iteration may be an accelerated one.
    """

    trains: ClassVar[bool] = False

    def encode(self, graph: MessageGraph) -> sp.csr_array:
        """Return the edges as a matrix."""
        return edge_matrix(graph)

    def score_links(self, encoded: sp.csr_array, pairs: Tensor) -> Tensor:
        """Score head after head, some at once."""
        head, tail = pairs.numpy()
        degree = pagerank.degrees(encoded)
        # As the head the end that comes more often, or else is better joined: few heads are enough.
        often = np.bincount(pairs.numpy().ravel(), minlength=degree.size) + degree / degree.size
        swap = often[tail] > often[head]
        head, tail = np.where(swap, tail, head), np.where(swap, head, tail)
        heads, row = np.unique(head, return_inverse=True)
        self._require_affordable(heads.size * encoded.nnz * pagerank.ROUNDS)
        walk = pagerank.walk_matrix(encoded)
        scores = np.zeros(head.size)
        for start in range(0, heads.size, _HEADS_AT_ONCE):
            some = heads[start : start + _HEADS_AT_ONCE]
            here = np.flatnonzero((row >= start) & (row < start + some.size))
            scores[here] = pagerank.resolvent(walk, some)[tail[here], row[here] - start]
        ratio = np.sqrt(degree[head] / degree[tail])
        return torch.from_numpy(scores * (ratio + 1 / ratio)).float()

    def _require_affordable(self, products: int) -> None:
        if products > pagerank.MOST_PRODUCTS:
            raise UnsupportedError(
                f"method {self.name!r} would take {products:.0e} products for these pairs and "
                f"{pagerank.MOST_PRODUCTS:.0e} are allowed: score fewer pairs, or leave it out"
            )
