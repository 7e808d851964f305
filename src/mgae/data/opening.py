"""Open a graph: by a dataset's name, from a file, or from an object in memory."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import torch
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from torch import Tensor
from torch_geometric.data import Data, HeteroData

from mgae.core.errors import ConfigError, GraphError, UnknownName
from mgae.data.checks import checked, plain_ids
from mgae.data.columns.choices import FeatureSettings
from mgae.data.datasets.loading import load_graph
from mgae.data.features import Preparation, features, uneven_note
from mgae.data.fields import as_data
from mgae.data.hetero import from_hetero
from mgae.data.ids import Ids, Nodes, counted
from mgae.data.io.assembly import assemble_graph, user_path
from mgae.data.io.delimited import OnProgress
from mgae.data.io.edges import EdgeList, edge_hints, edges_of_table
from mgae.data.io.formats import edges_of_file, edges_of_matrix, edges_of_networkx
from mgae.data.io.noderows import NodeRows
from mgae.data.io.options import InputSettings
from mgae.data.io.tables import ArrowTable, arrow_table, open_table
from mgae.data.large.folder import is_prepared, prepared_graph
from mgae.registry import DATASETS

_DEFAULTS = InputSettings()
_LARGE = 1e6
_PREPARING = FeatureSettings()


def open_graph(
    graph: Any,
    settings: InputSettings | None = None,
    on_progress: OnProgress | None = None,
    preparing: FeatureSettings | Preparation | None = None,
) -> Data:
    """Return a checked graph.

    Args:
        graph: a dataset's name, a path, a folder of `mgae prepare`, a PyG ``Data`` or
            ``HeteroData``, a networkx graph, a scipy sparse matrix, a table of edges (pandas,
            polars, pyarrow), or a list or an array of pairs of ids.
        settings: how files and tables are read.
        on_progress: called with the stage and the share that is done.
        preparing: how features become numbers, or how they did in the training of a model.

    >>> open_graph("cora").num_nodes
    2708
    """
    settings, preparing = settings or _DEFAULTS, preparing or _PREPARING
    if not isinstance(graph, str | Path):
        opened = as_graph(graph, settings, preparing)
        # The object may be a dataset that was changed: the catalogue's checksum is not its own.
        opened.checksum = None
        return opened
    if str(graph) in DATASETS:
        keys = [f"input.{key}" for key in settings.model_dump(exclude_defaults=True)]
        if isinstance(preparing, FeatureSettings):
            keys += [f"features.{key}" for key in preparing.model_dump(exclude_defaults=True)]
        if keys:
            names = ", ".join(keys)
            raise ConfigError(f"{names} is for files, and {graph} is a dataset: leave it out")
        return load_graph(str(graph))
    path = user_path(graph)
    if is_prepared(path):
        if keys := [f"input.{key}" for key in settings.model_dump(exclude_defaults=True)]:
            names = ", ".join(keys)
            raise ConfigError(f"{names} is for files, and {graph} is prepared: leave it out")
        return prepared_graph(path)
    if os.path.exists(path):  # noqa: PTH110 - a name that is too long for a file is none
        return read_graph(path, settings, on_progress, preparing)
    if path.suffix or len(path.parts) > 1:
        raise GraphError(
            f"there is no file {str(graph)[:200]}: give a path, or a name that mgae datasets lists"
        )
    raise UnknownName("dataset", str(graph), DATASETS.names())


def read_graph(
    path: str | Path,
    settings: InputSettings = _DEFAULTS,
    on_progress: OnProgress | None = None,
    preparing: FeatureSettings | Preparation = _PREPARING,
) -> Data:
    """Return a checked graph from a file of edges, and the tables that ``settings`` name.

    The kind of file follows from its ending and its first bytes: GraphML, GEXF, GML, Pajek, npz,
    Matrix Market, Parquet, Feather, or text with any delimiter. Nodes are in the order of their
    ids, so that the format and the order of rows do not matter. The graph has ``name``,
    ``node_ids`` and ``notes``, remarks for the user; with features ``x``, ``feature_names`` and
    ``preparation``; with labels ``y`` (-1 without one) and ``class_names``.

    Args:
        path: the file of edges.
        settings: further files, and how all are read.
        on_progress: called with the stage and the share of it that is done, from any thread.
        preparing: how features become numbers, or how they did in the training of a model.

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
    return as_data(assemble_graph(edges, name, settings, on_progress, preparing))


def as_graph(
    obj: Any,
    settings: InputSettings = _DEFAULTS,
    preparing: FeatureSettings | Preparation = _PREPARING,
) -> Data:
    """Return a checked graph from an object, which is not changed.

    A PyG ``Data`` keeps its nodes, directions and, unless ``preparing`` asks for a scale, its
    features, a ``HeteroData`` its types too; a networkx graph, a scipy sparse matrix, or a table of
    edges (pyarrow, pandas, or what has their protocols) is read as a file of the same content would
    be.

    Raises:
        GraphError: if the object is none of these, or no valid graph.
        ConfigError: if a setting applies to no file here.

    >>> as_graph(nx.Graph([("b", "a"), ("a", "c")])).node_ids
    ['a', 'b', 'c']
    """
    if isinstance(obj, HeteroData):
        obj = from_hetero(obj)
    if isinstance(obj, Data):
        return _checked_data(obj, settings, preparing)
    settings.refuse_unused()
    edges = _edges(obj, settings)
    return as_data(assemble_graph(edges, "graph", settings, _ignore_progress, preparing))


def _edges(obj: Any, settings: InputSettings) -> EdgeList:
    if isinstance(obj, nx.Graph):
        return edges_of_networkx(obj, "the graph", settings)
    if sparse.issparse(obj):
        return edges_of_matrix(obj, "the matrix", settings)
    if isinstance(obj, list | tuple | np.ndarray):
        obj = _listed_pairs(obj)
    return edges_of_table(ArrowTable("the table", arrow_table(obj)), settings)


def _listed_pairs(pairs: Any) -> pa.Table:
    """Return pairs of ids as a table of edges."""
    try:
        ends = np.asarray(pairs)
    except ValueError:  # rows of several lengths
        ends = np.empty(0)
    if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iuUO":
        got = f"the shape {list(ends.shape)} of {ends.dtype}"
        raise GraphError(
            f"edges in a list or an array must be pairs of ids, integers or texts, got {got}: "
            "for an adjacency matrix give scipy.sparse.csr_array(X)"
        )
    # As an array, pairs such as (1, "a") are texts; as lists their ids stay what they are.
    columns = zip(*pairs, strict=True) if ends.dtype.kind in "UO" else ends.T
    try:
        source, target = (pa.array(list(column)) for column in columns)
    except pa.ArrowException as error:
        raise GraphError(f"the pairs cannot be read: {error}") from None
    return pa.table({"source": source, "target": target})


def _checked_data(
    data: Data, settings: InputSettings, preparing: FeatureSettings | Preparation
) -> Data:
    for field in ("features", "labels", "nodes", "negatives"):
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
    if graph.x is not None:
        graph.notes += _scaled(graph, preparing)
        largest = float(graph.x.abs().max()) if graph.x.numel() else 0.0
        if largest > _LARGE:
            graph.notes.append(
                f"the graph: features as large as {largest:.0e} make scores meaningless: scale them"
            )
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


def _scaled(graph: Data, preparing: FeatureSettings | Preparation) -> list[str]:
    """Scale the features of a ``Data`` if that is asked for, and return notes."""
    if isinstance(preparing, FeatureSettings) and preparing.untouched:
        return uneven_note(graph.x)
    names = graph.get("feature_names") or [f"x{number}" for number in range(graph.x.size(1))]
    table = ArrowTable(
        "the graph's x", pa.table(dict(zip(names, graph.x.t().numpy(), strict=True)))
    )
    rows = NodeRows(table, Ids.of([pa.chunked_array([range(graph.num_nodes)])], table.locate),
                    tuple(names), tuple(table.table.columns))  # fmt: skip
    prepared = features(rows, Nodes.of(rows.ids), "refuse", preparing)
    graph.x, graph.preparation = prepared.x, prepared.preparation
    graph.feature_names = prepared.preparation.names
    return prepared.notes


def _ignore_progress(stage: str, share: float) -> None:
    """Report to nobody."""
