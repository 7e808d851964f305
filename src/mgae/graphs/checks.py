"""What every graph fulfils once it is in: the promise that all later stages rely on."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, is_undirected, remove_self_loops

from mgae.errors import GraphError


def checked(data: Data) -> Data:
    """A copy of ``data`` that keeps the graph contract; the input stays as it is.

    Ids in range, no duplicate edge (weights of duplicates are added), no self-loop, finite
    features, edges sorted by target and then source, at least two nodes and one edge.
    ``data.undirected`` says whether every edge stands there in both directions; ``node_ids`` holds
    the user's own ids.

    Raises:
        GraphError: where the graph cannot be brought into that form.

    >>> graph = checked(Data(edge_index=torch.tensor([[0, 1, 1], [1, 0, 1]]), num_nodes=2))
    >>> graph.edge_index.tolist(), graph.undirected
    ([[1, 0], [0, 1]], True)
    """
    num_nodes = _num_nodes(data)
    edge_index, weight = _edges(data, num_nodes)
    graph = data.clone()
    graph.num_nodes = num_nodes
    graph.edge_index, graph.edge_weight = edge_index, weight
    graph.edge_attr = None
    graph.undirected = bool(is_undirected(edge_index, weight, num_nodes))
    if graph.x is not None:
        graph.x = _features(graph.x, num_nodes)
    if graph.get("node_ids") is None:
        graph.node_ids = list(range(num_nodes))
    if len(graph.node_ids) != num_nodes:
        raise GraphError(f"node_ids must name {num_nodes:,} nodes, got {len(graph.node_ids):,}")
    if graph.y is not None and graph.y.size(0) != num_nodes:
        raise GraphError(f"y must have {num_nodes:,} rows, got {graph.y.size(0):,}")
    return graph


def _num_nodes(data: Data) -> int:
    num_nodes = data.num_nodes or 0
    if num_nodes < 2:
        raise GraphError(f"a graph needs at least two nodes, got {num_nodes}")
    return int(num_nodes)


def _edges(data: Data, num_nodes: int) -> tuple[Tensor, Tensor | None]:
    edge_index = data.edge_index
    if edge_index is None or edge_index.dim() != 2 or edge_index.size(0) != 2:
        shape = None if edge_index is None else tuple(edge_index.shape)
        raise GraphError(f"edge_index must have the shape [2, edges], got {shape}")
    edge_index = edge_index.long()
    if edge_index.numel() and not 0 <= int(edge_index.min()) <= int(edge_index.max()) < num_nodes:
        outside = edge_index[(edge_index < 0) | (edge_index >= num_nodes)]
        raise GraphError(f"edge_index must be in [0, {num_nodes}), got {int(outside[0])}")
    edge_index, weight = remove_self_loops(edge_index, _weight(data))
    if edge_index.size(1) == 0:
        raise GraphError("the graph has no edges (self-loops do not count)")
    if weight is None:
        return coalesce(edge_index, num_nodes=num_nodes, sort_by_row=False), None
    merged = coalesce(edge_index, weight, num_nodes, reduce="sum", sort_by_row=False)
    return merged[0], merged[1]


def _weight(data: Data) -> Tensor | None:
    if data.get("edge_weight") is None:
        return None
    weight: Tensor = data.edge_weight.float()
    if weight.shape != (data.edge_index.size(1),):
        raise GraphError(f"edge_weight must have the shape [edges], got {tuple(weight.shape)}")
    if not bool(torch.isfinite(weight).all()) or bool((weight < 0).any()):
        raise GraphError("edge_weight must be finite and not negative")
    return weight


def _features(x: Tensor, num_nodes: int) -> Tensor:
    if x.dim() != 2 or x.size(0) != num_nodes:
        raise GraphError(f"x must have the shape [{num_nodes}, features], got {tuple(x.shape)}")
    x = x.float()
    if not bool(torch.isfinite(x).all()):
        row, column = (~torch.isfinite(x)).nonzero()[0].tolist()
        raise GraphError(f"x must be finite, got {float(x[row, column])} at [{row}, {column}]")
    return x
