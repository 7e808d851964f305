"""Evidence from node features: cosines of a node's own and of its neighbors' features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from torch import Tensor

from mgae.core.evidence.sketches import Floats, Indices, leading_directions, unit_rows
from mgae.core.ops.sparse import SparseMatrix

_DENSE_FROM = 0.2  # above this share of non-zeros columns are not weighted by rarity
_PAIRS_AT_ONCE = 8192


@dataclass(frozen=True, eq=False)
class FeatureViews:
    """Node features in the two forms that evidence needs.

    Attributes:
        unit: rows of unit length, weighted by rarity if the features are counts [n, F].
        dense: the same or its leading directions [n, at most ``width``], to sum over neighbors.
    """

    unit: sp.csr_array
    dense: Floats

    @classmethod
    def of(cls, x: Tensor | SparseMatrix, width: int = 256) -> FeatureViews:
        """Prepare features [n, F] once for all visible graphs."""
        if isinstance(x, SparseMatrix):
            parts = (x.values.numpy(), x.pattern.col.numpy(), x.pattern.rowptr.numpy())
            matrix = sp.csr_array(parts, shape=x.shape, dtype=np.float32)
        else:
            matrix = sp.csr_array(x.numpy(), dtype=np.float32)
        unit = _unit(_weighted_by_rarity(matrix))
        narrow = unit.shape[1] <= 2 * width
        return cls(unit, unit.toarray() if narrow else leading_directions(unit, width))


class SmoothedFeatures:
    """Features, their means over neighbors, and over neighbors of these, on one visible graph."""

    names = ("feature cosine", "neighbor cosine", "two-hop cosine", "cross cosine")

    def __init__(self, views: FeatureViews, walk: sp.csr_array, root: Floats) -> None:
        self.unit = views.unit
        column, own = root[:, None], views.dense
        hop = (walk @ (column * own)) / column
        self.own, self.hop = unit_rows(own), unit_rows(hop)
        self.two_hops = unit_rows(hop + (walk @ (column * hop)) / column)

    def cosines(self, heads: Indices, tails: Indices) -> list[Floats]:
        """Return the evidence of pairs, one array [n] for each name."""
        crossed = _dots(self.own, self.hop, heads, tails) + _dots(self.hop, self.own, heads, tails)
        own = self.unit[heads].multiply(self.unit[tails]).sum(axis=1)
        return [
            np.asarray(own, dtype=np.float32).ravel(),
            _dots(self.hop, self.hop, heads, tails),
            _dots(self.two_hops, self.two_hops, heads, tails),
            np.float32(0.5) * crossed,
        ]

    def scores(self, heads: Indices) -> Iterator[Floats]:
        """Yield scores [heads, n] by which candidates are chosen."""
        yield (self.unit[heads] @ self.unit.T).toarray()
        yield self.two_hops[heads] @ self.two_hops.T


def _weighted_by_rarity(x: sp.csr_array) -> sp.csr_array:
    """Weight non-negative sparse columns by log(n / count), as TF-IDF does."""
    if x.nnz == 0 or x.data.min() < 0 or x.nnz > _DENSE_FROM * x.shape[0] * x.shape[1]:
        return x
    count = np.bincount(x.indices, minlength=x.shape[1])
    weight = np.log((1 + x.shape[0]) / (1 + count)).astype(np.float32)
    return sp.csr_array(x @ sp.diags_array(weight))


def _unit(x: sp.csr_array) -> sp.csr_array:
    norm = np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array((1 / np.maximum(norm, 1e-12)).astype(np.float32)) @ x)


def _dots(left: Floats, right: Floats, heads: Indices, tails: Indices) -> Floats:
    parts = [slice(at, at + _PAIRS_AT_ONCE) for at in range(0, len(heads), _PAIRS_AT_ONCE)]
    dots = [np.einsum("nd,nd->n", left[heads[part]], right[tails[part]]) for part in parts]
    return np.concatenate([np.empty(0, np.float32), *dots])
