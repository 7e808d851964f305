"""What all encoders share: settings, inputs, and K layers of which each output is kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, TypeGuard, cast

import torch
from pydantic import Field
from torch import Tensor, nn

from mgae.core.errors import ConfigError
from mgae.core.graph import MessageGraph
from mgae.core.ops.adjacency import Adjacency
from mgae.core.ops.dropout import dropout
from mgae.core.ops.rows import Factor
from mgae.core.ops.sparse import SparseMatrix
from mgae.settings import PartSettings

Features = Tensor | SparseMatrix
ACTIVATIONS = {
    "relu": nn.ReLU,
    "elu": nn.ELU,
    "prelu": nn.PReLU,
    "tanh": nn.Tanh,
    "none": nn.Identity,
}


class EncoderSettings(PartSettings):
    """Depth, width and regularization; PyG's names where it has one."""

    section: ClassVar[str] = "encoder"

    num_layers: int = Field(2, ge=1, description="K, the layers that the decoder crosses")
    hidden_channels: int = Field(128, ge=1, description="d, the width of every layer")
    dropout: float = Field(0.5, ge=0, lt=1, description="dropout between layers")
    feature_dropout: float = Field(0.0, ge=0, lt=1, description="dropout on the node features")
    # None, not false: a setting that is left out keeps the checksum of cells measured before it.
    drop_outputs: bool | None = Field(
        None,
        description="the decoder too reads a layer after its dropout; absent: the next layer alone",
    )
    act: Literal["relu", "elu", "prelu", "tanh", "none"] = Field(
        "relu", description="activation after a layer"
    )
    act_last: bool = Field(True, description="activation after the last layer too")
    norm: Literal["none", "batch", "layer"] = Field("none", description="norm after a layer")
    inputs: Literal["auto", "features", "table", "one-hot"] = Field(
        "auto", description="where x comes from; auto: features, or a learned table without them"
    )
    row_normalize: bool = Field(
        False, description="divide each node's features by the sum of their magnitudes"
    )


class Encoder(nn.Module, ABC):
    """K layers of message passing; a subclass says what one layer does.

    A layer maps its input and passes messages: both are linear, and the narrower matrix is the
    cheaper one to send along the edges.
    """

    def __init__(self, settings: EncoderSettings, graph: MessageGraph) -> None:
        super().__init__()
        self.settings = settings
        width = settings.hidden_channels
        self.inputs = Inputs(settings, graph)
        widths = [self.inputs.width] + [width] * (settings.num_layers - 1)
        self.layers = nn.ModuleList(self.make_layer(in_width, width) for in_width in widths)
        self.norms = nn.ModuleList(_norm(settings.norm, width) for _ in widths)
        self.acts = nn.ModuleList(ACTIVATIONS[settings.act]() for _ in widths)
        if not settings.act_last:
            self.acts[-1] = nn.Identity()

    @abstractmethod
    def make_layer(self, in_width: int, out_width: int) -> nn.Module:
        """One layer: a module called with (h, adjacency)."""

    def forward(self, graph: MessageGraph, generator: torch.Generator | None) -> list[Tensor]:
        """Every layer's output, K tensors [num_nodes, d].

        ``graph`` is what may be seen; ``generator`` draws the dropout, None in evaluation.
        """
        return self.propagate(self.inputs(graph, generator), graph, generator)

    def propagate(
        self, x: Factor, graph: MessageGraph, generator: torch.Generator | None
    ) -> list[Tensor]:
        """The same from other features ``x`` [num_nodes, F], which need but be multiplied."""
        return self.passed(x, [graph.adjacency] * len(self.layers), generator)

    def passed(
        self, h: Factor, adjacencies: Sequence[Adjacency], generator: torch.Generator | None
    ) -> list[Tensor]:
        """Every layer's output from the inputs ``h``, each layer along edges of its own."""
        outputs: list[Tensor] = []
        parts = zip(self.layers, self.norms, self.acts, adjacencies, strict=True)
        for layer, norm, act, adjacency in parts:
            if outputs:
                h = dropout(outputs[-1], self.settings.dropout, generator)
                if self.settings.drop_outputs:
                    outputs[-1] = h
            outputs.append(act(norm(layer(h, adjacency)[: adjacency.num_receivers])))
        return outputs

    def reset_parameters(self) -> None:
        """Draw every parameter anew."""
        for module in self.modules():
            if module is not self and hasattr(module, "reset_parameters"):
                cast(Any, module).reset_parameters()


class Inputs(nn.Module):
    """x: the node features, or without them a learned table or the identity."""

    table: nn.Parameter | None

    def __init__(self, settings: EncoderSettings, graph: MessageGraph) -> None:
        super().__init__()
        self.kind = settings.inputs
        if self.kind == "auto":
            self.kind = "table" if graph.x is None else "features"
        if self.kind == "features" and graph.x is None:
            raise ConfigError("encoder.inputs is 'features', and the graph has none: use 'table'")
        self.feature_dropout = settings.feature_dropout
        self.row_normalize = settings.row_normalize
        nodes, width = graph.num_nodes, settings.hidden_channels
        self.width = {"features": graph.num_features, "table": width, "one-hot": nodes}[self.kind]
        self.identity = SparseMatrix.identity(nodes) if self.kind == "one-hot" else None
        table = nn.Parameter(torch.empty(nodes, width)) if self.kind == "table" else None
        self.register_parameter("table", table)
        self.reset_parameters()

    def forward(self, graph: MessageGraph, generator: torch.Generator | None) -> Features:
        """x, with some of it dropped in training."""
        return self.dropped(self.whole(graph), generator)

    def whole(self, graph: MessageGraph) -> Features:
        """x of every node."""
        features = graph.row_normalized_x if self.row_normalize else graph.x
        x = self.table if self.table is not None else self.identity or features
        assert x is not None
        return x

    def dropped(self, x: Features, generator: torch.Generator | None) -> Features:
        """Some of x dropped, of a sparse one among its values."""
        if generator is None or self.feature_dropout == 0.0:
            return x
        if isinstance(x, SparseMatrix):
            return x.with_values(dropout(x.values, self.feature_dropout, generator))
        return dropout(x, self.feature_dropout, generator)

    def reset_parameters(self) -> None:
        """Draw the table anew, as the authors' code does for ogbl-ddi."""
        if self.table is not None:
            nn.init.xavier_uniform_(self.table)


def sends_first(h: Features, width: int) -> TypeGuard[Tensor]:
    """Whether to pass messages before the map to ``width``: of few, constant, dense features.

    Constant ones have no gradient, so that the backward pass sends nothing at all.
    """
    return isinstance(h, Tensor) and not h.requires_grad and h.size(1) < width


def _norm(kind: str, width: int) -> nn.Module:
    kinds: dict[str, type[nn.Module]] = {
        "none": nn.Identity,
        "batch": nn.BatchNorm1d,
        "layer": nn.LayerNorm,
    }
    return kinds[kind](width)
