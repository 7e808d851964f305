"""The named datasets, each with the statistics that it must have once loaded."""

from __future__ import annotations

import hashlib
from importlib import resources

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from mgae.errors import GraphError
from mgae.graphs.checks import checked
from mgae.registry import DATASETS

_CORA_SHA256 = "d2c87ddab3c3d0b57adc69f0268d420ada5c7ece8b4a89d82ae4b5e746912365"


def load_graph(name: str) -> Data:
    """A dataset by its name, checked, with ``name`` and ``checksum`` set.

    Raises:
        UnknownName: where there is no such dataset.
        GraphError: where what was loaded is not what the catalogue describes.
    """
    entry = DATASETS[name]
    graph = checked(entry.build())
    graph.name = name
    found = statistics(graph)
    if found != entry.extras["statistics"]:
        raise GraphError(f"{name} is damaged: expected {entry.extras['statistics']}, got {found}")
    return graph


def statistics(graph: Data) -> dict[str, int]:
    """Nodes, edges (an undirected one counts once), features and classes of a checked graph."""
    edges = graph.edge_index.size(1)
    return {
        "nodes": int(graph.num_nodes or 0),
        "edges": edges // 2 if graph.undirected else edges,
        "features": 0 if graph.x is None else graph.x.size(1),
        "classes": 0 if graph.y is None else int(graph.y.max()) + 1,
    }


@DATASETS.register(
    "cora",
    summary="citations among machine-learning papers, bag-of-words features",
    paper="Sen et al., Collective Classification in Network Data, 2008",
    statistics={"nodes": 2708, "edges": 5278, "features": 1433, "classes": 7},
    state="embedded",
    on_paper=True,
)
def _cora() -> Data:
    file = resources.files("mgae.graphs") / "embedded" / "cora.npz"
    checksum = hashlib.sha256(file.read_bytes()).hexdigest()
    if checksum != _CORA_SHA256:
        raise GraphError(f"the embedded cora.npz is damaged (sha256 {checksum}): reinstall mgae")
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        graph = _planetoid_graph({name: arrays[name] for name in arrays.files})
    graph.checksum = checksum
    return graph


def _planetoid_graph(arrays: dict[str, np.ndarray]) -> Data:
    num_nodes = len(arrays["y"])
    x = torch.zeros(num_nodes, 1433)
    row = np.repeat(np.arange(num_nodes), np.diff(arrays["feature_indptr"]))
    x[torch.from_numpy(row), torch.from_numpy(arrays["feature_indices"].astype(np.int64))] = 1.0
    edges = torch.from_numpy(arrays["edges"].astype(np.int64))
    graph = Data(
        x=x,
        edge_index=to_undirected(edges, num_nodes=num_nodes),
        y=torch.from_numpy(arrays["y"].astype(np.int64)),
        node_ids=arrays["paper_ids"].tolist(),
    )
    for part in ("train", "val", "test"):
        mask = torch.zeros(num_nodes, dtype=torch.bool)
        mask[torch.from_numpy(arrays[f"{part}_nodes"].astype(np.int64))] = True
        graph[f"{part}_mask"] = mask
    return graph
