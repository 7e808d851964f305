"""PyG's ``HeteroData``: nodes and edges of several types, in and out."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data, HeteroData

from mgae.core.errors import GraphError
from mgae.data.ids import counted


def from_hetero(hetero: HeteroData) -> Data:
    """Return all nodes in one list and all edges in both directions, with their types.

    Nodes are named ``type:number``, or ``type:id`` by their own ``node_ids``. Types of nodes have
    the features of their own; a node has zeros for those of others. If there are two types of
    nodes and every edge joins one to the other, they are the graph's sides.

    Raises:
        GraphError: if an edge's ends are out of range.
    """
    names, kinds = list(hetero.node_types), list(hetero.edge_types)
    sizes = [int(hetero[name].num_nodes or 0) for name in names]
    starts = dict(zip(names, torch.tensor([0, *sizes]).cumsum(0).tolist(), strict=False))
    triples = torch.cat([_triples(hetero, kind, n, starts) for n, kind in enumerate(kinds)], dim=1)
    data = Data(
        edge_index=torch.cat([triples[:2], triples[:2].flip(0)], dim=1),
        num_nodes=sum(sizes),
        node_ids=[text for name in names for text in _ids(hetero, name)],
        triples=triples,
        type_names=_type_names(kinds),
        node_type=torch.arange(len(names)).repeat_interleave(torch.tensor(sizes)),
        node_type_names=names,
        notes=_notes(hetero),
    )
    blocks = [_features(hetero, name, size) for name, size in zip(names, sizes, strict=True)]
    if sum(block.size(1) for block in blocks):
        data.x, data.feature_widths = _diagonal(blocks), [block.size(1) for block in blocks]
    if len(names) == 2 and all(kind[0] != kind[2] for kind in kinds):
        first = kinds[0][0]
        data.side = (data.node_type != names.index(first)).to(torch.int8)
        data.side_names = [first, next(name for name in names if name != first)]
    return data


def to_hetero(graph: Data) -> HeteroData:
    """Return a graph with types as ``HeteroData``; nodes without a type are of type ``node``.

    An edge of a type may join several types of nodes: it then has an entry for each.
    """
    hetero = HeteroData()
    names = list(graph.get("node_type_names") or [])
    given = graph.get("node_type")
    kind = torch.zeros(int(graph.num_nodes or 0), dtype=torch.long) if given is None else given
    names = [*names, "node"] if not names or bool((kind < 0).any()) else names
    kind = torch.where(kind < 0, len(names) - 1, kind)
    index = torch.empty_like(kind)
    for number, name in enumerate(names):
        mine = (kind == number).nonzero().squeeze(1)
        index[mine] = torch.arange(mine.numel())
        hetero[name].num_nodes = mine.numel()
        hetero[name].node_ids = [_bare(graph.node_ids[node], name) for node in mine.tolist()]
        if graph.x is not None and (own := _own(graph, number)).stop > own.start:
            hetero[name].x = graph.x[mine, own]
    for source, target, edge in torch.unique(_kinds(graph, kind), dim=1).t().tolist():
        triples = _typed(graph)
        chosen = (kind[triples[0]] == source) & (kind[triples[1]] == target) & (triples[2] == edge)
        relation = (
            names[source],
            _relation(graph, edge, names[source], names[target]),
            names[target],
        )
        hetero[relation].edge_index = index[triples[:2, chosen]]
    return hetero


def _triples(
    hetero: HeteroData, kind: tuple[str, str, str], number: int, starts: dict[str, int]
) -> Tensor:
    edges = hetero[kind].edge_index.long()
    for end, name in zip(edges, (kind[0], kind[2]), strict=True):
        size = int(hetero[name].num_nodes or 0)
        if end.numel() and not 0 <= int(end.min()) <= int(end.max()) < size:
            raise GraphError(f"edge_index of {kind} must be in [0, {size}) for {name!r}")
    shift = torch.tensor([[starts[kind[0]]], [starts[kind[2]]]])
    return torch.cat([edges + shift, torch.full_like(edges[:1], number)])


def _ids(hetero: HeteroData, name: str) -> list[str]:
    given: Any = hetero[name].get("node_ids")
    own = range(int(hetero[name].num_nodes or 0)) if given is None else list(given)
    return [f"{name}:{node}" for node in own]


def _bare(node: Any, name: str) -> str:
    return str(node).removeprefix(f"{name}:")


def _type_names(kinds: list[tuple[str, str, str]]) -> list[str]:
    """Return the relations' names, with the types of their ends where one name is not enough."""
    relations = [kind[1] for kind in kinds]
    return [kind[1] if relations.count(kind[1]) == 1 else " ".join(kind) for kind in kinds]


def _relation(graph: Data, edge: int, source: str, target: str) -> str:
    """Return a type's name without what `_type_names` put around it."""
    name = str((graph.get("type_names") or {0: "to"})[edge])
    whole = name.startswith(f"{source} ") and name.endswith(f" {target}")
    return name.removeprefix(f"{source} ").removesuffix(f" {target}") if whole else name


def _own(graph: Data, number: int) -> slice:
    """Return the columns of x that a type of nodes has: its block, or all of them."""
    widths = graph.get("feature_widths")
    if widths is None or number >= len(widths):
        return slice(0, graph.x.size(1))
    return slice(sum(widths[:number]), sum(widths[: number + 1]))


def _features(hetero: HeteroData, name: str, size: int) -> Tensor:
    """Return the features of a type of nodes [size, F]; F may be 0."""
    x: Any = hetero[name].get("x")
    block: Tensor = torch.zeros(size, 0) if x is None else x.float()
    return block


def _diagonal(blocks: list[Tensor]) -> Tensor:
    """Return a matrix with the blocks along its diagonal."""
    x = torch.zeros(sum(len(b) for b in blocks), sum(b.size(1) for b in blocks))
    row = column = 0
    for block in blocks:
        x[row : row + len(block), column : column + block.size(1)] = block
        row, column = row + len(block), column + block.size(1)
    return x


def _notes(hetero: HeteroData) -> list[str]:
    """Return what of the object is not read."""
    known = {"x", "node_ids", "num_nodes", "edge_index"}
    other = {str(key) for store in hetero.stores for key in store} - known
    unread = ", ".join(sorted(other))
    return [f"the graph: {counted(len(other), 'attribute')} ignored: {unread}"] if other else []


def _typed(graph: Data) -> Tensor:
    """Return triples [3, T]; edges without types are all of one, listed once if undirected."""
    if graph.get("triples") is not None:
        triples: Tensor = graph.triples
        return triples
    edges = graph.edge_index
    edges = edges[:, edges[0] < edges[1]] if graph.get("undirected") else edges
    return torch.cat([edges, torch.zeros_like(edges[:1])])


def _kinds(graph: Data, kind: Tensor) -> Tensor:
    triples = _typed(graph)
    return torch.stack([kind[triples[0]], kind[triples[1]], triples[2]])
