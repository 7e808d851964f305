"""Embeddings from a factorized matrix of the graph, without training.

Directions and weights do not count, as for the heuristics.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import normalize

from mgae.core.errors import UnsupportedError
from mgae.core.graph import MessageGraph, edge_matrix
from mgae.core.methods.base import Encoded
from mgae.core.methods.embedding import InnerProductMethod
from mgae.core.ops import pagerank
from mgae.core.seeding import Generators

Floats = NDArray[np.float64]
_ROUNDING = 1e-9
_SMALL = 4  # times as many nodes as channels: all factors take no longer than some
_FEW_NODES = 2000  # all eigenvectors of so many take a second
_BASIS, _TOLERANCE = 4, 1e-4  # of Lanczos: vectors for each eigenvector, and relative error


class FixedEmbedding(InnerProductMethod):
    """Computes an embedding from the graph alone.

    Its chance is one number, drawn like a weight and stored with the weights, so that a run that
    is opened again has the same embedding.

    Args:
        channels: width of the embedding; fewer where the graph has fewer nodes.
        cosine: whether a link is scored by unit vectors.
    """

    trains: ClassVar[bool] = False
    stays_on_cpu: ClassVar[bool] = True
    seed: Tensor

    def __init__(self, channels: int, cosine: bool) -> None:
        super().__init__()
        self.channels, self.cosine = channels, cosine
        self.register_buffer("seed", torch.empty(1, dtype=torch.long))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the seed anew."""
        self.seed.random_(2**31)

    def generator(self) -> torch.Generator:
        """Return a generator that draws the same each time."""
        return Generators(int(self.seed))["init"]

    @abstractmethod
    def factorize(self, edges: sp.csr_array) -> Floats:
        """Return a vector for each node [n, width] from the symmetric 0/1 matrix of edges."""

    def embed(self, graph: MessageGraph) -> Tensor:
        """Return the factors: [num_nodes, width]."""
        return torch.from_numpy(np.ascontiguousarray(self.factorize(edge_matrix(graph)))).float()

    def encode(self, graph: MessageGraph) -> Encoded:
        """Return the embeddings, as the inner product takes them."""
        z = self.embed(graph)
        return Encoded([normalize(z) if self.cosine else z], graph.undirected)

    def left_factors(self, matrix: Floats | sp.csr_array) -> Floats:
        """Return U √Σ of the largest singular values; of a large matrix by a randomized way."""
        count = min(self.channels, matrix.shape[0])
        if matrix.shape[0] <= _SMALL * count:
            whole = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
            left, values, _ = np.linalg.svd(whole)
        else:
            # Imported here: scikit-learn brings pyarrow along, which the core does without.
            from sklearn.utils.extmath import randomized_svd  # noqa: PLC0415

            draw = int(torch.randint(2**31, (), generator=self.generator()))
            left, values, _ = randomized_svd(matrix, count, n_iter=5, random_state=draw)
        return _with_roots(left[:, :count], values[:count])


class Spectral(FixedEmbedding):
    """Personalized PageRank of low rank: the leading eigenvectors of D^-1/2 A D^-1/2.

    An eigenvector of λ counts as it does in PageRank, λ / (1 - (1 - restart) λ). They are those of
    scipy's ``eigsh`` (Lanczos), or of all of a small graph. Links are scored by the inner product:
    it is the approximated PageRank, which unit vectors are not.

    Args:
        restart: α of PageRank.
        channels, cosine: see `FixedEmbedding`.
    """

    def __init__(self, channels: int = 64, cosine: bool = False, restart: float = 0.15) -> None:
        super().__init__(channels, cosine)
        self.restart = restart

    def factorize(self, edges: sp.csr_array) -> Floats:
        """Return the eigenvectors of positive λ, each times the root of what it counts."""
        values, vectors = self._eigenvectors(pagerank.walk_matrix(edges).astype(np.float64))
        values = np.maximum(values, 0)
        return np.asarray(vectors * np.sqrt(values / (1 - (1 - self.restart) * values)))

    def _eigenvectors(self, walk: sp.csr_array) -> tuple[Floats, Floats]:
        count = min(self.channels, walk.shape[0])
        if walk.shape[0] <= max(_FEW_NODES, _SMALL * count):
            values, vectors = np.linalg.eigh(walk.toarray())
            return values[-count:], vectors[:, -count:]
        from scipy.sparse.linalg import eigsh  # noqa: PLC0415 - slow to load

        start = torch.rand(walk.shape[0], generator=self.generator(), dtype=torch.float64)
        # As many eigenvalues of 1 as components, which a loose tolerance and a wide basis survive.
        width = min(_BASIS * count, walk.shape[0])
        values, vectors = eigsh(
            walk, count, which="LA", v0=start.numpy(), ncv=width, tol=_TOLERANCE
        )
        return values, vectors


class NetMF(FixedEmbedding):
    """What DeepWalk factorizes implicitly, factorized: log of how often two nodes meet in a window.

    M = vol / (window · negatives) Σ_r (D^-1 A)^r D^-1, cut off below 1; r = 1 … window. Links are
    scored by the inner product, which is what the factors approximate.

    Args:
        window: longest distance of two nodes in a walk.
        negatives: negative samples per pair in the skip-gram that this replaces.
        max_nodes: refuse a larger graph, since M is dense.
        channels, cosine: see `FixedEmbedding`.
    """

    def __init__(
        self,
        channels: int = 128,
        cosine: bool = False,
        window: int = 10,
        negatives: float = 1.0,
        max_nodes: int = 6000,
    ) -> None:
        super().__init__(channels, cosine)
        self.window, self.negatives, self.max_nodes = window, negatives, max_nodes

    def factorize(self, edges: sp.csr_array) -> Floats:
        """Return the left factors of log max(M, 1)."""
        if edges.shape[0] > self.max_nodes:
            raise UnsupportedError(
                f"method {self.name!r} needs a dense matrix of {edges.shape[0]:,}² and "
                f"method.max_nodes is {self.max_nodes:,}: use 'prone', or raise it"
            )
        return self.left_factors(np.log(np.maximum(self.meetings(edges), 1)))

    def meetings(self, edges: sp.csr_array) -> Floats:
        """Return M: [n, n]."""
        inverse = sp.diags_array(1 / pagerank.degrees(edges))
        walk = sp.csr_array(inverse @ edges)
        power: Floats = inverse.toarray()
        total = np.zeros_like(power)
        for _ in range(self.window):
            power = walk @ power
            total += power
        total *= edges.sum() / (self.window * self.negatives)
        return total


class ProNE(FixedEmbedding):
    """A sparse factorization of the edges, then smoothed by a band-pass filter.

    The filter is exp(-θ/2 ((L - μ)² - 2)) of the Laplacian L = I - D^-1 (A + I), as a Chebyshev
    series. Links are scored by the cosine: the published vectors have unit length.

    Args:
        mu, theta: center and sharpness of the filter.
        order: terms of the series.
        channels, cosine: see `FixedEmbedding`.
    """

    def __init__(
        self,
        channels: int = 128,
        cosine: bool = True,
        mu: float = 0.1,
        theta: float = 0.5,
        order: int = 10,
    ) -> None:
        super().__init__(channels, cosine)
        self.mu, self.theta, self.order = mu, theta, order

    def factorize(self, edges: sp.csr_array) -> Floats:
        """Factorize, propagate, and factorize the result once more."""
        first = _unit_rows(self.left_factors(edge_information(edges)))
        looped = sp.csr_array(edges + sp.eye_array(edges.shape[0]))
        left, values, _ = np.linalg.svd(looped @ (first - self.smooth(looped, first)), False)
        return _unit_rows(_with_roots(left, values))

    def smooth(self, looped: sp.csr_array, x: Floats) -> Floats:
        """Return exp(-θ Y) x with Y = (L - μ)² / 2 - 1, from the edges with self-loops."""
        from scipy.special import iv  # noqa: PLC0415 - slow to load

        walk = sp.csr_array(sp.diags_array(1 / looped.sum(axis=1)) @ looped)

        def doubled(h: Floats) -> Floats:
            """Return 2 Y h."""
            once = (1 - self.mu) * h - walk @ h
            return np.asarray((1 - self.mu) * once - walk @ once - 2 * h)

        before, now = x, doubled(x) / 2
        total = iv(0, self.theta) * before - 2 * iv(1, self.theta) * now
        for term in range(2, self.order):
            before, now = now, doubled(now) - before
            total += 2 * (-1) ** term * iv(term, self.theta) * now
        return np.asarray(total)


def edge_information(edges: sp.csr_array) -> sp.csr_array:
    """Return log p_uv - log q_v on the edges: p a step of a walk, q ∝ (Σ_u p_uv)^0.75."""
    walk = sp.csr_array(sp.diags_array(1 / pagerank.degrees(edges)) @ edges)
    reached = np.asarray(walk.sum(axis=0)).ravel() ** 0.75
    information = walk.copy()
    chance = reached[walk.indices] / max(reached.sum(), 1e-12)
    information.data = np.log(walk.data) - np.log(chance)
    return information


def _with_roots(left: Floats, values: Floats) -> Floats:
    """Return U √Σ; what is zero but for rounding becomes zero, lest unit rows make it large."""
    real = values > _ROUNDING * values.max(initial=0.0)
    return np.asarray(left * np.sqrt(np.where(real, values, 0)), dtype=np.float64)


def _unit_rows(matrix: Floats) -> Floats:
    length = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(np.where(length > _ROUNDING, matrix / np.maximum(length, _ROUNDING), 0))
