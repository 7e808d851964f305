"""Graphs that are in memory already: PyG, networkx, scipy, and tables of edges."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pyarrow as pa
from pyarrow.interchange import from_dataframe
from scipy import sparse
from torch_geometric.data import Data

from mgae.core.errors import GraphError
from mgae.data.checks import checked, plain_ids
from mgae.data.ids import counted
from mgae.data.io.edges import EdgeList, edges_of_table
from mgae.data.io.files import assembled, refuse_idle
from mgae.data.io.formats import edges_of_matrix, edges_of_networkx
from mgae.data.io.tables import ArrowTable
from mgae.runs.sections import InputSettings

_DEFAULTS = InputSettings()


def as_graph(obj: Any, settings: InputSettings = _DEFAULTS) -> Data:
    """A checked graph from an object, which stays as it is.

    A PyG ``Data`` keeps its nodes, directions and features; a networkx graph, a scipy sparse
    matrix, or a table of edges (pyarrow, pandas, or what has their protocols) is read as a file
    of the same content would be.

    Raises:
        GraphError: where the object is none of these, or no graph comes of it.
        ConfigError: at a setting that is for no file here.

    >>> as_graph(nx.Graph([("b", "a"), ("a", "c")])).node_ids
    ['a', 'b', 'c']
    """
    if isinstance(obj, Data):
        return _checked_data(obj, settings)
    refuse_idle(settings)
    return assembled(_edges(obj, settings), "graph", settings)


def _edges(obj: Any, settings: InputSettings) -> EdgeList:
    if isinstance(obj, nx.Graph):
        return edges_of_networkx(obj, "the graph", settings)
    if sparse.issparse(obj):
        return edges_of_matrix(obj, "the matrix", settings)
    return edges_of_table(ArrowTable("the table", arrow_table(obj)), settings)


def arrow_table(obj: Any) -> pa.Table:
    """A table by whichever protocol the object has; pandas itself is not needed for that.

    Raises:
        GraphError: where it has none, or cannot be read.
    """
    if isinstance(obj, pa.Table):
        return obj
    try:
        if hasattr(obj, "__arrow_c_stream__"):
            return pa.table(obj)
        if hasattr(obj, "__dataframe__"):
            return pa.Table.from_batches(from_dataframe(obj).to_batches())
        if hasattr(obj, "to_dict") and hasattr(obj, "columns"):
            return pa.table(obj.to_dict(orient="list"))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise GraphError(f"the table cannot be read: {str(error).partition(chr(10))[0]}") from None
    raise GraphError(
        f"a graph must be a PyG Data, a networkx graph, a scipy sparse matrix, or a pandas or "
        f"pyarrow table of edges, got {type(obj).__name__}"
    )


def _checked_data(data: Data, settings: InputSettings) -> Data:
    for field in ("features", "labels"):
        if getattr(settings, field) is not None:
            raise GraphError(f"input.{field} does not go with a PyG Data: put it into the Data")
    graph = checked(data)
    # Not in `checked`: the nodes that a predictor adds have ids which are never written.
    graph.node_ids = plain_ids(graph.node_ids)
    dropped = data.edge_index.size(1) - graph.edge_index.size(1)
    graph.name = data.get("name") or "graph"
    graph.notes = list(data.get("notes") or [])
    if data.get("edge_attr") is not None:
        graph.notes.append("the graph: edge_attr ignored (weights come by edge_weight)")
    if dropped:
        graph.notes.append(f"the graph: {counted(dropped, 'self-loop or duplicate edge')} dropped")
    return graph
