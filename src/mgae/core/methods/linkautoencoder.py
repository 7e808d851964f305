"""What all autoencoders of links share: encode some edges, decode pairs, one loss a step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn

from mgae.core.decoders import Decoder
from mgae.core.encoders import Encoder, EncoderSettings
from mgae.core.graph import MessageGraph
from mgae.core.losses import Loss
from mgae.core.masks import MaskedEdges
from mgae.core.methods.base import Encoded, Method
from mgae.core.negatives import NegativeSampler
from mgae.core.seeding import Generators
from mgae.registry import DECODERS, ENCODERS, LOSSES
from mgae.runs.config import RunConfig


class LinkAutoencoder(Method):
    """An encoder, a decoder and a loss; a subclass says what is seen and what is predicted."""

    def __init__(self, config: RunConfig, graph: MessageGraph) -> None:
        super().__init__(config, graph)
        assert config.encoder and config.decoder and config.loss
        self.encoder: Encoder = ENCODERS[config.encoder.kind].build(config.encoder, graph)
        self.decoder: Decoder = DECODERS[config.decoder.kind].build(config.decoder, self.decoded)
        self.loss: Loss = LOSSES[config.loss.kind].build(config.loss)

    @property
    def decoded(self) -> EncoderSettings:
        """Depth and width of what the decoder reads."""
        return cast(EncoderSettings, self.config.encoder)

    @abstractmethod
    def divide(self, graph: MessageGraph, generator: torch.Generator) -> MaskedEdges:
        """What the encoder sees in an epoch, and what is to be predicted."""

    def represent(
        self, edges: MaskedEdges, generators: Generators
    ) -> tuple[list[Tensor], Tensor | None]:
        """What the decoder reads in a step of training, and what that costs by itself, if so."""
        return self.encoder(edges.visible, generators["dropout"]), None

    def before_step(
        self, graph: MessageGraph, generators: Generators
    ) -> Iterator[tuple[Tensor, str]]:
        """Steps of other groups, which come before each of the model's."""
        return iter(())

    def losses(self, graph: MessageGraph, generators: Generators) -> Iterator[tuple[Tensor, str]]:
        """One step for each ``train.step_size`` of the edges to be predicted."""
        train = self.config.train
        edges = self.divide(graph, generators["mask"])
        negatives = NegativeSampler.of(graph)
        for positives in edges.masked.split(train.step_size or edges.masked.size(1), dim=1):
            yield from self.before_step(graph, generators)
            layers, cost = self.represent(edges, generators)
            loss = self.loss(
                self.decoder, layers, positives, negatives, generators, train.chunk_size
            )
            yield loss if cost is None else loss + cost, "model"

    def parameter_groups(self) -> dict[str, list[nn.Module]]:
        """One group; encoder and decoder are clipped apart, as in the authors' code."""
        return {"model": [self.encoder, self.decoder]}

    @torch.no_grad()
    def encode(self, graph: MessageGraph) -> Encoded:
        """Every layer's output on all the edges of ``graph``."""
        self.eval()
        return Encoded(self.encoder(graph, None), graph.undirected)

    def embed(self, graph: MessageGraph) -> Tensor:
        """The K layers side by side: [num_nodes, K·d]."""
        return torch.cat(list(self.encode(graph).layers), dim=1)

    @torch.no_grad()
    def score_links(self, encoded: Encoded, pairs: Tensor) -> Tensor:
        """Logits; on an undirected graph the mean of both orders."""
        self.eval()
        one_order = partial(self.decoder.score, generator=None)
        score = self.decoder.score_both if encoded.undirected else one_order
        chunks = pairs.split(self.config.train.chunk_size, dim=1)
        return torch.cat([score(encoded.take(u), encoded.take(v)) for u, v in chunks])

    @torch.no_grad()
    def score_tails(self, encoded: Encoded, heads: Tensor, tails: Tensor) -> Tensor:
        """The same logits, each head folded into the decoder's weights once."""
        self.eval()
        size, scores = self.config.train.chunk_size, torch.empty(heads.numel(), tails.numel())
        # Head by head: the weights with one head in them stay in the cache.
        for row, head in zip(scores, encoded.rows[heads], strict=True):
            score = self.decoder.against(head, encoded.undirected)
            for place, chunk in zip(row.split(size), tails.split(size), strict=True):
                place.copy_(score(encoded.rows[chunk]))
        return scores
