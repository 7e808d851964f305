"""Graph autoencoders that see the edges they predict: GAE and VGAE."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from mgae.core.decoders import Decoder
from mgae.core.encoders import Encoder
from mgae.core.graph import MessageGraph, random_orientation
from mgae.core.losses import Loss
from mgae.core.methods.base import Encoded
from mgae.core.methods.linkmodel import LinkModel
from mgae.core.negatives import NegativeSampler
from mgae.core.ops.backend import bring
from mgae.core.seeding import Generators

# Where it is cut off, as in PyG: e^10 is wide enough.
_LARGEST_LOG_STD = 10.0


class GraphAutoencoder(LinkModel):
    """Encodes every observed edge, and predicts it.

    With a `SAGE` encoder this is unsupervised GraphSAGE; with a `PairMLP` decoder the baselines
    of OGB.
    """

    def losses(self, graph: MessageGraph, generators: Generators) -> Iterator[tuple[Tensor, str]]:
        """Yield one loss for each ``step_size`` of the edges."""
        edges, sampler = all_edges(graph, generators["mask"]), NegativeSampler.of(graph)
        for step in edges.split(self.step_size or edges.size(1), dim=1):
            positives, weight = generators.share.of(step)
            yield from self.before_step(graph, generators)
            negatives = self.loss.draw(positives, sampler, generators.own("negatives"))
            layers, cost = self.represent(graph, generators)
            chance = generators.own("dropout")
            loss = weight * self.loss(
                self.decoder, layers, positives, negatives, chance, self.chunk_size
            )
            yield loss if cost is None else loss + cost, "model"

    def before_step(
        self, graph: MessageGraph, generators: Generators
    ) -> Iterator[tuple[Tensor, str]]:
        """Yield the steps of other groups, which come before each of the model's."""
        return iter(())

    def represent(
        self, graph: MessageGraph, generators: Generators
    ) -> tuple[list[Tensor], Tensor | None]:
        """Return what the decoder reads in training, and what that costs by itself, if anything."""
        return self.encoder(graph, generators["dropout"]), None


def all_edges(graph: MessageGraph, generator: torch.Generator) -> Tensor:
    """Return all edges in random order; an undirected one once, in random orientation."""
    edges = graph.pairs if graph.undirected else graph.edge_index
    order = torch.randperm(edges.size(1), generator=generator)
    edges = edges[:, bring(order, edges.device)]
    return random_orientation(edges, generator) if graph.undirected else edges


class VariationalGraphAutoencoder(GraphAutoencoder):
    """Decodes a draw from N(μ, σ²) in training, and μ afterwards.

    μ and log σ are linear maps of the last layer: without an activation between them, that is one
    more layer of message passing with two outputs, as in the original. The decoder reads one
    layer: build it with ``in_layers=1``.
    """

    decodes_one_layer = True

    def __init__(self, encoder: Encoder, decoder: Decoder, loss: Loss, **steps: Any) -> None:
        super().__init__(encoder, decoder, loss, **steps)
        width = encoder.hidden_channels
        self.mean, self.log_std = nn.Linear(width, width), nn.Linear(width, width)

    def represent(
        self, graph: MessageGraph, generators: Generators
    ) -> tuple[list[Tensor], Tensor | None]:
        """Return a draw for each node, and the divergence from N(0, 1) by the number of nodes."""
        layers, _ = super().represent(graph, generators)
        mean = self.mean(layers[-1])
        log_std = self.log_std(layers[-1]).clamp(max=_LARGEST_LOG_STD)
        noise = bring(torch.randn(mean.shape, generator=generators["dropout"]), mean.device)
        return [mean + noise * log_std.exp()], divergence(mean, log_std) / graph.num_nodes

    @torch.no_grad()
    def encode(self, graph: MessageGraph) -> Encoded:
        """Return μ on all the edges of ``graph``."""
        encoded = super().encode(graph)
        return Encoded([self.mean(encoded.layers[-1])], encoded.undirected)

    def parameter_groups(self) -> dict[str, list[nn.Module]]:
        """Return one group; the two maps belong to the model."""
        return {"model": [self.encoder, self.mean, self.log_std, self.decoder]}


def divergence(mean: Tensor, log_std: Tensor) -> Tensor:
    """Return the mean over rows of KL(N(μ, σ²) ‖ N(0, 1)).

    >>> float(divergence(torch.tensor([[3.0], [0.0]]), torch.zeros(2, 1)))
    2.25
    """
    terms = mean.square() + (2 * log_std).exp() - 1 - 2 * log_std
    return 0.5 * terms.sum(dim=1).mean()
