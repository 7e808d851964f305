from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
import torch
from scipy import sparse
from torch_geometric.data import Data

from mgae.core.errors import ConfigError, GraphError
from mgae.data.io.options import InputSettings
from mgae.data.opening import as_graph
from mgae.data.store import save_graph, stored_graph

EDGES = pa.table({"source": ["b", "c"], "target": ["a", "b"], "weight": [2.0, 0.5]})


class Frame:
    """A table as old pandas has it: columns, and a dictionary of lists."""

    def __init__(self, table: pa.Table) -> None:
        self.columns, self.table = table.column_names, table

    def to_dict(self, orient: str) -> dict[str, list[Any]]:
        assert orient == "list"
        return dict(self.table.to_pydict())


class Streamed:
    """A table that hands on Arrow, as new pandas and polars do."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class Interchanged:
    """A table with the older protocol."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> object:
        return self.table.__dataframe__(nan_as_null, allow_copy)


@pytest.mark.parametrize("kind", [lambda table: table, Frame, Streamed, Interchanged])
def test_tables_of_any_kind_are_read_alike(kind: Any) -> None:
    graph = as_graph(kind(EDGES))
    assert graph.node_ids == ["a", "b", "c"]
    assert graph.edge_index.tolist() == [[1, 0, 2, 1], [0, 1, 1, 2]]
    assert graph.edge_weight.tolist() == [2.0, 2.0, 0.5, 0.5]
    assert graph.name == "graph"
    assert graph.notes == []


def test_the_index_of_a_frame_is_a_column_like_others() -> None:
    table = EDGES.append_column("__index_level_0__", pa.array([7, 8]))
    assert as_graph(table).notes == ["the table: columns ignored: __index_level_0__"]


def test_columns_of_a_table_are_chosen_by_the_settings() -> None:
    table = pa.table({"when": [1, 2], "who": [10, 9], "whom": [9, 3]})
    settings = InputSettings(source_column="who", target_column="3", directed=True)
    graph = as_graph(table, settings)
    assert graph.node_ids == [3, 9, 10]
    assert graph.edge_index.tolist() == [[1, 2], [0, 1]]
    assert not graph.undirected


def test_networkx_nodes_of_any_type_are_named_by_their_text() -> None:
    graph = as_graph(nx.grid_2d_graph(2, 2))
    assert graph.node_ids == ["(0, 0)", "(0, 1)", "(1, 0)", "(1, 1)"]
    assert as_graph(nx.path_graph(11)).node_ids == list(range(11))


def test_networkx_nodes_that_look_alike_are_refused() -> None:
    with pytest.raises(GraphError, match="two nodes that are called '1'"):
        as_graph(nx.Graph([(1, "1")]))


@pytest.mark.parametrize("weight", ["heavy", -1, float("nan"), 1e300])
def test_a_wrong_weight_is_named_with_its_edge(weight: object) -> None:
    graph = nx.Graph([("a", "b")])
    graph.edges["a", "b"]["weight"] = weight
    with pytest.raises(GraphError, match="the graph, edge a – b: the weight must be"):
        as_graph(graph)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.coo_array])
def test_sparse_matrices(kind: Any) -> None:
    graph = as_graph(kind(np.array([[0, 3, 0], [0, 0, 0], [0, 0, 0]])))
    assert graph.node_ids == [0, 1, 2]
    assert graph.edge_weight.tolist() == [3.0, 3.0]
    with pytest.raises(GraphError, match="the matrix: an adjacency matrix must be square"):
        as_graph(kind(np.ones((2, 3))))


def test_a_data_keeps_what_it_has() -> None:
    data = Data(
        x=torch.eye(3),
        edge_index=torch.tensor([[2, 0, 0, 1], [0, 1, 1, 1]]),
        node_ids=["z", "y", "x"],
        y=torch.tensor([0, 1, 0]),
    )
    graph = as_graph(data)
    assert graph.node_ids == ["z", "y", "x"]
    assert graph.edge_index.tolist() == [[2, 0], [0, 1]]
    assert graph.undirected is False
    assert graph.notes == ["the graph: 2 self-loop or duplicate edges dropped"]
    assert graph.y.tolist() == [0, 1, 0]
    assert "notes" not in data
    assert data.edge_index.size(1) == 4


def test_edge_features_of_a_data_are_kept() -> None:
    data = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2, edge_attr=torch.ones(1, 3))
    graph = as_graph(data)
    assert graph.notes == [] and graph.edge_attr.tolist() == [[1.0, 1.0, 1.0]]


@pytest.mark.parametrize(
    "ids", [torch.arange(3) + 7, np.arange(3) + 7, list(np.arange(3) + 7), (7, 8, 9)]
)
def test_ids_of_a_data_are_kept_as_integers(ids: Any, tmp_path: Path) -> None:
    graph = as_graph(Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3, node_ids=ids))
    assert graph.node_ids == [7, 8, 9]
    save_graph(graph, tmp_path)
    assert stored_graph(tmp_path).node_ids == [7, 8, 9]


PLAIN = "node_ids must be all integers of 64 bits, or all texts, got "


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1, "a", 2], PLAIN + "'a' at 1"),
        (["a", "b", 2], PLAIN + "2 at 2"),
        ([1, 2, 2**63], PLAIN + "9223372036854775808 at 2"),
        (torch.tensor([0.5, 1, 2]), PLAIN + "0.5 at 0"),
        ([(1, 2), (1, 3), (2, 3)], PLAIN + "(1, 2) at 0"),
        ([None, 1, 2], PLAIN + "None at 0"),
        ([0, True, 2], PLAIN + "True at 1"),
        (["a", "b", "a"], "node_ids must be distinct, got 'a' for 2 nodes"),
        (torch.tensor([5, 5, 5]), "node_ids must be distinct, got 5 for 3 nodes"),
    ],
)
def test_ids_that_no_file_can_hold_are_refused(ids: Any, message: str) -> None:
    data = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3, node_ids=ids)
    with pytest.raises(GraphError) as refusal:
        as_graph(data)
    assert str(refusal.value) == message


def test_a_data_is_checked() -> None:
    with pytest.raises(GraphError, match="x must be finite"):
        as_graph(Data(x=torch.full((2, 1), torch.nan), edge_index=torch.tensor([[0], [1]])))


def test_files_beside_a_data_are_refused() -> None:
    data = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)
    with pytest.raises(GraphError, match=r"input\.features does not go with a PyG Data"):
        as_graph(data, InputSettings(features="nodes.csv"))


def test_settings_of_a_table_that_is_not_there_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"input\.id_column needs input\.features or input"):
        as_graph(EDGES, InputSettings(id_column="key"))


@pytest.mark.parametrize("obj", [None, 3, "edges.csv", {"a": 1}])
def test_anything_else_is_refused(obj: object) -> None:
    with pytest.raises(GraphError, match=f"a graph must be a PyG Data, .*got {type(obj).__name__}"):
        as_graph(obj)


def test_a_frame_that_cannot_be_read_is_refused_in_one_line() -> None:
    class Mixed(Frame):
        def to_dict(self, orient: str) -> dict[str, list[Any]]:
            return {"source": ["a", 1], "target": ["b", 2]}

    with pytest.raises(GraphError, match="the table cannot be read: ") as refusal:
        as_graph(Mixed(EDGES))
    assert "\n" not in str(refusal.value)
