"""Open a graph: by a dataset's name, from a file, or from an object in memory."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from torch import Tensor
from torch_geometric.data import Data, HeteroData

from mgae.core.errors import ConfigError, GraphError, UnknownName
from mgae.data.checks import checked, plain_ids
from mgae.data.datasets.catalogue import load_graph
from mgae.data.features import KnownFeatures
from mgae.data.hetero import from_hetero
from mgae.data.ids import counted
from mgae.data.io.assembly import assemble_graph, user_path
from mgae.data.io.delimited import OnProgress
from mgae.data.io.edges import EdgeList, edge_hints, edges_of_table
from mgae.data.io.formats import edges_of_file, edges_of_matrix, edges_of_networkx
from mgae.data.io.options import InputSettings
from mgae.data.io.tables import ArrowTable, arrow_table, open_table
from mgae.registry import DATASETS

_DEFAULTS = InputSettings()


def open_graph(
    graph: Any,
    settings: InputSettings | None = None,
    on_progress: OnProgress | None = None,
    known: KnownFeatures | None = None,
) -> Data:
    """Return a checked graph.

    Args:
        graph: a dataset's name, a path, a PyG ``Data`` or ``HeteroData``, a networkx graph, a
            scipy sparse matrix, or a table of edges (pandas, pyarrow).
        settings: how files and tables are read.
        on_progress: called with the stage and the share that is done.
        known: the columns that a file's features must come in.

    >>> open_graph("cora").num_nodes
    2708
    """
    settings = settings or _DEFAULTS
    if not isinstance(graph, str | Path):
        opened = as_graph(graph, settings)
        # The object may be a dataset that was changed: the catalogue's checksum is not its own.
        opened.checksum = None
        return opened
    if str(graph) in DATASETS:
        if keys := settings.model_dump(exclude_defaults=True):
            names = ", ".join(f"input.{key}" for key in keys)
            raise ConfigError(f"{names} is for files, and {graph} is a dataset: leave it out")
        return load_graph(str(graph))
    path = user_path(graph)
    if path.exists():
        return read_graph(path, settings, on_progress, known)
    if path.suffix or len(path.parts) > 1:
        raise GraphError(
            f"there is no file {graph}: give a path, or a name that mgae datasets lists"
        )
    raise UnknownName("dataset", str(graph), DATASETS.names())


def read_graph(
    path: str | Path,
    settings: InputSettings = _DEFAULTS,
    on_progress: OnProgress | None = None,
    known: KnownFeatures | None = None,
) -> Data:
    """Return a checked graph from a file of edges, and the tables that ``settings`` name.

    The kind of file follows from its ending and its first bytes: GraphML, GEXF, GML, Pajek, npz,
    Matrix Market, Parquet, Feather, or text with any delimiter. Nodes are in the order of their
    ids, so that the format and the order of rows do not matter. The graph has ``name``,
    ``node_ids`` and ``notes``, remarks for the user; with features ``x`` and ``feature_names``;
    with labels ``y`` (-1 without one) and ``class_names``.

    Args:
        path: the file of edges.
        settings: further files, and how all are read.
        on_progress: called with the stage and the share of it that is done, from any thread.
        known: the columns that a model was trained on; by default the table's own.

    Raises:
        GraphError: if a file cannot be read, with its line and what to do.
        ConfigError: if a setting applies to no file here.
    """
    settings.refuse_unused()
    path, on_progress = user_path(path), on_progress or _ignore_progress
    edges = edges_of_file(path, settings, on_progress)
    if edges is None:
        table = open_table(path, edge_hints(settings), on_progress)
        edges = edges_of_table(table, settings)
    name = Path(path.name.removesuffix(".gz")).stem
    return assemble_graph(edges, name, settings, on_progress, known)


def as_graph(obj: Any, settings: InputSettings = _DEFAULTS) -> Data:
    """Return a checked graph from an object, which is not changed.

    A PyG ``Data`` keeps its nodes, directions and features, a ``HeteroData`` its types; a networkx
    graph, a scipy sparse matrix, or a table of edges (pyarrow, pandas, or what has their
    protocols) is read as a file of the same content would be.

    Raises:
        GraphError: if the object is none of these, or no valid graph.
        ConfigError: if a setting applies to no file here.

    >>> as_graph(nx.Graph([("b", "a"), ("a", "c")])).node_ids
    ['a', 'b', 'c']
    """
    if isinstance(obj, HeteroData):
        obj = from_hetero(obj)
    if isinstance(obj, Data):
        return _checked_data(obj, settings)
    settings.refuse_unused()
    return assemble_graph(_edges(obj, settings), "graph", settings, _ignore_progress)


def _edges(obj: Any, settings: InputSettings) -> EdgeList:
    if isinstance(obj, nx.Graph):
        return edges_of_networkx(obj, "the graph", settings)
    if sparse.issparse(obj):
        return edges_of_matrix(obj, "the matrix", settings)
    return edges_of_table(ArrowTable("the table", arrow_table(obj)), settings)


def _checked_data(data: Data, settings: InputSettings) -> Data:
    for field in ("features", "labels"):
        if getattr(settings, field) is not None:
            raise GraphError(f"input.{field} does not go with a PyG Data: put it into the Data")
    graph = checked(_with_sides(data, settings))
    # Not in `checked`: the nodes that a predictor adds have ids which are never written.
    graph.node_ids = plain_ids(graph.node_ids)
    dropped = data.edge_index.size(1) - graph.edge_index.size(1)
    graph.name = data.get("name") or "graph"
    graph.notes = list(data.get("notes") or [])
    if dropped:
        graph.notes.append(f"the graph: {counted(dropped, 'self-loop or duplicate edge')} dropped")
    return graph


def _with_sides(data: Data, settings: InputSettings) -> Data:
    """Divide the nodes of a ``Data`` into sides, if `input.bipartite` asks for it or against it."""
    if settings.bipartite == "auto" or (settings.bipartite == "yes" and "side" in data):
        return data
    changed = copy.copy(data)
    changed.side = None if settings.bipartite == "no" else two_colors(checked(data))
    return changed


def two_colors(data: Data) -> Tensor:
    """Return the side of each node [n], 0 for the first node of each component; -1 without edges.

    Raises:
        GraphError: if the graph has an odd cycle, so that its nodes are on no two sides.

    >>> two_colors(Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=4)).tolist()
    [0, 1, 0, -1]
    """
    size = int(data.num_nodes or 0)
    source, target = data.edge_index.numpy()
    ones = np.ones(source.size, np.int8)
    # An edge joins the two copies of its ends: with an odd cycle both copies are in one component.
    ends = np.r_[source, source + size], np.r_[target + size, target]
    double = sparse.coo_array((np.r_[ones, ones], ends), shape=(2 * size, 2 * size))
    member = connected_components(double, directed=False)[1]
    if (odd := np.flatnonzero(member[:size] == member[size:])).size:
        raise GraphError(f"the graph is not bipartite: node {odd[0]} is on a cycle of odd length")
    side = (member[:size] > member[size:]).astype(np.int8)
    side[np.setdiff1d(np.arange(size), np.r_[source, target])] = -1
    return torch.from_numpy(side)


def _ignore_progress(stage: str, share: float) -> None:
    """Report to nobody."""
