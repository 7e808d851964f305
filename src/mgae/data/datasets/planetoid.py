"""Read Planetoid's citation networks: from its files, and Cora from an embedded copy."""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mgae.core.errors import GraphError
from mgae.data.datasets.pickles import read_pickle
from mgae.data.fields import GraphFields, index_to_mask

_PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
_NUM_VAL = 500  # the public split: the nodes that follow the labeled ones
_CORA_SHA256 = "d2c87ddab3c3d0b57adc69f0268d420ada5c7ece8b4a89d82ae4b5e746912365"


def read_planetoid(folder: Path, name: str) -> GraphFields:
    """Return a network from Planetoid's eight files, with the public split as masks [num_nodes].

    Raises:
        GraphError: if a file is damaged, or they do not belong together.
    """
    files = {part: folder / f"ind.{name.lower()}.{part}" for part in _PARTS}
    try:
        test = np.loadtxt(files.pop("test.index"), dtype=np.int64, ndmin=1)
        parts = {part: read_pickle(file) for part, file in files.items()}
        return _network(parts, test)
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise GraphError(f"the files in {folder} do not belong together: {error}") from None


def _network(parts: dict[str, Any], test: np.ndarray) -> GraphFields:
    # Test nodes without an edge are missing in CiteSeer's files; they stay zero, of class 0.
    num_nodes = max(int(test.max()) + 1, parts["allx"].shape[0])
    x = _ordered_rows(parts["allx"].toarray(), parts["tx"].toarray(), test, num_nodes)
    y = _ordered_rows(parts["ally"], parts["ty"], test, num_nodes)
    neighbors = parts["graph"]
    source = np.repeat(list(neighbors), [len(nodes) for nodes in neighbors.values()])
    target = np.concatenate([np.asarray(nodes, np.int64) for nodes in neighbors.values()])
    num_train = len(parts["y"])
    graph = GraphFields(
        x=torch.from_numpy(x),
        edge_index=torch.from_numpy(np.stack([source.astype(np.int64), target])),
        y=torch.from_numpy(y.argmax(axis=1)),
        num_nodes=num_nodes,
    )
    val = np.arange(num_train, num_train + _NUM_VAL)
    return _with_masks(graph, np.arange(num_train), val, test)


def _ordered_rows(
    others: np.ndarray, test_rows: np.ndarray, test: np.ndarray, num_nodes: int
) -> np.ndarray:
    """Return the rows in the order of the nodes: [num_nodes, columns]."""
    rows = np.zeros((num_nodes, others.shape[1]), dtype=np.float32)
    rows[: len(others)] = others
    rows[test] = test_rows
    return rows


def _with_masks(graph: GraphFields, *parts: np.ndarray) -> GraphFields:
    for name, nodes in zip(("train", "val", "test"), parts, strict=True):
        index = torch.from_numpy(nodes.astype(np.int64))
        graph[f"{name}_mask"] = index_to_mask(index, int(graph.num_nodes or 0))
    return graph


def read_cora() -> GraphFields:
    """Return Cora, embedded in this package, in Planetoid's order and with its public split.

    Raises:
        GraphError: if the file is not the one that was packaged.
    """
    file = resources.files("mgae.data.datasets") / "embedded" / "cora.npz"
    checksum = hashlib.sha256(file.read_bytes()).hexdigest()
    if checksum != _CORA_SHA256:
        raise GraphError(f"the embedded cora.npz is damaged (sha256 {checksum}): reinstall mgae")
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        num_nodes = len(arrays["y"])
        x = torch.zeros(num_nodes, 1433)
        row = np.repeat(np.arange(num_nodes), np.diff(arrays["feature_indptr"]))
        x[torch.from_numpy(row), torch.from_numpy(arrays["feature_indices"].astype(np.int64))] = 1.0
        edges = torch.from_numpy(arrays["edges"].astype(np.int64))
        graph = GraphFields(
            x=x,
            edge_index=torch.cat([edges, edges.flip(0)], dim=1),
            y=torch.from_numpy(arrays["y"].astype(np.int64)),
            node_ids=arrays["paper_ids"].tolist(),
            num_nodes=num_nodes,
            checksum=checksum,
        )
        return _with_masks(graph, *(arrays[f"{part}_nodes"] for part in ("train", "val", "test")))
