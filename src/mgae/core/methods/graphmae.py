"""Masked features: hide what some nodes are, and reconstruct it from their neighbors."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from mgae.core.encoders import LayeredEncoder, NodeFeatures
from mgae.core.errors import UnsupportedError
from mgae.core.graph import MessageGraph
from mgae.core.methods.embedding import EmbeddingMethod
from mgae.core.ops.backend import bring
from mgae.core.ops.rows import AlteredRows, take_rows
from mgae.core.ops.sparse import SparseMatrix
from mgae.core.seeding import Generators


class GraphMAE(EmbeddingMethod):
    """Hides, encodes, hides again, and decodes by one more layer of the encoder's kind.

    Args:
        encoder: gives the layers.
        cosine: whether a link is scored by unit vectors.
        mask_ratio: share of the nodes that are hidden.
        replace_ratio: share of the hidden nodes that get another node's features.
        gamma: power of the scaled cosine error.
    """

    encoder: LayeredEncoder

    def __init__(
        self,
        encoder: LayeredEncoder,
        cosine: bool = True,
        mask_ratio: float = 0.5,
        replace_ratio: float = 0.05,
        gamma: float = 3.0,
    ) -> None:
        super().__init__(encoder, cosine)
        self.mask_ratio, self.replace_ratio, self.gamma = mask_ratio, replace_ratio, gamma
        width, inputs = encoder.hidden_channels, encoder.inputs.channels
        self.token = nn.Parameter(torch.zeros(inputs))
        self.bridge = nn.Linear(width, width, bias=False)
        self.decoder = encoder.make_layer(width, inputs)

    def reset_parameters(self) -> None:
        """Draw every parameter anew; the token starts at zero."""
        super().reset_parameters()
        nn.init.zeros_(self.token)

    def losses(self, graph: MessageGraph, generators: Generators) -> Iterator[tuple[Tensor, str]]:
        """Yield one loss; other nodes are hidden in each epoch."""
        if not isinstance(self.encoder.inputs, NodeFeatures):
            raise UnsupportedError(
                f"method {self.name!r} needs node features: it learns by hiding them"
            )
        hidden, rows = self.hide(graph.num_nodes, generators["mask"])
        token = self.token if bool((rows == graph.num_nodes).any()) else None
        hidden, rows = (bring(part, self.token.device) for part in (hidden, rows))
        chance = generators["dropout"]
        x = AlteredRows(self.encoder.inputs(graph, chance), rows, token)
        h = self.encoder.propagate(x, graph, chance)[-1]
        code = self.bridge(h).index_fill(0, hidden, 0.0)
        rebuilt = self.decoder(code, graph.adjacency).index_select(0, hidden)
        yield scaled_cosine_error(rebuilt, self.wanted(graph, hidden), self.gamma), "model"

    def hide(self, num_nodes: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return the hidden nodes [m], and for each node [num_nodes] whose features it shows."""
        hidden = torch.randperm(num_nodes, generator=generator)
        hidden = hidden[: max(1, round(self.mask_ratio * num_nodes))]
        replaced = round(self.replace_ratio * hidden.numel())
        rows = torch.arange(num_nodes)
        rows[hidden[replaced:]] = num_nodes
        rows[hidden[:replaced]] = torch.randint(num_nodes, (replaced,), generator=generator)
        return hidden, rows

    def wanted(self, graph: MessageGraph, nodes: Tensor) -> Tensor:
        """Return the features of the nodes [m]: [m, F]."""
        x = take_rows(self.encoder.inputs.whole(graph), nodes)
        return x.to_dense() if isinstance(x, SparseMatrix) else x


def scaled_cosine_error(rebuilt: Tensor, wanted: Tensor, gamma: float) -> Tensor:
    """Return the mean of (1 − cosine)^γ over rows [m, F]: a higher γ discounts easy rows.

    >>> scaled_cosine_error(torch.eye(2), torch.tensor([[2.0, 0.0], [1.0, 0.0]]), 3.0)
    tensor(0.5000)
    """
    return (1 - cosine_similarity(rebuilt, wanted, dim=1)).clamp(min=0).pow(gamma).mean()
