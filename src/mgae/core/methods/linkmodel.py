"""What all link models share: an encoder, a decoder and a loss; how a trained one scores links."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn

from mgae.core.decoders import Decoder
from mgae.core.encoders import Encoder
from mgae.core.graph import MessageGraph
from mgae.core.losses import Loss
from mgae.core.methods.base import Encoded, Method


class LinkModel(Method):
    """An encoder, a decoder and a loss; a subclass says what is visible and what is predicted.

    Args:
        encoder: gives the layers.
        decoder: scores pairs of nodes from them.
        loss: compares the scores of edges with those of other pairs.
        step_size: edges to be predicted per optimizer step; None: all of an epoch.
        chunk_size: pairs that the decoder holds at once.
    """

    decodes_one_layer: ClassVar[bool] = False  # whether the decoder reads a single vector

    def __init__(
        self,
        encoder: Encoder,
        decoder: Decoder,
        loss: Loss,
        step_size: int | None = None,
        chunk_size: int = 8192,
    ) -> None:
        super().__init__()
        self.encoder, self.decoder, self.loss = encoder, decoder, loss
        self.step_size, self.chunk_size = step_size, chunk_size

    def parameter_groups(self) -> dict[str, list[nn.Module]]:
        """Return one group; encoder and decoder are clipped apart, as in the authors' code."""
        return {"model": [self.encoder, self.decoder]}

    @torch.no_grad()
    def encode(self, graph: MessageGraph) -> Encoded:
        """Return every layer's output on all the edges of ``graph``."""
        self.eval()
        return Encoded(self.encoder(graph, None), graph.undirected)

    def embed(self, graph: MessageGraph) -> Tensor:
        """Return the K layers side by side: [num_nodes, K·d]."""
        return torch.cat(list(self.encode(graph).layers), dim=1)

    @torch.no_grad()
    def score_links(self, encoded: Encoded, pairs: Tensor) -> Tensor:
        """Return logits; on an undirected graph the mean of both orders."""
        self.eval()
        one_order = partial(self.decoder.score, generator=None)
        score = self.decoder.score_both if encoded.undirected else one_order
        chunks = pairs.split(self.chunk_size, dim=1)
        return torch.cat([score(encoded.take(u), encoded.take(v)) for u, v in chunks])

    @torch.no_grad()
    def score_tails(self, encoded: Encoded, heads: Tensor, tails: Tensor) -> Tensor:
        """Return the same logits, with each head folded into the decoder's weights once."""
        self.eval()
        shape, size = (heads.numel(), tails.numel()), self.chunk_size
        scores = torch.empty(shape, device=encoded.rows.device)
        # Head by head: the weights with one head in them stay in the cache.
        for row, head in zip(scores, encoded.rows[heads], strict=True):
            score = self.decoder.against(head, encoded.undirected)
            for part, chunk in zip(row.split(size), tails.split(size), strict=True):
                part.copy_(score(encoded.rows[chunk]))
        return scores
