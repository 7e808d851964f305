"""Personalized PageRank, a heuristic that looks further than two hops."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from mgae.core.errors import UnsupportedError
from mgae.core.graph import MessageGraph, edge_matrix
from mgae.core.methods.base import Method
from mgae.core.ops import pagerank
from mgae.registry import METHODS

_HEADS_AT_ONCE = 64  # so that their columns stay in the cache


@METHODS.register(
    "personalized-pagerank",
    summary="how often a walk that restarts at one node with 0.15 is at the other",
    paper="Page et al., The PageRank Citation Ranking, 1999",
    parts={},
)
class PersonalizedPageRank(Method):
    """ppr_u(v) + ppr_v(u); directions and weights do not count, as for common neighbors.

    With S = D^-1/2 A D^-1/2 and F = α (I - (1-α) S)^-1 this is F_uv (√(d_v/d_u) + √(d_u/d_v)): one
    end of each pair is enough, and F is symmetric, so that the iteration may be an accelerated one.
    """

    trains: ClassVar[bool] = False

    def encode(self, graph: MessageGraph) -> sp.csr_array:
        """The edges as a matrix."""
        return edge_matrix(graph)

    def score_links(self, encoded: sp.csr_array, pairs: Tensor) -> Tensor:
        """Head after head, some at once."""
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
