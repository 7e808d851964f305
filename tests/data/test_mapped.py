from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from mgae.core.errors import GraphError
from mgae.core.ops.sparse import SparseMatrix
from mgae.data import MessageGraph, checked
from mgae.data.mapped import in_files, mapped_graph, write_mapped
from mgae.runs.config import RunConfig
from mgae.runs.trial import Trial
from tests.conftest import QUICK, toy_data, toy_graph

ARRAYS = ("edge_index", "edge_keys", "pair_of_edge", "pairs")


def sparse_graph() -> MessageGraph:
    edges = torch.tensor([[0, 1, 2, 1], [1, 0, 1, 2]])
    x = torch.zeros(3, 20)
    x[0, 3], x[2, 19] = 1.5, 2.5
    return MessageGraph.of(checked(Data(x=x, edge_index=edges, num_nodes=3)))


def dense(x: Tensor | SparseMatrix | None) -> Tensor | None:
    return x.csr().to_dense() if isinstance(x, SparseMatrix) else x


@pytest.mark.parametrize(
    "graph",
    [
        toy_graph(),
        toy_graph(weighted=True),
        toy_graph(directed=True),
        toy_graph(num_features=None),
        sparse_graph(),
    ],
)
def test_a_mapped_graph_is_the_graph_that_was_written(graph: MessageGraph, tmp_path: Path) -> None:
    write_mapped(graph, tmp_path)
    mapped = mapped_graph(tmp_path)
    assert (mapped.num_nodes, mapped.undirected) == (graph.num_nodes, graph.undirected)
    assert mapped.num_features == graph.num_features
    assert type(mapped.x) is type(graph.x)
    assert all(torch.equal(getattr(mapped, name), getattr(graph, name)) for name in ARRAYS)
    for left, right in ((mapped.edge_weight, graph.edge_weight), (dense(mapped.x), dense(graph.x))):
        assert (left is None) == (right is None)
        assert left is None or right is None or torch.equal(left, right)


def test_nothing_as_large_as_the_edges_is_computed(tmp_path: Path) -> None:
    write_mapped(toy_graph(), tmp_path)
    assert set(ARRAYS) <= vars(mapped_graph(tmp_path)).keys()


def test_fewer_edges_are_counted_anew(tmp_path: Path) -> None:
    graph = toy_graph()
    write_mapped(graph, tmp_path)
    kept = graph.pair_of_edge != 3
    fewer = mapped_graph(tmp_path).only(kept)
    assert torch.equal(fewer.edge_keys, graph.only(kept).edge_keys)
    assert torch.equal(fewer.pairs, graph.only(kept).pairs)


def test_writing_to_a_tensor_leaves_the_file_alone(tmp_path: Path) -> None:
    graph = toy_graph()
    write_mapped(graph, tmp_path)
    mapped_graph(tmp_path).edge_index[0, 0] = 19
    assert torch.equal(mapped_graph(tmp_path).edge_index, graph.edge_index)


def test_a_folder_can_be_written_anew(tmp_path: Path) -> None:
    write_mapped(toy_graph(weighted=True), tmp_path)
    write_mapped(toy_graph(num_features=None), tmp_path)
    mapped = mapped_graph(tmp_path)
    assert mapped.x is None
    assert mapped.edge_weight is None


@pytest.mark.parametrize("name", ["graph.json", "edge_index.npy", "pairs.npy", "x.npy"])
def test_a_missing_file_is_one_line(name: str, tmp_path: Path) -> None:
    write_mapped(toy_graph(), tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(GraphError, match=r"the mapped graph in .* is damaged: .*" + name):
        mapped_graph(tmp_path)


@pytest.mark.parametrize("content", [b"", b"no array", b"\x93NUMPY\x01\x00"])
def test_a_damaged_file_is_one_line(content: bytes, tmp_path: Path) -> None:
    write_mapped(toy_graph(), tmp_path)
    (tmp_path / "pairs.npy").write_bytes(content)
    with pytest.raises(GraphError, match="is damaged") as error:
        mapped_graph(tmp_path)
    assert "\n" not in str(error.value)


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    write_mapped(toy_graph(), tmp_path)
    np.save(tmp_path / "pairs.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(GraphError, match="is damaged"):
        mapped_graph(tmp_path)


def test_rows_lie_together_in_the_file_however_they_lay_before(tmp_path: Path) -> None:
    graph = toy_graph()
    turned = MessageGraph(graph.edge_index.t().contiguous().t(), graph.num_nodes)
    write_mapped(turned, tmp_path)
    assert mapped_graph(tmp_path).edge_index[1].is_contiguous()


def test_a_graph_in_files_is_the_same_and_leaves_none_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MGAE_CACHE", str(tmp_path / "cache"))
    graph = toy_graph(weighted=True)
    mapped = in_files(graph)
    assert list((tmp_path / "cache").iterdir()) == []
    for name in ("edge_index", "edge_weight", "pairs", "pair_of_edge", "edge_keys"):
        assert torch.equal(getattr(mapped, name), getattr(graph, name))


def test_without_a_writable_cache_the_graph_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("MGAE_CACHE", str(tmp_path / "file" / "cache"))
    graph = toy_graph()
    assert in_files(graph) is graph


def test_a_sampled_trial_trains_from_files_and_finds_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MGAE_CACHE", str(tmp_path))
    config = RunConfig(
        graph="toy",
        method=QUICK,
        train={"fanouts": (3, 3), "epochs": 2, "step_size": 10},
        split={"val_ratio": 0.2},
    )
    data = toy_data(num_edges=80)
    mapped = Trial(config, data, MessageGraph.of(data))
    monkeypatch.setattr("mgae.runs.trial.in_files", lambda graph: graph)
    plain = Trial(config, data, MessageGraph.of(data))
    assert mapped.fit() == plain.fit()
    assert mapped.split.message is not plain.split.message
