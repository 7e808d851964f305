"""Nodes that were not there in training: the graph with them added."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from mgae.encoders import Inputs
from mgae.errors import GraphError, UnsupportedError
from mgae.graphs.checks import checked
from mgae.graphs.features import KnownFeatures
from mgae.methods.base import Method
from mgae.serving.nodes import NodeIndex, ends_of


def require_inductive(method: Method) -> None:
    """Refuse a method that has learned something for each node by its number.

    Raises:
        UnsupportedError: saying what to train instead.
    """
    for module in method.modules():
        by_number = isinstance(module, Inputs) and module.kind != "features"
        table = isinstance(module, nn.Embedding) and module.num_embeddings == method.num_nodes
        if by_number or table:
            raise UnsupportedError(
                "this model has learned a table with a row for each node of its graph, so it "
                "cannot embed others: train on a graph with features (encoder.inputs = 'features')"
            )


def require_same_features(graph: Data, other: Data) -> None:
    """Refuse another graph whose features are not those of the first.

    Raises:
        GraphError: where their numbers differ.
    """
    widths = [0 if data.x is None else data.x.size(1) for data in (graph, other)]
    if widths[0] != widths[1]:
        raise GraphError(f"the model knows {widths[0]} features, got {widths[1]}")


def known_features(graph: Data) -> KnownFeatures | None:
    """The named columns that a table of features must have; None where they have no names."""
    if graph.x is None or graph.get("feature_names") is None:
        return None
    return KnownFeatures(tuple(graph.feature_names), graph.x.mean(dim=0).numpy())


@dataclass(frozen=True)
class NewNode:
    """The id of a new node that came without one: its row."""

    row: int


def extended(
    graph: Data, nodes: NodeIndex, features: Any, edges: Iterable[tuple[Any, Any]]
) -> tuple[Data, dict[Any, int]]:
    """The graph with new nodes behind its own, and the new nodes' numbers by their ids.

    Args:
        graph: the graph as it was.
        nodes: its ids.
        features: a vector for each new id, or a matrix [m, F]: then the new nodes are named by
            their row, 0 to m - 1, as the first of a pair and in no other place.
        edges: pairs (new id, new or known id); each counts in both directions in an undirected
            graph, and has weight 1 in a weighted one.
    """
    matrix, ids, keyed = _new_rows(features, graph)
    if keyed and (known := next((node for node in ids if nodes.knows(node)), None)) is not None:
        raise GraphError(f"the new node {known!r} is in the graph already: ask for it by its id")
    own = {node: len(nodes) + row for row, node in enumerate(ids)}
    ends = (ends_of(edge, "an edge") for edge in edges)
    pairs = [(_new(own, head), _end(own if keyed else {}, nodes, tail)) for head, tail in ends]
    added = torch.tensor(pairs, dtype=torch.long).view(-1, 2).t()
    names = ids if keyed else list(map(NewNode, ids))
    return _joined(graph, torch.from_numpy(matrix), added, [*nodes.ids, *names]), own


def _new_rows(features: Any, graph: Data) -> tuple[np.ndarray, list[Any], bool]:
    """Features [m, F], the new ids, and whether these are the user's own."""
    keyed = isinstance(features, Mapping)
    ids = list(features) if keyed else []
    try:
        matrix = np.asarray(list(features.values()) if keyed else features, np.float32)
    except (TypeError, ValueError):
        raise GraphError("features must be numbers, as many for each new node") from None
    width = 0 if graph.x is None else graph.x.size(1)
    if matrix.ndim != 2 or matrix.shape[1] != width:
        raise GraphError(f"features must have the shape [m, {width}], got {list(matrix.shape)}")
    if not np.isfinite(matrix).all():
        raise GraphError("features must be finite")
    return matrix, ids or list(range(len(matrix))), keyed


def _new(own: dict[Any, int], head: Any) -> int:
    if not isinstance(head, Hashable) or head not in own:
        raise GraphError(f"an edge must begin at a new node, got {head!r}")
    return own[head]


def _end(own: dict[Any, int], nodes: NodeIndex, tail: Any) -> int:
    new = isinstance(tail, Hashable) and tail in own
    return own[tail] if new else nodes.position(tail)


def _joined(graph: Data, x: Tensor, added: Tensor, ids: list[Any]) -> Data:
    if graph.undirected:
        added = torch.cat([added, added.flip(0)], dim=1)
    weight = graph.edge_weight
    return checked(
        Data(
            x=None if graph.x is None else torch.cat([graph.x, x]),
            edge_index=torch.cat([graph.edge_index, added], dim=1),
            edge_weight=None if weight is None else torch.cat([weight, torch.ones(added.size(1))]),
            num_nodes=len(ids),
            node_ids=ids,
        )
    )
