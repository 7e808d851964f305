"""Adversarially regularized autoencoders: embeddings that look like draws from N(0, 1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from mgae.core.decoders import MLP, Decoder
from mgae.core.encoders import Encoder
from mgae.core.graph import MessageGraph
from mgae.core.losses import Loss
from mgae.core.methods.autoencoders import GraphAutoencoder, VariationalGraphAutoencoder
from mgae.core.ops.backend import bring
from mgae.core.seeding import Generators


class Adversarial(GraphAutoencoder):
    """Adds a discriminator between embeddings and draws from N(0, 1), which the encoder deceives.

    The discriminator takes its steps first, and the model's step sees it as it then is.

    Args:
        encoder, decoder, loss: the parts of a graph autoencoder.
        discriminator_channels: width of the discriminator's two hidden layers.
        discriminator_learning_rate: its learning rate.
        discriminator_steps: its steps before each of the model's.
        steps: ``step_size`` and ``chunk_size`` of a graph autoencoder.
    """

    def __init__(
        self,
        encoder: Encoder,
        decoder: Decoder,
        loss: Loss,
        discriminator_channels: int = 64,
        discriminator_learning_rate: float = 0.001,
        discriminator_steps: int = 1,
        **steps: Any,
    ) -> None:
        super().__init__(encoder, decoder, loss, **steps)
        self.discriminator_learning_rate = discriminator_learning_rate
        self.discriminator_steps = discriminator_steps
        width = encoder.hidden_channels
        self.discriminator = MLP(width, discriminator_channels, num_layers=3, dropout=0.0)

    def before_step(
        self, graph: MessageGraph, generators: Generators
    ) -> Iterator[tuple[Tensor, str]]:
        """Yield the discriminator's steps."""
        for _ in range(self.discriminator_steps):
            yield self._discriminator_loss(graph, generators), "discriminator"

    def _discriminator_loss(self, graph: MessageGraph, generators: Generators) -> Tensor:
        with torch.no_grad():
            (*_, fake), _ = super().represent(graph, generators)
        real = bring(torch.randn(fake.shape, generator=generators["dropout"]), fake.device)
        logits = self.discriminator(torch.stack([real, fake]), None)
        return softplus(-logits[0]).mean() + softplus(logits[1]).mean()

    def represent(
        self, graph: MessageGraph, generators: Generators
    ) -> tuple[list[Tensor], Tensor | None]:
        """Return what the autoencoder gives, and the cost of not deceiving the discriminator."""
        layers, cost = super().represent(graph, generators)
        recognized = softplus(-self.discriminator(layers[-1], None)).mean()
        return layers, recognized if cost is None else cost + recognized

    def parameter_groups(self) -> dict[str, list[nn.Module]]:
        """Return the model, and its adversary."""
        return {**super().parameter_groups(), "discriminator": [self.discriminator]}

    def learning_rates(self) -> dict[str, float]:
        """Return the discriminator's own rate."""
        return {"discriminator": self.discriminator_learning_rate}


class AdversarialAutoencoder(Adversarial, GraphAutoencoder):
    """ARGE."""


class AdversarialVariationalAutoencoder(Adversarial, VariationalGraphAutoencoder):
    """ARGVA, also known as ARVGE."""
