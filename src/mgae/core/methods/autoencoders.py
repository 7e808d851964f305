"""Graph autoencoders that see the edges they predict: GAE and VGAE."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mgae.core.encoders import EncoderSettings
from mgae.core.errors import ConfigError
from mgae.core.graph import MessageGraph
from mgae.core.masks import MaskedEdges
from mgae.core.methods.base import Encoded
from mgae.core.methods.linkautoencoder import LinkAutoencoder
from mgae.core.seeding import Generators
from mgae.data.splits.links import random_orientation
from mgae.registry import METHODS
from mgae.runs.config import RunConfig

PARTS = {
    "encoder": {"kind": "gcn", "act_last": False},
    "decoder": {"kind": "inner-product"},
    "loss": {"kind": "bce"},
}
# Where it is cut off, as in PyG: e^10 is wide enough.
_LARGEST_LOG_STD = 10.0


@METHODS.register(
    "gae",
    summary="graph autoencoder: the observed edges, told from random pairs",
    paper="Kipf and Welling, Variational Graph Auto-Encoders, 2016",
    parts=PARTS,
)
class GraphAutoencoder(LinkAutoencoder):
    """Every observed edge is seen, and predicted.

    With encoder `sage` this is unsupervised GraphSAGE; with decoder `mlp` the baselines of OGB.
    """

    def __init__(self, config: RunConfig, graph: MessageGraph) -> None:
        super().__init__(config, graph)
        if config.train.fanouts is not None:
            raise ConfigError(f"method {self.name!r} encodes all edges: leave train.fanouts out")

    def divide(self, graph: MessageGraph, generator: torch.Generator) -> MaskedEdges:
        """All edges, in random order; an undirected one once, in random orientation."""
        edges = graph.pairs if graph.undirected else graph.edge_index
        edges = edges[:, torch.randperm(edges.size(1), generator=generator)]
        return MaskedEdges(
            graph, random_orientation(edges, generator) if graph.undirected else edges
        )


@METHODS.register(
    "vgae",
    summary="variational graph autoencoder: a normal distribution for each node",
    paper="Kipf and Welling, Variational Graph Auto-Encoders, 2016",
    parts=PARTS,
)
class VariationalGraphAutoencoder(GraphAutoencoder):
    """Decodes a draw from N(μ, σ²) in training, and μ afterwards.

    μ and log σ are linear maps of the last layer: without an activation between them, that is one
    more layer of message passing with two outputs, as in the original.
    """

    def __init__(self, config: RunConfig, graph: MessageGraph) -> None:
        super().__init__(config, graph)
        width = self.decoded.hidden_channels
        self.mean, self.log_std = nn.Linear(width, width), nn.Linear(width, width)

    @property
    def decoded(self) -> EncoderSettings:
        """One vector per node."""
        return super().decoded.model_copy(update={"num_layers": 1})

    def represent(
        self, edges: MaskedEdges, generators: Generators
    ) -> tuple[list[Tensor], Tensor | None]:
        """A draw for each node, and the divergence from N(0, 1) by the number of nodes."""
        layers, _ = super().represent(edges, generators)
        mean = self.mean(layers[-1])
        log_std = self.log_std(layers[-1]).clamp(max=_LARGEST_LOG_STD)
        noise = torch.randn(mean.shape, generator=generators["dropout"])
        return [mean + noise * log_std.exp()], divergence(mean, log_std) / self.num_nodes

    @torch.no_grad()
    def encode(self, graph: MessageGraph) -> Encoded:
        """μ on all the edges of ``graph``."""
        encoded = super().encode(graph)
        return Encoded([self.mean(encoded.layers[-1])], encoded.undirected)

    def parameter_groups(self) -> dict[str, list[nn.Module]]:
        """The two maps belong to the model."""
        return {"model": [self.encoder, self.mean, self.log_std, self.decoder]}


def divergence(mean: Tensor, log_std: Tensor) -> Tensor:
    """The mean over rows of KL(N(μ, σ²) ‖ N(0, 1)).

    >>> float(divergence(torch.tensor([[3.0], [0.0]]), torch.zeros(2, 1)))
    2.25
    """
    terms = mean.square() + (2 * log_std).exp() - 1 - 2 * log_std
    return 0.5 * terms.sum(dim=1).mean()
