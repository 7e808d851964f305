"""Masked graph autoencoders: hide edges, encode the rest, predict the hidden ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import torch
from torch import Tensor, nn

from mgae.config import RunConfig
from mgae.decoders import Decoder
from mgae.encoders import Encoder, EncoderSettings
from mgae.graphs.message import MessageGraph
from mgae.losses import Loss
from mgae.masking import Mask
from mgae.methods.base import Encoded, Method
from mgae.methods.hiding import require_hidden
from mgae.methods.sampled import SampledMode
from mgae.registry import DECODERS, ENCODERS, LOSSES, MASKS, METHODS
from mgae.seeding import Generators
from mgae.splits.negatives import NegativeSampler


@METHODS.register(
    "mgae",
    summary="masked graph autoencoder with the cross-correlation decoder",
    paper="Tan et al., MGAE: Masked Autoencoders for Self-Supervised Learning on Graphs, 2022",
    parts={
        "mask": {"kind": "undirected"},
        "encoder": {"kind": "gcn"},
        "decoder": {"kind": "cross-correlation"},
        "loss": {"kind": "bce"},
    },
)
class MaskedGraphAutoencoder(Method):
    """Algorithm 1 of the paper, with every part a choice."""

    def __init__(self, config: RunConfig, graph: MessageGraph) -> None:
        super().__init__(config, graph)
        assert config.mask and config.encoder and config.decoder and config.loss
        self.mask: Mask = MASKS[config.mask.kind].build(config.mask)
        self.encoder: Encoder = ENCODERS[config.encoder.kind].build(config.encoder, graph)
        width = cast(EncoderSettings, config.encoder)
        self.decoder: Decoder = DECODERS[config.decoder.kind].build(config.decoder, width)
        self.loss: Loss = LOSSES[config.loss.kind].build(config.loss)
        self.sampled = self._sampled_mode() if config.train.fanouts else None

    def _sampled_mode(self) -> SampledMode:
        return SampledMode(self.mask, self.encoder, self.decoder, self.loss, self.config.train)

    def losses(self, graph: MessageGraph, generators: Generators) -> Iterator[tuple[Tensor, str]]:
        """A new mask, then one step for each ``train.step_size`` masked edges."""
        if self.sampled is not None:
            yield from ((loss, "model") for loss in self.sampled.losses(graph, generators))
            return
        train = self.config.train
        edges = self.mask(graph, generators["mask"])
        require_hidden(edges.masked.size(1), self.mask.ratio)
        negatives = NegativeSampler.of(graph)
        for positives in edges.masked.split(train.step_size or edges.masked.size(1), dim=1):
            layers = self.encoder(edges.visible, generators["dropout"])
            loss = self.loss(
                self.decoder, layers, positives, negatives, generators, train.chunk_size
            )
            yield loss, "model"

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
        scores = self._in_chunks(encoded, pairs)
        if encoded.undirected and not self.decoder.symmetric:
            scores = (scores + self._in_chunks(encoded, pairs.flip(0))) / 2
        return scores

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

    def _in_chunks(self, encoded: Encoded, pairs: Tensor) -> Tensor:
        rows = encoded.rows
        chunks = pairs.split(self.config.train.chunk_size, dim=1)
        return torch.cat([self.decoder.score(rows[u], rows[v], None) for u, v in chunks])
