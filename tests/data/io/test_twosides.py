"""Bipartite graphs: found by their columns, kept apart where ids coincide."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from scipy import sparse
from torch_geometric.data import Data

from mgae.core.errors import ConfigError, GraphError
from mgae.data.io.options import InputSettings
from mgae.data.opening import as_graph, read_graph
from mgae.data.store import save_graph, stored_graph

BIPARTITE = InputSettings(bipartite="yes")


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "edges.csv"
    path.write_text(text, encoding="utf-8")
    return path


def sides(graph: Data) -> dict[object, int]:
    return dict(zip(graph.node_ids, graph.side.tolist(), strict=True))


def pairs(graph: Data) -> set[frozenset[object]]:
    return {
        frozenset(graph.node_ids[end] for end in edge) for edge in graph.edge_index.t().tolist()
    }


def test_columns_without_a_common_id_are_two_sides_and_a_note_says_so(tmp_path: Path) -> None:
    graph = read_graph(written(tmp_path, "source,target\nu1,i1\nu2,i1\nu2,i2\n"))
    assert sides(graph) == {"i1": 1, "i2": 1, "u1": 0, "u2": 0}
    assert any(
        "bipartite, 2 source ids and 2 target ids (no id is in both" in n for n in graph.notes
    )


def test_a_common_id_or_a_star_is_no_bipartite_graph_and_the_user_may_object(
    tmp_path: Path,
) -> None:
    for text in ("a,b\nb,c\nd,c\n", "hub,a\nhub,b\nhub,c\n"):
        assert read_graph(written(tmp_path, text)).get("side") is None
    path = written(tmp_path, "u1,i1\nu2,i1\nu2,i2\n")
    assert read_graph(path, InputSettings(bipartite="no")).get("side") is None
    directed = read_graph(path, InputSettings(directed=True))
    assert directed.get("side") is None and any("without --directed" in n for n in directed.notes)
    with pytest.raises(ConfigError, match=r"input\.bipartite goes without input\.directed"):
        read_graph(path, InputSettings(bipartite="yes", directed=True))


def test_equal_numbers_of_two_columns_stay_apart_by_their_columns_names(tmp_path: Path) -> None:
    path = written(tmp_path, "user_id,item\n3,3\n4,3\n4,5\n")
    settings = InputSettings(bipartite="yes", source_column="user_id", target_column="item")
    graph = read_graph(path, settings)
    assert sides(graph) == {"item:3": 1, "item:5": 1, "user:3": 0, "user:4": 0}
    edges = [("user:3", "item:3"), ("user:4", "item:3"), ("user:4", "item:5")]
    assert pairs(graph) == set(map(frozenset, edges))
    assert not any("self-loop" in note for note in graph.notes)
    assert any("1 id in both columns kept apart as user:3 and item:3" in n for n in graph.notes)


def test_other_files_name_the_sides_by_their_columns_or_by_the_prefix(tmp_path: Path) -> None:
    path = written(tmp_path, "User ID,Item ID\n3,3\n4,3\n4,5\n")
    files = {
        "items.csv": "item_id,price\n3,1.5\n5,2.5\nItem ID:9,3.5\n",
        "nodes.csv": "id,price\n3,1.5\n5,2.5\n",
        "not.csv": "User ID,Item ID\n3,5\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    given = {"bipartite": "yes", "missing": "zero", "negatives": str(tmp_path / "not.csv")}
    graph = read_graph(path, InputSettings(features=str(tmp_path / "items.csv"), **given))
    assert sides(graph)["Item ID:9"] == 1 and "3" not in graph.node_ids
    index = {node: number for number, node in enumerate(graph.node_ids)}
    assert bool(graph.x[index["Item ID:3"]].any()) and not graph.x[index["User ID:3"]].any()
    assert set(graph.negatives.flatten().tolist()) == {index["User ID:3"], index["Item ID:5"]}
    with pytest.raises(GraphError, match="write them so, or name their column User ID or Item ID"):
        read_graph(path, InputSettings(features=str(tmp_path / "nodes.csv"), **given))


@pytest.mark.parametrize(
    ("header", "noted"),
    [("user,item", True), ("Movie IDs,userId", True), ("follower,user", False), ("a,b", False)],
)
def test_equal_ids_of_columns_of_different_things_are_pointed_out(
    tmp_path: Path, header: str, noted: bool
) -> None:
    graph = read_graph(written(tmp_path, header + "\n3,3\n4,3\n4,5\n"))
    assert any("--bipartite keeps them apart" in note for note in graph.notes) is noted


def test_sides_and_their_names_survive_the_store(tmp_path: Path) -> None:
    graph = read_graph(written(tmp_path, "1,1\n2,1\n2,2\n"), BIPARTITE)
    save_graph(graph, tmp_path / "graph")
    again = stored_graph(tmp_path / "graph")
    assert again.side.tolist() == graph.side.tolist() and again.side.dtype == torch.int8
    assert again.side_names == ["source", "target"]
    assert again.side_prefixes == ["source:", "target:"]


def test_a_node_with_features_and_no_edge_is_on_the_side_of_its_prefix(tmp_path: Path) -> None:
    features = tmp_path / "features.csv"
    features.write_text(
        "id,x\nsource:1,1\nsource:2,2\ntarget:1,3\ntarget:2,4\ntarget:9,5\nalien,6\n"
    )
    settings = InputSettings(bipartite="yes", features=str(features))
    graph = read_graph(written(tmp_path, "1,1\n2,1\n2,2\n"), settings)
    assert sides(graph)["target:9"] == 1 and sides(graph)["alien"] == -1
    assert any("1 id without an edge on neither side" in note for note in graph.notes)


def test_rows_and_columns_of_a_matrix_are_two_sides() -> None:
    matrix = sparse.csr_array(np.array([[1, 0, 1], [0, 0, 1]]))
    graph = as_graph(matrix, BIPARTITE)
    assert sides(graph) == {"column:0": 1, "column:1": 1, "column:2": 1, "row:0": 0, "row:1": 0}
    assert frozenset(["row:0", "column:2"]) in pairs(graph)
    with pytest.raises(GraphError, match="must be square, got 2 × 3; --bipartite if rows"):
        as_graph(matrix)


def test_networkx_attribute_bipartite_gives_the_sides() -> None:
    graph: nx.Graph[str] = nx.Graph([("i", "u"), ("u", "j"), ("v", "i")])
    graph.add_node("cold")
    nx.set_node_attributes(graph, {"u": 0, "v": 0, "i": 1, "j": 1, "cold": 1}, "bipartite")
    assert sides(as_graph(graph)) == {"cold": 1, "i": 1, "j": 1, "u": 0, "v": 0}


def test_a_data_is_divided_on_request_and_an_odd_cycle_refused() -> None:
    path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    assert as_graph(Data(edge_index=path, num_nodes=4)).get("side") is None
    divided = as_graph(Data(edge_index=path, num_nodes=4), BIPARTITE)
    assert divided.side.tolist() == [0, 1, 0, -1]
    triangle = torch.tensor([[0, 1, 2], [1, 2, 0]])
    whole = Data(edge_index=torch.cat([triangle, triangle.flip(0)], dim=1), num_nodes=3)
    with pytest.raises(GraphError, match="not bipartite: node 0 is on a cycle of odd length"):
        as_graph(whole, BIPARTITE)
    whole.side = torch.tensor([0, 1, 1])
    with pytest.raises(
        GraphError, match="every edge must join side 0 to side 1, got the edge 2 – 1"
    ):
        as_graph(whole)
