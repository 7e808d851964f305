from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from mgae.core.errors import GraphError
from mgae.data import load_graph
from mgae.data.opening import open_graph
from mgae.data.store import save_graph, stored_graph
from tests.conftest import toy_data

PROPERTY = settings(deadline=None, max_examples=30)


def same(first: Data, second: Data) -> bool:
    """Whether two checked graphs have equal tensors, ids and kind."""
    tensors = [
        {key: value for key, value in graph.items() if isinstance(value, torch.Tensor)}
        for graph in (first, second)
    ]
    return (
        tensors[0].keys() == tensors[1].keys()
        and all(torch.equal(value, tensors[1][key]) for key, value in tensors[0].items())
        and all(value.dtype == tensors[1][key].dtype for key, value in tensors[0].items())
        and (first.num_nodes, first.undirected) == (second.num_nodes, second.undirected)
        and list(first.node_ids) == list(second.node_ids)
    )


def damage(path: Path, keep: int) -> None:
    """Cut a file as a full disk would."""
    path.write_bytes(path.read_bytes()[:keep])


def test_a_graph_in_memory_comes_back_whole(tmp_path: Path) -> None:
    graph = toy_data(weighted=True)
    graph.node_ids = [f"node {number}" for number in range(20)]
    graph.train_mask = torch.arange(20) < 5
    save_graph(graph, tmp_path / "graph")
    assert same(stored_graph(tmp_path / "graph"), graph)
    assert {file.name for file in (tmp_path / "graph").iterdir()} == {
        "facts.json",
        "nodes.parquet",
        "tensors.safetensors",
    }


def test_a_graph_of_the_catalogue_is_kept_by_name_and_checksum(tmp_path: Path) -> None:
    graph = load_graph("cora")
    save_graph(graph, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["source.json"]
    source = json.loads((tmp_path / "source.json").read_text())
    assert source == {"name": "cora", "checksum": graph.checksum}
    assert same(stored_graph(tmp_path), graph)


@PROPERTY
@given(
    num_nodes=st.integers(2, 12),
    num_features=st.one_of(st.none(), st.integers(1, 4)),
    weighted=st.booleans(),
    directed=st.booleans(),
    seed=st.integers(0, 2**20),
)
def test_every_kind_of_graph_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    num_nodes: int,
    num_features: int | None,
    weighted: bool,
    directed: bool,
    seed: int,
) -> None:
    graph = toy_data(num_nodes, 10, seed, num_features, weighted, directed)
    folder = tmp_path_factory.mktemp("graph")
    save_graph(graph, folder)
    assert same(stored_graph(folder), graph)


def test_saving_again_replaces_the_graph(tmp_path: Path) -> None:
    save_graph(toy_data(seed=0), tmp_path)
    save_graph(toy_data(num_nodes=9, seed=1), tmp_path)
    assert same(stored_graph(tmp_path), toy_data(num_nodes=9, seed=1))


def test_a_folder_without_a_graph_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"the graph in .*nowhere is damaged"):
        stored_graph(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["nodes.parquet", "tensors.safetensors"])
def test_a_missing_file_is_refused(tmp_path: Path, name: str) -> None:
    save_graph(toy_data(), tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(GraphError, match="is damaged"):
        stored_graph(tmp_path)


@pytest.mark.parametrize("keep", [0, 100, -1])
def test_cut_off_node_ids_are_refused(tmp_path: Path, keep: int) -> None:
    save_graph(toy_data(), tmp_path)
    damage(tmp_path / "nodes.parquet", keep)
    with pytest.raises(GraphError, match="is damaged"):
        stored_graph(tmp_path)


@pytest.mark.parametrize("keep", [0, 100, -1])
def test_cut_off_tensors_are_refused(tmp_path: Path, keep: int) -> None:
    save_graph(toy_data(), tmp_path)
    damage(tmp_path / "tensors.safetensors", keep)
    with pytest.raises(GraphError, match="is damaged"):
        stored_graph(tmp_path)


def test_node_ids_of_another_graph_are_refused(tmp_path: Path) -> None:
    for name, num_nodes in (("large", 20), ("small", 9)):
        save_graph(toy_data(num_nodes=num_nodes), tmp_path / name)
    (tmp_path / "small" / "nodes.parquet").replace(tmp_path / "large" / "nodes.parquet")
    with pytest.raises(GraphError, match=r"edge_index must be in \[0, 9\)"):
        stored_graph(tmp_path / "large")


@pytest.mark.parametrize("text", ["", "{", "{}", '{"name": "cora"}'])
def test_a_damaged_source_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "source.json").write_text(text)
    with pytest.raises(GraphError, match="is damaged"):
        stored_graph(tmp_path)


@pytest.mark.parametrize("text", ["[]", "null", '"cora"'])
def test_a_source_that_is_no_table_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "source.json").write_text(text)
    with pytest.raises(GraphError, match="is damaged"):
        stored_graph(tmp_path)


def test_a_dataset_that_has_changed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "source.json").write_text('{"name": "cora", "checksum": "0123"}')
    with pytest.raises(GraphError, match="cora is not the one this run was trained on"):
        stored_graph(tmp_path)


def test_a_graph_in_memory_replaces_one_of_the_catalogue(tmp_path: Path) -> None:
    save_graph(load_graph("cora"), tmp_path)
    save_graph(toy_data(), tmp_path)
    assert same(stored_graph(tmp_path), toy_data())


def test_a_changed_graph_of_the_catalogue_comes_back_changed(tmp_path: Path) -> None:
    graph = load_graph("cora")
    graph.x = None
    save_graph(open_graph(graph), tmp_path)
    assert stored_graph(tmp_path).x is None


def test_names_of_classes_and_features_are_kept(tmp_path: Path) -> None:
    graph = toy_data()
    graph.name, graph.class_names, graph.feature_names = "mine", ["no", "yes"], list("abcdef")
    save_graph(graph, tmp_path)
    result = stored_graph(tmp_path)
    assert (result.name, result.class_names) == ("mine", ["no", "yes"])
    assert result.feature_names == list("abcdef")
