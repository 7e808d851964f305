"""Masked features: hide what some nodes are, and reconstruct it from their neighbors."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from mgae.core.errors import UnsupportedError
from mgae.core.graph import MessageGraph
from mgae.core.methods.embedding import EmbeddingMethod, EmbeddingSettings
from mgae.core.ops.rows import AlteredRows, take_rows
from mgae.core.ops.sparse import SparseMatrix
from mgae.core.seeding import Generators
from mgae.registry import METHODS
from mgae.runs.config import RunConfig


class GraphMAESettings(EmbeddingSettings):
    """How much is hidden, and how an error counts."""

    mask_ratio: float = Field(0.5, gt=0, le=1, description="share of the nodes that are hidden")
    replace_ratio: float = Field(
        0.05, ge=0, lt=1, description="share of the hidden nodes that get another node's features"
    )
    gamma: float = Field(3.0, ge=1, description="power of the scaled cosine error")


@METHODS.register(
    "graphmae",
    settings=GraphMAESettings,
    summary="masked node features, reconstructed up to a scaled cosine error",
    paper="Hou et al., GraphMAE: Self-Supervised Masked Graph Autoencoders, 2022",
    parts={
        "encoder": {
            "kind": "gcn",
            "num_layers": 2,
            "hidden_channels": 512,
            "act": "prelu",
            "dropout": 0.2,
            "feature_dropout": 0.2,
        }
    },
    train={"learning_rate": 0.001, "epochs": 1000, "clip": 0.0, "weight_decay": 2e-4},
)
class FeatureAutoencoder(EmbeddingMethod):
    """Hide, encode, hide again, and decode by one more layer of the encoder's kind."""

    settings: GraphMAESettings

    def __init__(self, config: RunConfig, graph: MessageGraph) -> None:
        super().__init__(config, graph)
        width, inputs = self.encoder.settings.hidden_channels, self.encoder.inputs.width
        self.token = nn.Parameter(torch.zeros(inputs))
        self.bridge = nn.Linear(width, width, bias=False)
        self.decoder = self.encoder.make_layer(width, inputs)

    def reset_parameters(self) -> None:
        """The token too."""
        super().reset_parameters()
        nn.init.zeros_(self.token)

    def losses(self, graph: MessageGraph, generators: Generators) -> Iterator[tuple[Tensor, str]]:
        """One step: other nodes are hidden in each epoch."""
        if self.encoder.inputs.kind != "features":
            raise UnsupportedError(
                f"method {self.name!r} needs node features: it learns by hiding them"
            )
        hidden, rows = self.hide(graph.num_nodes, generators["mask"])
        token = self.token if bool((rows == graph.num_nodes).any()) else None
        chance = generators["dropout"]
        x = AlteredRows(self.encoder.inputs(graph, chance), rows, token)
        h = self.encoder.propagate(x, graph, chance)[-1]
        code = self.bridge(h).index_fill(0, hidden, 0.0)
        found = self.decoder(code, graph.adjacency).index_select(0, hidden)
        yield scaled_cosine_error(found, self.wanted(graph, hidden), self.settings.gamma), "model"

    def hide(self, num_nodes: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """The hidden nodes [m], and for each node [num_nodes] whose features it shows."""
        hidden = torch.randperm(num_nodes, generator=generator)
        hidden = hidden[: max(1, round(self.settings.mask_ratio * num_nodes))]
        replaced = round(self.settings.replace_ratio * hidden.numel())
        rows = torch.arange(num_nodes)
        rows[hidden[replaced:]] = num_nodes
        rows[hidden[:replaced]] = torch.randint(num_nodes, (replaced,), generator=generator)
        return hidden, rows

    def wanted(self, graph: MessageGraph, nodes: Tensor) -> Tensor:
        """What the nodes [m] are: [m, F]."""
        x = take_rows(self.encoder.inputs.whole(graph), nodes)
        return x.csr().to_dense() if isinstance(x, SparseMatrix) else x


def scaled_cosine_error(found: Tensor, wanted: Tensor, gamma: float) -> Tensor:
    """Mean of (1 − cosine)^γ over rows [m, F]: the higher γ, the less easy rows count.

    >>> scaled_cosine_error(torch.eye(2), torch.tensor([[2.0, 0.0], [1.0, 0.0]]), 3.0)
    tensor(0.5000)
    """
    return (1 - cosine_similarity(found, wanted, dim=1)).clamp(min=0).pow(gamma).mean()
