"""Small models of plain parts, with the same first weights for the same seed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mgae.core import (
    BCE,
    GCN,
    CrossCorrelation,
    EmbeddingTable,
    Fit,
    LayeredEncoder,
    Loss,
    Mask,
    MaskedGraphAutoencoder,
    Method,
    Undirected,
    fit,
)
from mgae.core.graph import MessageGraph
from mgae.core.seeding import Generators, drawn_from

Options = dict[str, Any]


def encoder_of(
    graph: MessageGraph,
    kind: type[LayeredEncoder] = GCN,
    hidden_channels: int = 4,
    **options: Any,
) -> LayeredEncoder:
    """An encoder of the graph's features, or of an embedding table if it has none."""
    if graph.x is None:
        options.setdefault("inputs", EmbeddingTable(graph.num_nodes, hidden_channels))
    inputs = options.get("inputs")
    in_channels = graph.num_features if inputs is None else inputs.channels
    return kind(in_channels, hidden_channels, **options)


def masked(
    graph: MessageGraph,
    seed: int = 0,
    mask: Mask | None = None,
    encoder: Options | None = None,
    decoder: Options | None = None,
    loss: Loss | None = None,
    kind: type[MaskedGraphAutoencoder] = MaskedGraphAutoencoder,
    **options: Any,
) -> MaskedGraphAutoencoder:
    """A masked graph autoencoder of width 4 with a decoder of width 8."""
    with drawn_from(Generators(seed)["init"]):
        first = encoder_of(graph, **(encoder or {}))
        width = {"hidden_channels": 8, **(decoder or {})}
        second = CrossCorrelation(first.hidden_channels, first.num_layers, **width)
        return kind(mask or Undirected(0.7), first, second, loss or BCE(), **options)


def fit_to_the_last(method: Method, graph: MessageGraph, epochs: int, **options: Any) -> Fit:
    """Train with a validation that always takes the last epoch for the best."""
    count = iter(range(epochs))
    return fit(method, graph, epochs=epochs, validate=lambda: float(next(count)), **options)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def edge_set(edges: Tensor) -> set[tuple[int, int]]:
    return set(map(tuple, edges.t().tolist()))
