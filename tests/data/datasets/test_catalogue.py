from __future__ import annotations

import shutil
import socket
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.datasets import Planetoid

from mgae.core.errors import GraphError, UnknownName
from mgae.data import load_graph
from mgae.data.datasets import catalogue
from mgae.data.datasets.loading import statistics
from mgae.registry import DATASETS
from tests.conftest import toy_data


@pytest.fixture(scope="module")
def cora() -> Data:
    return load_graph("cora")


@pytest.fixture
def cora_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the embedded file, which the catalogue reads in the place of its own."""
    original = resources.files("mgae.data.datasets") / "embedded" / "cora.npz"
    copy = tmp_path / "embedded" / "cora.npz"
    copy.parent.mkdir()
    copy.write_bytes(original.read_bytes())
    monkeypatch.setattr(catalogue.resources, "files", lambda package: tmp_path)
    return copy


def test_cora_has_the_statistics_of_the_literature(cora: Data) -> None:
    expected = {"nodes": 2708, "edges": 5278, "features": 1433, "classes": 7}
    assert statistics(cora) == expected
    assert DATASETS["cora"].extras["statistics"] == expected


def test_cora_is_undirected_and_says_where_it_is_from(cora: Data) -> None:
    assert cora.undirected is True
    assert cora.edge_index.shape == (2, 2 * 5278)
    assert cora.edge_weight is None
    assert cora.name == "cora"
    assert len(cora.checksum) == 64


def test_cora_keeps_the_contract_of_a_graph(cora: Data) -> None:
    source, target = cora.edge_index
    keys = target * 2708 + source
    assert bool((keys.diff() > 0).all())
    assert bool((source != target).all())
    assert torch.equal(torch.sort(source * 2708 + target).values, keys)


def test_cora_has_classes_of_the_known_sizes(cora: Data) -> None:
    assert torch.bincount(cora.y).tolist() == [351, 217, 418, 818, 426, 298, 180]


def test_cora_has_binary_features_without_an_empty_row(cora: Data) -> None:
    assert set(cora.x.unique().tolist()) == {0.0, 1.0}
    assert int(cora.x.sum()) == 49_216
    assert int(cora.x.sum(dim=1).min()) >= 1


def test_cora_has_the_public_node_split(cora: Data) -> None:
    masks = [cora.train_mask, cora.val_mask, cora.test_mask]
    assert [int(mask.sum()) for mask in masks] == [140, 500, 1000]
    assert int(torch.stack(masks).sum(dim=0).max()) == 1
    assert torch.bincount(cora.y[cora.train_mask]).tolist() == [20] * 7


def test_cora_nodes_have_the_ids_of_their_papers(cora: Data) -> None:
    assert len(set(cora.node_ids)) == 2708
    assert cora.node_ids != list(range(2708))


def test_each_load_gives_a_graph_of_its_own() -> None:
    first = load_graph("cora")
    first.x.zero_()
    assert int(load_graph("cora").x.sum()) == 49_216


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match=r"unknown dataset 'corra'.*did you mean cora\?"):
        load_graph("corra")


def test_an_undamaged_copy_is_read(cora_copy: Path, cora: Data) -> None:
    assert torch.equal(load_graph("cora").edge_index, cora.edge_index)


@pytest.mark.parametrize("index", [0, 1000, -1])
def test_a_single_damaged_byte_is_refused(cora_copy: Path, index: int) -> None:
    content = bytearray(cora_copy.read_bytes())
    content[index] ^= 1
    cora_copy.write_bytes(content)
    with pytest.raises(GraphError, match=r"cora\.npz is damaged .*reinstall mgae"):
        load_graph("cora")


def test_a_truncated_file_is_refused(cora_copy: Path) -> None:
    cora_copy.write_bytes(cora_copy.read_bytes()[:-100])
    with pytest.raises(GraphError, match=r"cora\.npz is damaged"):
        load_graph("cora")


def test_a_graph_with_other_statistics_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = replace(DATASETS["cora"], target=toy_data)
    monkeypatch.setitem(DATASETS._entries, "cora", entry)
    with pytest.raises(GraphError, match=r"cora is damaged: expected .*2708.*, got .*'nodes': 20"):
        load_graph("cora")


def test_statistics_count_a_directed_edge_by_itself() -> None:
    directed = toy_data(num_nodes=9, num_edges=11, directed=True, num_features=None)
    assert statistics(directed) == {"nodes": 9, "edges": 11, "features": 0, "classes": 2}
    undirected = toy_data(num_nodes=9, num_edges=11, num_features=4)
    assert statistics(undirected) == {"nodes": 9, "edges": 11, "features": 4, "classes": 2}


@pytest.fixture
def planetoid(shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Data:
    """Cora as PyG reads it from Planetoid's own files, without the network."""

    def refuse(*_: object) -> None:
        raise AssertionError("the files are all there: nothing is to be downloaded")

    folder = shared_data / "Planetoid" / "Cora"
    if not folder.is_dir():
        pytest.skip("Planetoid's files of Cora are not there")
    shutil.copytree(folder, tmp_path / "Cora")
    monkeypatch.setattr(socket.socket, "connect", refuse)
    return Planetoid(root=str(tmp_path), name="Cora")[0]


def test_cora_equals_planetoids(cora: Data, planetoid: Data) -> None:
    assert planetoid.edge_index is not None
    source, target = planetoid.edge_index
    order = torch.argsort(target * 2708 + source)
    assert torch.equal(cora.edge_index, planetoid.edge_index[:, order])
    for field in ("x", "y", "train_mask", "val_mask", "test_mask"):
        assert torch.equal(cora[field], planetoid[field]), field


PAPER = {
    "cora": (2708, 5278, 1433, 7),
    "citeseer": (3327, 4552, 3703, 6),
    "pubmed": (19717, 44324, 500, 3),
    "ogbl-ddi": (4267, 1334889, 0, 0),
    "ogbl-collab": (235868, 1285465, 128, 0),
    "ogbl-ppa": (576289, 30326273, 58, 0),
    "ogbn-arxiv": (169343, 1157799, 128, 40),
    "ogbn-proteins": (132534, 39561252, 8, 112),
}
OTHERS = {
    "amazon-photo": (7650, 119081, 745, 8),
    "amazon-computers": (13752, 245861, 767, 10),
    "coauthor-cs": (18333, 81894, 6805, 15),
    "coauthor-physics": (34493, 247962, 8415, 5),
    "blogcatalog": (5196, 171743, 8189, 6),
}


def test_the_catalogue_lists_the_datasets_of_the_paper_and_five_more() -> None:
    listed = {entry.name: tuple(entry.extras["statistics"].values()) for entry in DATASETS}
    assert list(listed.items()) == list((PAPER | OTHERS).items())
    assert [entry.name for entry in DATASETS if entry.extras["on_paper"]] == list(PAPER)


@pytest.mark.parametrize("name", PAPER | OTHERS)
def test_every_dataset_says_what_it_is_for_and_whose_it_is(name: str) -> None:
    entry = DATASETS[name]
    assert entry.summary
    assert entry.paper
    assert entry.extras["license"]
    only = {"ogbl": ("links",), "ogbn": ("nodes",)}
    assert entry.extras["tasks"] == only.get(name[:4], ("links", "nodes"))
    assert entry.extras["split"] == ("official" if name in PAPER else None)


@pytest.mark.parametrize(
    ("name", "hits", "monitor"),
    [
        ("ogbl-ddi", (20, 30), "hits@20"),
        ("ogbl-collab", (50, 100), "hits@50"),
        ("ogbl-ppa", (10, 50, 100), "hits@100"),
    ],
)
def test_link_datasets_of_ogb_bring_their_metric(
    name: str, hits: tuple[int, ...], monitor: str
) -> None:
    extras = DATASETS[name].extras
    assert (extras["hits"], extras["monitor"]) == (hits, monitor)
    assert extras.get("val_edges_at_test", False) == (name == "ogbl-collab")


def test_an_embedded_dataset_is_always_there() -> None:
    assert catalogue.dataset_state("cora") == "embedded"
    assert (catalogue.fetch("cora") / "cora.npz").is_file()


def test_statistics_count_all_three_parts_of_an_official_split() -> None:
    graph = toy_data(num_nodes=9, num_edges=11, num_features=None)
    graph.val_edges, graph.test_edges = torch.zeros(2, 3).long(), torch.zeros(2, 2).long()
    assert statistics(graph)["edges"] == 16
    graph.num_train_edges = 12  # one pair was listed twice
    assert statistics(graph)["edges"] == 17


def test_classes_are_labels_where_a_node_has_many() -> None:
    graph = toy_data(num_nodes=9, num_edges=11)
    graph.y = torch.zeros(9, 112)
    assert statistics(graph)["classes"] == 112
