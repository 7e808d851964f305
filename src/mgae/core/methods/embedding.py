"""Methods whose product is the embedding: without a link decoder, a link is an inner product."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

from mgae.core.encoders import Encoder
from mgae.core.graph import MessageGraph
from mgae.core.methods.base import Encoded, Method

_PAIRS_AT_ONCE = 65536


class InnerProductMethod(Method):
    """Encodes a node as one vector; the inner product of two scores their link."""

    def score_links(self, encoded: Encoded, pairs: Tensor) -> Tensor:
        """Return an inner product per pair."""
        (z,) = encoded.layers
        chunks = pairs.split(_PAIRS_AT_ONCE, dim=1)
        return torch.cat([(z[heads] * z[tails]).sum(dim=1) for heads, tails in chunks])

    def score_tails(self, encoded: Encoded, heads: Tensor, tails: Tensor) -> Tensor:
        """Multiply two matrices."""
        (z,) = encoded.layers
        return z[heads] @ z[tails].t()


class EmbeddingMethod(InnerProductMethod):
    """The encoder's last layer is the embedding, and the inner product scores a link.

    Args:
        encoder: gives the layers.
        cosine: whether a link is scored by unit vectors.
    """

    def __init__(self, encoder: Encoder, cosine: bool = True) -> None:
        super().__init__()
        self.encoder, self.cosine = encoder, cosine

    @torch.no_grad()
    def embed(self, graph: MessageGraph) -> Tensor:
        """Return the last layer: [num_nodes, d]."""
        self.eval()
        last: Tensor = self.encoder(graph, None)[-1]
        return last

    def encode(self, graph: MessageGraph) -> Encoded:
        """Return the embeddings, as the inner product takes them."""
        z = self.embed(graph)
        return Encoded([normalize(z) if self.cosine else z], graph.undirected)
