"""Heuristics: what can be had without training, printed beside every result."""

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
from mgae.core.ops.sparse import SparseMatrix
from mgae.registry import ENCODERS, METHODS
from mgae.runs.config import RunConfig

Floats = NDArray[np.float64]
_PAIRS_AT_ONCE = 65536


class NeighborOverlap(Method):
    """Σ over common neighbors z of weight(degree of z)."""

    trains: ClassVar[bool] = False

    @abstractmethod
    def weight(self, degree: Floats) -> Floats:
        """What a common neighbor of this degree (two or more) counts."""

    def encode(self, graph: MessageGraph) -> sp.csr_array:
        """The edges as a matrix."""
        return edge_matrix(graph)

    def score_links(self, encoded: sp.csr_array, pairs: Tensor) -> Tensor:
        """A row product per pair."""
        weighted = self._weighted(encoded)
        scores = [
            np.asarray(encoded[heads].multiply(weighted[tails]).sum(axis=1)).ravel()
            for heads, tails in (chunk.numpy() for chunk in pairs.split(_PAIRS_AT_ONCE, dim=1))
        ]
        return torch.from_numpy(np.concatenate(scores)).float()

    def score_tails(self, encoded: sp.csr_array, heads: Tensor, tails: Tensor) -> Tensor:
        """One product of two matrices."""
        product = encoded[heads.numpy()] @ self._weighted(encoded)[tails.numpy()].T
        return torch.from_numpy(product.toarray()).float()

    def _weighted(self, encoded: sp.csr_array) -> sp.csr_array:
        """The edges, each with what its target counts as a common neighbor."""
        # A node with one edge is nobody's common neighbor; 2 keeps its logarithm from zero.
        degree = np.maximum(np.asarray(encoded.sum(axis=0), dtype=np.float64).ravel(), 2)
        return sp.csr_array(encoded @ sp.diags_array(self.weight(degree)))


@METHODS.register("common-neighbors", summary="how many neighbors two nodes share", parts={})
class CommonNeighbors(NeighborOverlap):
    """Each common neighbor counts 1."""

    def weight(self, degree: Floats) -> Floats:
        """1."""
        return np.ones_like(degree)


@METHODS.register(
    "adamic-adar",
    summary="shared neighbors, rare ones counting more: 1 / log degree",
    paper="Adamic and Adar, Friends and Neighbors on the Web, 2003",
    parts={},
)
class AdamicAdar(NeighborOverlap):
    """Each common neighbor counts 1 / log(degree)."""

    def weight(self, degree: Floats) -> Floats:
        """1 / log(degree)."""
        return 1 / np.log(degree)


@METHODS.register(
    "resource-allocation",
    summary="shared neighbors, rare ones counting more: 1 / degree",
    paper="Zhou et al., Predicting Missing Links via Local Information, 2009",
    parts={},
)
class ResourceAllocation(NeighborOverlap):
    """Each common neighbor counts 1 / degree."""

    def weight(self, degree: Floats) -> Floats:
        """1 / degree."""
        return 1 / degree


class EmbeddingHeuristic(InnerProductMethod):
    """Scores a link by the cosine of its ends' embeddings."""

    trains: ClassVar[bool] = False

    def encode(self, graph: MessageGraph) -> Encoded:
        """Unit vectors."""
        return Encoded([normalize(self.embed(graph))], graph.undirected)


@METHODS.register("raw-features", summary="the node features as they are", parts={})
class RawFeatures(EmbeddingHeuristic):
    """No graph at all."""

    def embed(self, graph: MessageGraph) -> Tensor:
        """The features themselves."""
        if graph.x is None:
            raise UnsupportedError("method 'raw-features' needs node features")
        return graph.x.csr().to_dense() if isinstance(graph.x, SparseMatrix) else graph.x


@METHODS.register(
    "random-init",
    summary="the encoder with its first random weights",
    parts={"encoder": {"kind": "gcn"}},
)
class RandomInit(EmbeddingHeuristic):
    """What the architecture gives before anything is learned."""

    def __init__(self, config: RunConfig, graph: MessageGraph) -> None:
        super().__init__(config, graph)
        assert config.encoder
        self.encoder: Encoder = ENCODERS[config.encoder.kind].build(config.encoder, graph)

    @torch.no_grad()
    def embed(self, graph: MessageGraph) -> Tensor:
        """The untrained layers side by side."""
        self.eval()
        return torch.cat(self.encoder(graph, None), dim=1)
