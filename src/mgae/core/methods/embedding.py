"""Methods whose product is the embedding: without a link decoder, a link is an inner product."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import normalize

from mgae.core.encoders import Encoder
from mgae.core.errors import ConfigError
from mgae.core.graph import MessageGraph
from mgae.core.methods.base import Encoded, Method
from mgae.registry import ENCODERS
from mgae.runs.config import RunConfig
from mgae.settings import PartSettings

_PAIRS_AT_ONCE = 65536


class EmbeddingSettings(PartSettings):
    """How two embeddings become the score of a link."""

    cosine: bool = Field(
        True, description="score a link by the inner product of unit vectors, not of any length"
    )


class InnerProductMethod(Method):
    """Encodes a node as one vector; the inner product of two scores their link."""

    def score_links(self, encoded: Encoded, pairs: Tensor) -> Tensor:
        """An inner product per pair."""
        (z,) = encoded.layers
        chunks = pairs.split(_PAIRS_AT_ONCE, dim=1)
        return torch.cat([(z[heads] * z[tails]).sum(dim=1) for heads, tails in chunks])

    def score_tails(self, encoded: Encoded, heads: Tensor, tails: Tensor) -> Tensor:
        """One product of two matrices."""
        (z,) = encoded.layers
        return z[heads] @ z[tails].t()


class EmbeddingMethod(InnerProductMethod):
    """The encoder's last layer is the embedding, and the inner product scores a link."""

    settings: EmbeddingSettings

    def __init__(self, config: RunConfig, graph: MessageGraph) -> None:
        super().__init__(config, graph)
        assert config.encoder and isinstance(config.method, EmbeddingSettings)
        if config.train.fanouts is not None:
            raise ConfigError(
                f"method {self.name!r} encodes the whole graph: leave train.fanouts out"
            )
        self.settings = config.method
        self.encoder: Encoder = ENCODERS[config.encoder.kind].build(config.encoder, graph)

    @torch.no_grad()
    def embed(self, graph: MessageGraph) -> Tensor:
        """The last layer: [num_nodes, d]."""
        self.eval()
        last: Tensor = self.encoder(graph, None)[-1]
        return last

    def encode(self, graph: MessageGraph) -> Encoded:
        """The embeddings, as the inner product takes them."""
        z = self.embed(graph)
        return Encoded([normalize(z) if self.settings.cosine else z], graph.undirected)
