from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from torch_geometric.data import Data
from torch_geometric.datasets import Planetoid
from torch_geometric.io import read_planetoid_data

from mgae.core.errors import GraphError
from mgae.data import checked, load_graph
from mgae.data.datasets.catalogue import fetch
from mgae.data.datasets.planetoid import read_planetoid
from mgae.registry import DATASETS

FIELDS = ("x", "y", "train_mask", "val_mask", "test_mask")
TEST = [513, 510, 511]  # in the order of tx; node 512 has no row, as some in CiteSeer
NUM_REST, NUM_TRAIN = 510, 4


def toy_parts() -> dict[str, Any]:
    """A network of 514 nodes: 4 labeled, 500 for validation, 6 more, 4 in the test's range."""
    generator = np.random.default_rng(0)
    rest = generator.integers(0, 3, (NUM_REST, 5)).astype(np.float32)
    one_hot = np.eye(3, dtype=np.int32)[generator.integers(0, 3, NUM_REST)]
    graph = {node: [(node + 1) % 512, (node - 1) % 512] for node in range(512)}
    return {
        "x": csr_matrix(rest[:NUM_TRAIN]),
        "allx": csr_matrix(rest),
        "tx": csr_matrix(np.diag([13.0, 10.0, 11.0]) @ np.eye(3, 5)),
        "y": one_hot[:NUM_TRAIN],
        "ally": one_hot,
        "ty": np.eye(3, dtype=np.int32)[[2, 1, 2]],
        "graph": {**graph, 0: [1, 1, 511, 0], 513: [7], 7: [6, 8, 513], 512: []},
    }


def write(folder: Path, parts: dict[str, Any], name: str = "citeseer") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for part, value in parts.items():
        (folder / f"ind.{name}.{part}").write_bytes(pickle.dumps(value, 2))
    (folder / f"ind.{name}.test.index").write_text("".join(f"{node}\n" for node in TEST))
    return folder


def edges_of(data: Data) -> set[tuple[int, int]]:
    assert data.edge_index is not None
    return {(int(source), int(target)) for source, target in data.edge_index.t()}


def test_rows_of_the_test_come_to_their_nodes(tmp_path: Path) -> None:
    graph = checked(read_planetoid(write(tmp_path, toy_parts()), "CiteSeer"))
    assert graph.num_nodes == 514
    assert graph.x[510:].tolist() == [
        [0.0, 10.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 11.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [13.0, 0.0, 0.0, 0.0, 0.0],
    ]
    assert graph.y[510:].tolist() == [1, 2, 0, 2]


def test_the_public_split_is_as_planetoid_has_it(tmp_path: Path) -> None:
    graph = read_planetoid(write(tmp_path, toy_parts()), "CiteSeer")
    assert graph.train_mask.nonzero().flatten().tolist() == [0, 1, 2, 3]
    assert graph.val_mask.nonzero().flatten().tolist() == list(range(4, 504))
    assert graph.test_mask.nonzero().flatten().tolist() == [510, 511, 513]


def test_a_toy_network_is_read_as_pyg_reads_it(tmp_path: Path) -> None:
    folder = write(tmp_path, toy_parts())
    graph = checked(read_planetoid(folder, "CiteSeer"))
    pyg = read_planetoid_data(str(folder), "citeseer")
    assert edges_of(graph) == edges_of(pyg)
    assert (0, 0) not in edges_of(graph)
    assert graph.undirected
    for field in FIELDS:
        assert torch.equal(graph[field], pyg[field]), field


@pytest.mark.parametrize("name", ["CiteSeer", "PubMed"])
def test_real_networks_are_read_as_pyg_reads_them(
    name: str, shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(shared_data / "Planetoid" / name, tmp_path / name)
    pyg = Planetoid(root=str(tmp_path), name=name)[0]
    monkeypatch.setenv("MGAE_CACHE", str(tmp_path / "cache"))
    graph = load_graph(name.lower())
    num_nodes = graph.num_nodes
    assert pyg.edge_index is not None
    order = torch.argsort(pyg.edge_index[1] * num_nodes + pyg.edge_index[0])
    assert torch.equal(graph.edge_index, pyg.edge_index[:, order])
    assert graph.undirected
    assert graph.node_ids == list(range(num_nodes))
    for field in FIELDS:
        assert torch.equal(graph[field], pyg[field]), field


def test_coras_own_files_give_the_embedded_cora(shared_data: Path) -> None:
    graph = checked(read_planetoid(shared_data / "Planetoid" / "Cora" / "raw", "Cora"))
    embedded = load_graph("cora")
    for field in ("edge_index", *FIELDS):
        assert torch.equal(graph[field], embedded[field]), field


def test_citeseer_has_isolated_test_nodes_without_features(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MGAE_CACHE", str(tmp_path))
    graph = load_graph("citeseer")
    missing = ~graph.test_mask[2312:]
    assert int(missing.sum()) == 15
    assert float(graph.x[2312:][missing].abs().sum()) == 0.0
    assert int(graph.x.count_nonzero()) == 105_165
    assert fetch("citeseer") == shared_data / "Planetoid" / "CiteSeer" / "raw"


def test_every_file_has_its_sum(shared_data: Path) -> None:
    listed = dict(
        reversed(line.split()) for line in (shared_data / "README.md").read_text().splitlines()
        if len(line.split()) == 2 and len(line.split()[0]) == 64
    )  # fmt: skip
    for name in ("CiteSeer", "PubMed"):
        source = DATASETS[name.lower()].extras["source"]
        assert source.files == {
            path.rpartition("/")[2]: sha256
            for path, sha256 in listed.items()
            if path.startswith(f"{source.folder}/")
        }


CROOKED = {
    "a row of features too few": {"tx": csr_matrix(np.eye(2, 5))},
    "other features": {"tx": csr_matrix(np.eye(3, 4))},
    "dense features": {"allx": np.ones((NUM_REST, 5))},
    "a list for a graph": {"graph": [1, 2]},
    "words for nodes": {"graph": {0: ["one"]}},
    "no edges": {"graph": {}},
    "labels in one column": {"ally": np.ones(NUM_REST)},
    "too few nodes for the split": {"y": np.eye(3)[[0] * 100]},
}


@pytest.mark.parametrize("change", CROOKED.values(), ids=CROOKED)
def test_files_that_do_not_belong_together_are_refused(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    folder = write(tmp_path, {**toy_parts(), **change})
    with pytest.raises(GraphError, match=r"the files in .* do not belong together: \S"):
        read_planetoid(folder, "CiteSeer")


def test_an_index_that_is_no_number_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, toy_parts())
    (folder / "ind.citeseer.test.index").write_text("one\n")
    with pytest.raises(GraphError, match="do not belong together"):
        read_planetoid(folder, "CiteSeer")


def test_a_pickle_with_other_contents_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, {**toy_parts(), "graph": Path("elsewhere")})
    with pytest.raises(GraphError, match=r"cannot read .*graph: it names pathlib\.\w+"):
        read_planetoid(folder, "CiteSeer")
