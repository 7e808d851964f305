"""Adversarially regularized autoencoders: embeddings that look like draws from N(0, 1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import softplus

from mgae.core.decoders import MLP, MLPSettings
from mgae.core.graph import MessageGraph
from mgae.core.masks import MaskedEdges
from mgae.core.methods.autoencoders import PARTS, GraphAutoencoder, VariationalGraphAutoencoder
from mgae.core.seeding import Generators
from mgae.registry import METHODS
from mgae.runs.config import RunConfig
from mgae.settings import PartSettings


class AdversarySettings(PartSettings):
    """The discriminator, and how it learns."""

    discriminator_channels: int = Field(64, ge=1, description="width of its two hidden layers")
    discriminator_learning_rate: float = Field(
        0.001, gt=0, le=100, description="Adam's learning rate for the discriminator"
    )
    discriminator_steps: int = Field(1, ge=1, description="its steps before each of the model's")


class Adversarial(GraphAutoencoder):
    """Adds a discriminator between embeddings and draws from N(0, 1), which the encoder deceives.

    The discriminator takes its steps first, and the model's step sees it as it then is.
    """

    def __init__(self, config: RunConfig, graph: MessageGraph) -> None:
        super().__init__(config, graph)
        self.settings = cast(AdversarySettings, config.method)
        mlp = MLPSettings(
            kind="discriminator",
            num_layers=3,
            hidden_channels=self.settings.discriminator_channels,
            dropout=0.0,
        )
        self.discriminator = MLP(self.decoded.hidden_channels, mlp)

    def before_step(
        self, graph: MessageGraph, generators: Generators
    ) -> Iterator[tuple[Tensor, str]]:
        """The discriminator's steps."""
        for _ in range(self.settings.discriminator_steps):
            yield self._discriminator_loss(graph, generators), "discriminator"

    def _discriminator_loss(self, graph: MessageGraph, generators: Generators) -> Tensor:
        with torch.no_grad():
            (*_, fake), _ = super().represent(MaskedEdges(graph, graph.edge_index), generators)
        real = torch.randn(fake.shape, generator=generators["dropout"])
        told = self.discriminator(torch.stack([real, fake]), None)
        return softplus(-told[0]).mean() + softplus(told[1]).mean()

    def represent(
        self, edges: MaskedEdges, generators: Generators
    ) -> tuple[list[Tensor], Tensor | None]:
        """What the autoencoder gives; it costs as much more as the discriminator sees through."""
        layers, cost = super().represent(edges, generators)
        seen_through = softplus(-self.discriminator(layers[-1], None)).mean()
        return layers, seen_through if cost is None else cost + seen_through

    def parameter_groups(self) -> dict[str, list[nn.Module]]:
        """The model, and its adversary."""
        return {**super().parameter_groups(), "discriminator": [self.discriminator]}

    def learning_rates(self) -> dict[str, float]:
        """The discriminator has its own."""
        return {"discriminator": self.settings.discriminator_learning_rate}


@METHODS.register(
    "arge",
    settings=AdversarySettings,
    summary="graph autoencoder whose embeddings a discriminator takes for normal draws",
    paper="Pan et al., Adversarially Regularized Graph Autoencoder for Graph Embedding, 2018",
    parts=PARTS,
)
class AdversarialAutoencoder(Adversarial, GraphAutoencoder):
    """ARGE."""


@METHODS.register(
    "argva",
    settings=AdversarySettings,
    summary="variational graph autoencoder with the discriminator of arge",
    paper="Pan et al., Adversarially Regularized Graph Autoencoder for Graph Embedding, 2018",
    parts=PARTS,
)
class AdversarialVariationalAutoencoder(Adversarial, VariationalGraphAutoencoder):
    """ARGVA, also known as ARVGE."""
