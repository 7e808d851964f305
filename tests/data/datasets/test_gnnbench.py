from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from torch_geometric.io import read_npz

from mgae.core.errors import GraphError
from mgae.data import checked, load_graph
from mgae.data.datasets.catalogue import dataset_state
from mgae.data.datasets.gnnbench import read_gnnbench
from mgae.data.datasets.loading import statistics
from mgae.registry import DATASETS

NAMES = ("amazon-photo", "amazon-computers", "coauthor-cs", "coauthor-physics")


def toy_arrays() -> dict[str, Any]:
    """Five nodes: edges in one direction, twice, a self-loop; counts of words; names as objects."""
    adjacency = csr_matrix(
        ([1.0, 1.0, 1.0, 1.0, 1.0], ([0, 1, 1, 2, 3], [1, 0, 2, 2, 1])), shape=(5, 5)
    )
    words = csr_matrix(np.array([[2, 0], [0, 1], [0, 0], [3, 1], [0.5, 0]], dtype=np.float32))
    arrays: dict[str, Any] = {"labels": np.array([0, 1, 2, 1, 0])}
    for name, matrix in (("adj", adjacency), ("attr", words)):
        arrays |= {f"{name}_{key}": getattr(matrix, key) for key in ("data", "indices", "indptr")}
        arrays[f"{name}_shape"] = matrix.shape
    return arrays | {"node_names": np.array(["a", "b", "c", "d", None], dtype=object)}


def write(folder: Path, file: str, **changes: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / file, **{**toy_arrays(), **changes})
    return folder


def test_a_network_is_read_by_hand(tmp_path: Path) -> None:
    graph = checked(read_gnnbench(write(tmp_path, "toy.npz"), "toy.npz"))
    assert graph.x.tolist() == [[1, 0], [0, 1], [0, 0], [1, 1], [1, 0]]
    assert graph.y.tolist() == [0, 1, 2, 1, 0]
    assert graph.edge_index.tolist() == [[1, 0, 2, 3, 1, 1], [0, 1, 1, 1, 2, 3]]
    assert graph.undirected
    assert statistics(graph) == {"nodes": 5, "edges": 3, "features": 2, "classes": 3}


def test_a_network_is_read_as_pyg_reads_it(tmp_path: Path) -> None:
    folder = write(tmp_path, "toy.npz")
    graph, pyg = checked(read_gnnbench(folder, "toy.npz")), read_npz(str(folder / "toy.npz"))
    assert pyg.edge_index is not None
    order = torch.argsort(pyg.edge_index[1] * 5 + pyg.edge_index[0])
    assert torch.equal(graph.edge_index, pyg.edge_index[:, order])
    assert torch.equal(graph.x, pyg.x)
    assert torch.equal(graph.y, pyg.y)


@pytest.mark.parametrize("name", NAMES)
def test_the_catalogue_finds_the_file_in_pygs_layout(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MGAE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MGAE_DATA", str(tmp_path))
    assert dataset_state(name) == "can be fetched"
    source = DATASETS[name].extras["source"]
    write(tmp_path / source.folder, *source.files)
    assert dataset_state(name) == "mirror"
    graph = load_graph(name, verify=False)
    assert graph.num_nodes == 5
    assert graph.name == name
    with pytest.raises(GraphError, match=rf"{name} is damaged: expected .*, got .*'nodes': 5"):
        load_graph(name)


PLACES = (
    "Amazon/Photo/raw/amazon_electronics_photo.npz",
    "Amazon/Computers/raw/amazon_electronics_computers.npz",
    "Coauthor/CS/raw/ms_academic_cs.npz",
    "Coauthor/Physics/raw/ms_academic_phy.npz",
)


@pytest.mark.parametrize(("name", "path"), list(zip(NAMES, PLACES, strict=True)))
def test_files_lie_where_pyg_puts_them(name: str, path: str) -> None:
    source = DATASETS[name].extras["source"]
    assert [f"{source.folder}/{file}" for file in source.files] == [path]


CROOKED = {
    "labels as objects": {"labels": np.array([0, None, 1, 1, 0], dtype=object)},
    "words for labels": {"labels": np.array(["a", "b", "c", "d", "e"])},
    "an index out of range": {"adj_indices": np.array([1, 0, 2, 99, 1])},
    "a shape that is too small": {"attr_shape": np.array([2, 2])},
}


@pytest.mark.parametrize("change", CROOKED.values(), ids=CROOKED)
def test_a_crooked_file_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    folder = write(tmp_path, "toy.npz", **change)
    with pytest.raises(GraphError, match=r"cannot read .*toy\.npz: \S"):
        read_gnnbench(folder, "toy.npz")


def test_a_file_without_labels_is_refused(tmp_path: Path) -> None:
    arrays = toy_arrays()
    del arrays["labels"]
    np.savez(tmp_path / "toy.npz", **arrays)
    with pytest.raises(GraphError, match="labels"):
        read_gnnbench(tmp_path, "toy.npz")


@pytest.mark.parametrize("kept", [0, 10, 500, -30])
def test_a_cut_off_file_is_refused(tmp_path: Path, kept: int) -> None:
    path = write(tmp_path, "toy.npz") / "toy.npz"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(GraphError, match=r"cannot read .*toy\.npz"):
        read_gnnbench(tmp_path, "toy.npz")
