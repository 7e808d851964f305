"""Any PyG model as an encoder."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from mgae.core.encoders.base import Encoder, Inputs, NodeFeatures
from mgae.core.errors import UnsupportedError
from mgae.core.graph import MessageGraph
from mgae.core.ops.rows import Factor
from mgae.core.ops.sparse import SparseMatrix
from mgae.core.seeding import drawn_from


class PyGEncoder(Encoder):
    """Wraps a module that maps ``(x, edge_index)`` to [num_nodes, d], and collects its layers.

    A layer is the output of a message-passing module in ``module``; the last one is what
    ``module`` itself returns. All must be ``hidden_channels`` wide. Edge weights are not passed
    on. PyG draws its dropout from torch's global generator, which is set from ours meanwhile.

    Args:
        module: a PyG model such as ``torch_geometric.nn.GAT(1433, 64, num_layers=2)``.
        in_channels: F, the width of the inputs.
        hidden_channels: d, the width of every layer.
        inputs: where x comes from; the graph's features unless given.
    """

    def __init__(
        self,
        module: nn.Module,
        in_channels: int,
        hidden_channels: int,
        inputs: Inputs | None = None,
    ) -> None:
        super().__init__()
        self.inputs = NodeFeatures(in_channels) if inputs is None else inputs
        self.module, self.hidden_channels = module, hidden_channels
        self._outputs: list[Tensor] = []
        layers = [layer for layer in module.modules() if hasattr(layer, "propagate")]
        for layer in layers:
            layer.register_forward_hook(self._collect)
        self.num_layers = max(1, len(layers))

    def _collect(self, layer: nn.Module, args: Any, output: Any) -> None:
        self._outputs.append(output[0] if isinstance(output, tuple) else output)

    def propagate(
        self, x: Factor, graph: MessageGraph, generator: torch.Generator | None
    ) -> list[Tensor]:
        """Return every layer's output: K tensors [num_nodes, d].

        Raises:
            UnsupportedError: if ``x`` is no plain matrix, or a layer has another width, or the
                model has not as many layers as message-passing modules.
        """
        if isinstance(x, SparseMatrix):
            x = x.to_dense()
        if not isinstance(x, Tensor):
            raise UnsupportedError("a PyG model takes features as a matrix: choose another encoder")
        self._outputs.clear()
        self.module.train(generator is not None)
        with nullcontext() if generator is None else drawn_from(generator, x.device):
            last = self.module(x, graph.edge_index)
        layers = [*self._outputs[:-1], last]
        self._outputs.clear()
        widths = [layer.size(1) for layer in layers]
        if widths != [self.hidden_channels] * self.num_layers:
            raise UnsupportedError(
                f"a PyG encoder must have {self.num_layers} layers, each {self.hidden_channels} "
                f"wide, got the widths {', '.join(map(str, widths))}"
            )
        return layers
