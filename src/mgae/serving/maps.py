"""Lay a graph's nodes out on a plane by their embeddings, colored by class or community."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mgae.core.errors import UnsupportedError

if TYPE_CHECKING:
    from torch_geometric.data import Data

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.int64]
Projection = Literal["pca", "umap"]

MOST_GROUPS = 9  # as many colors as differ clearly; all other groups share a gray one
_LOUVAIN_EDGES = 30_000  # networkx takes about a second for as many
_CLUSTERS = 8
_PCA_ROWS = 5000
_UMAP_FROM = 50  # it looks at 15 neighbors of each node


@dataclass(frozen=True, eq=False)
class NodeMap:
    """Where nodes lie and which group they are in.

    Attributes:
        nodes: the numbers of the nodes shown [m]: all, or evenly taken from all.
        xy: their coordinates in [0, 1] [m, 2].
        groups: the group of each [m], or -1 for none or a small one.
        names: each group's name, the largest group first.
        grouping: what a group is: ``class``, ``community`` or ``cluster``.
        projection: how the coordinates were computed.
    """

    nodes: Integers
    xy: Floats
    groups: Integers
    names: list[str]
    grouping: str
    projection: Projection


def draw_map(
    embeddings: Floats, graph: Data, most: int, seed: int, projection: Projection = "pca"
) -> NodeMap:
    """Lay out at most ``most`` nodes of ``graph`` by their ``embeddings`` [num_nodes, width].

    A handful of nodes is too few for UMAP: they are placed by PCA.
    """
    nodes = spread(len(embeddings), most)
    if len(nodes) < _UMAP_FROM:
        projection = "pca"
    project = _umap if projection == "umap" else _pca
    groups, names, grouping = _groups(embeddings, graph, nodes, seed)
    xy = _unit_square(project(_directions(embeddings[nodes].astype(np.float64)), seed))
    return NodeMap(nodes, xy, groups[nodes], names, grouping, projection)


def best_projection() -> Projection:
    """Return UMAP if it is installed, else PCA."""
    return "umap" if importlib.util.find_spec("umap") else "pca"


def spread(count: int, most: int) -> Integers:
    """Return ``most`` of the numbers below ``count``, evenly spaced, or all if they are fewer.

    >>> spread(10, 4).tolist(), spread(3, 4).tolist()
    ([0, 3, 6, 9], [0, 1, 2])
    """
    return np.linspace(0, count - 1, min(count, most)).round().astype(np.int64)


def _directions(rows: Floats) -> Floats:
    """Scale rows to length 1: a hub's long vector would press all other nodes together."""
    unit: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True).clip(1e-12)
    return unit


def _pca(rows: Floats, seed: int) -> Floats:
    """Project on the two directions of the largest variance of some rows; signs are fixed."""
    rows = rows - rows.mean(axis=0)
    some = rows[spread(len(rows), _PCA_ROWS)]
    directions = np.linalg.eigh(some.T @ some)[1][:, ::-1][:, :2]
    largest = directions[np.abs(directions).argmax(axis=0), range(directions.shape[1])]
    flat = rows @ (directions * np.sign(largest))
    return flat if flat.shape[1] == 2 else np.column_stack([flat, np.zeros(len(flat))])


def _umap(rows: Floats, seed: int) -> Floats:
    if importlib.util.find_spec("umap") is None:
        raise UnsupportedError("--map umap needs umap-learn: pip install umap-learn")
    umap: Any = importlib.import_module("umap")
    flat: Floats = umap.UMAP(random_state=seed, n_jobs=1).fit_transform(rows).astype(np.float64)
    return flat


def _unit_square(xy: Floats) -> Floats:
    """Scale into the unit square, each axis on its own."""
    low, high = xy.min(axis=0), xy.max(axis=0)
    unit: Floats = (xy - low) / np.where(high > low, high - low, 1)
    return unit


def _groups(
    embeddings: Floats, graph: Data, shown: Integers, seed: int
) -> tuple[Integers, list[str], str]:
    """Return each node's group, the largest being 0: classes, or else communities or clusters."""
    if graph.y is not None and graph.y.dim() == 1 and not graph.y.is_floating_point():
        values, grouping = graph.y.numpy(), "class"
    elif graph.edge_index.size(1) <= 2 * _LOUVAIN_EDGES:
        values, grouping = _communities(graph, seed), "community"
    else:
        values, grouping = _clusters(embeddings, shown, seed), "cluster"
    distinct, counts = np.unique(values[values >= 0], return_counts=True)
    largest = distinct[np.argsort(-counts, kind="stable")][:MOST_GROUPS]
    groups = np.full(values.shape, -1, dtype=np.int64)
    for group, value in enumerate(largest):
        groups[values == value] = group
    return groups, [_group_name(graph, grouping, int(value)) for value in largest], grouping


def _group_name(graph: Data, grouping: str, value: int) -> str:
    names = graph.get("class_names") if grouping == "class" else None
    return str(names[value]) if names else f"{grouping} {value}"


def _communities(graph: Data, seed: int) -> Integers:
    """Return Louvain's communities; a node without an edge is in none."""
    import networkx as nx  # noqa: PLC0415 - slow to load

    network: nx.Graph[int] = nx.Graph()
    network.add_edges_from(graph.edge_index.t().tolist())
    groups = np.full(int(graph.num_nodes or 0), -1, dtype=np.int64)
    communities = nx.community.louvain_communities(network, seed=seed)
    for number, members in enumerate(sorted(communities, key=lambda part: (-len(part), min(part)))):
        groups[list(members)] = number
    return groups


def _clusters(embeddings: Floats, shown: Integers, seed: int) -> Integers:
    """Return clusters of the nodes that are shown; the others are in none."""
    from sklearn.cluster import MiniBatchKMeans  # noqa: PLC0415 - slow to load

    groups = np.full(len(embeddings), -1, dtype=np.int64)
    means = MiniBatchKMeans(min(_CLUSTERS, len(shown)), random_state=seed, n_init=1)
    groups[shown] = means.fit_predict(_directions(embeddings[shown]))
    return groups
