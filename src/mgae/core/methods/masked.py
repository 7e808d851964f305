"""Masked graph autoencoders: hide edges, encode the rest, predict the hidden ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from mgae.core.decoders import MLP, MLPSettings
from mgae.core.errors import ConfigError
from mgae.core.graph import MessageGraph
from mgae.core.masks import Mask, MaskedEdges
from mgae.core.methods.hiding import require_hidden
from mgae.core.methods.linkautoencoder import LinkAutoencoder
from mgae.core.methods.sampled import SampledMode
from mgae.core.seeding import Generators
from mgae.registry import MASKS, METHODS
from mgae.runs.config import RunConfig
from mgae.settings import PartSettings


@METHODS.register(
    "selftask",
    summary="EdgeMask: hidden edges, told from random pairs by an MLP on |h_u - h_v|",
    paper="Jin et al., Self-supervised Learning on Graphs: Deep Insights and New Direction, 2020",
    parts={
        "mask": {"kind": "undirected"},
        "encoder": {"kind": "gcn"},
        "decoder": {"kind": "mlp", "combine": "absdiff"},
        "loss": {"kind": "bce"},
    },
    samples=True,
)
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
    samples=True,
)
class MaskedGraphAutoencoder(LinkAutoencoder):
    """Algorithm 1 of the paper, with every part a choice."""

    def __init__(self, config: RunConfig, graph: MessageGraph) -> None:
        super().__init__(config, graph)
        assert config.mask
        self.mask: Mask = MASKS[config.mask.kind].build(config.mask)
        self.sampled = self._sampled_mode() if config.train.fanouts else None

    def _sampled_mode(self) -> SampledMode:
        return SampledMode(self.mask, self.encoder, self.decoder, self.loss, self.config.train)

    def divide(self, graph: MessageGraph, generator: torch.Generator) -> MaskedEdges:
        """A new mask."""
        edges = self.mask(graph, generator)
        require_hidden(edges.masked.size(1), self.mask.ratio)
        return edges

    def losses(self, graph: MessageGraph, generators: Generators) -> Iterator[tuple[Tensor, str]]:
        """A new mask, then one step for each ``train.step_size`` masked edges."""
        if self.sampled is None:
            yield from super().losses(graph, generators)
            return
        yield from ((loss, "model") for loss in self.sampled.losses(graph, generators))


class MaskGAESettings(PartSettings):
    """What the nodes' degrees are worth."""

    alpha: float = Field(0.003, ge=0, description="weight of the degree loss")
    degree_channels: int = Field(64, ge=1, description="width of the MLP that reads a degree")
    degree_dropout: float = Field(0.2, ge=0, lt=1, description="dropout in that MLP")


@METHODS.register(
    "maskgae",
    settings=MaskGAESettings,
    summary="masked paths, a hadamard MLP, and each node's count of hidden edges",
    paper="Li et al., What's Behind the Mask: Understanding Masked Graph Modeling, 2023",
    parts={
        "mask": {"kind": "path"},
        "encoder": {"kind": "gcn"},
        "decoder": {"kind": "mlp", "combine": "hadamard"},
        "loss": {"kind": "bce"},
    },
)
class MaskGAE(MaskedGraphAutoencoder):
    """A masked autoencoder that also regresses how many edges of a node are hidden."""

    def __init__(self, config: RunConfig, graph: MessageGraph) -> None:
        super().__init__(config, graph)
        self.settings = cast(MaskGAESettings, config.method)
        mlp = MLPSettings(
            kind="degree",
            hidden_channels=self.settings.degree_channels,
            dropout=self.settings.degree_dropout,
        )
        self.degree = MLP(self.decoded.hidden_channels, mlp)

    def _sampled_mode(self) -> SampledMode:
        raise ConfigError(
            f"method {self.name!r} needs every node's degree: leave train.fanouts out"
        )

    def represent(
        self, edges: MaskedEdges, generators: Generators
    ) -> tuple[list[Tensor], Tensor | None]:
        """The layers, and α times the mean squared error of the degrees."""
        layers, _ = super().represent(edges, generators)
        hidden = torch.bincount(edges.masked.flatten(), minlength=self.num_nodes)
        found = self.degree(layers[-1], generators["dropout"])
        return layers, self.settings.alpha * mse_loss(found, hidden.to(found.dtype))

    def parameter_groups(self) -> dict[str, list[nn.Module]]:
        """The degree's MLP is clipped apart too."""
        return {"model": [self.encoder, self.decoder, self.degree]}
