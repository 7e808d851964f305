"""Nodes that were not there in training: the graph with them added."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from mgae.core.errors import GraphError, UnsupportedError
from mgae.core.methods.base import Method
from mgae.data.checks import checked
from mgae.serving.features import NewFeatures
from mgae.serving.nodes import NodeIndex, ends_of


def require_inductive(method: Method) -> None:
    """Refuse a method that has learned something for each node by its number.

    Raises:
        UnsupportedError: saying what to train instead.
    """
    if not method.inductive:
        raise UnsupportedError(
            "this model has learned a table with a row for each node of its graph, so it "
            "cannot embed others: train on a graph with features (encoder.inputs = 'features')"
        )


@dataclass(frozen=True)
class NewNode:
    """The id of a new node that came without one: its row."""

    row: int


def extended(
    graph: Data, nodes: NodeIndex, features: NewFeatures, edges: Iterable[tuple[Any, Any]]
) -> tuple[Data, dict[Any, int]]:
    """The graph with new nodes behind its own, and the new nodes' numbers by their ids.

    Args:
        graph: the graph as it was.
        nodes: its ids.
        features: what `NewFeatures` reads; the nodes of a matrix are named by their row, as the
            first of a pair and in no other place.
        edges: pairs (new id, new or known id); each counts in both directions in an undirected
            graph, and has weight 1 in a weighted one.
    """
    ids, keyed = features.ids, features.keyed
    if keyed and (known := next((node for node in ids if nodes.knows(node)), None)) is not None:
        raise GraphError(f"the new node {known!r} is in the graph already: ask for it by its id")
    own = {node: len(nodes) + row for row, node in enumerate(ids)}
    ends = (ends_of(edge, "an edge") for edge in edges)
    pairs = [(_new(own, head), _end(own if keyed else {}, nodes, tail)) for head, tail in ends]
    added = torch.tensor(pairs, dtype=torch.long).view(-1, 2).t()
    names = ids if keyed else list(map(NewNode, ids))
    return _joined(graph, torch.from_numpy(features.matrix), added, [*nodes.ids, *names]), own


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
