"""A named dataset, from the place where it is to a checked graph."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from pathlib import Path

from torch_geometric.data import Data

from mgae.core.errors import GraphError
from mgae.data.checks import checked
from mgae.data.datasets.downloads import Progress
from mgae.data.datasets.named import DATASETS
from mgae.data.datasets.sources import Source, obtain, state
from mgae.registry import Entry


def load_graph(name: str, *, verify: bool = True) -> Data:
    """A dataset by its name, checked, with ``name`` and ``checksum`` set; fetched if need be.

    ``verify=False`` takes the files for what they are, as for a small copy with other contents.
    A dataset with official links has its training edges alone in ``edge_index``, and the others
    in ``val_edges``, ``test_edges``, ``val_negatives`` and ``test_negatives`` [2, n].

    Raises:
        UnknownName: where there is no such dataset.
        GraphError: where it cannot be had, or is not what the catalogue describes.
    """
    entry = DATASETS[name]
    graph, remedy = _read(entry, verify)
    graph = checked(graph)
    graph.name = name
    expected, found = entry.extras["statistics"], statistics(graph)
    if verify and found != expected:
        raise GraphError(f"{name} is damaged: expected {expected}, got {found}: {remedy}")
    return graph


def fetch(name: str, on_progress: Progress | None = None) -> Path:
    """Make a dataset's files available, and say in which folder they are.

    ``on_progress`` gets a file's name, the bytes that are there and those expected, if known.

    Raises:
        UnknownName: where there is no such dataset.
        GraphError: where it cannot be had.
    """
    source = DATASETS[name].extras.get("source")
    return obtain(name, source, on_progress).folder if source else _embedded()


def dataset_state(name: str) -> str:
    """``embedded``, ``cached``, ``mirror`` (in the folder MGAE_DATA) or ``can be fetched``."""
    source = DATASETS[name].extras.get("source")
    return state(source) if source else "embedded"


def statistics(graph: Data) -> dict[str, int]:
    """Nodes, edges (an undirected one counts once), features and classes of a checked graph.

    Edges of all three parts count; where a node has many labels, the classes are these labels.
    """
    edges = graph.edge_index.size(1) // (2 if graph.undirected else 1)
    if graph.get("val_edges") is not None:
        # As published: ogbl-collab lists a pair once for each year.
        edges = graph.get("num_train_edges") or edges
        edges += graph.val_edges.size(1) + graph.test_edges.size(1)
    return {
        "nodes": int(graph.num_nodes or 0),
        "edges": edges,
        "features": 0 if graph.x is None else graph.x.size(1),
        "classes": 0 if graph.y is None else _num_classes(graph),
    }


def _num_classes(graph: Data) -> int:
    return int(graph.y.size(1)) if graph.y.dim() == 2 else int(graph.y.max()) + 1


def _read(entry: Entry, verify: bool) -> tuple[Data, str]:
    """The graph as its files have it, and what to do where it is not the right one."""
    source: Source | None = entry.extras.get("source")
    if source is None:
        return entry.build(), "reinstall mgae"
    if not verify:
        source = replace(source, files=dict.fromkeys(source.files))
    files = obtain(entry.name, source)
    graph: Data = entry.build(files.folder)
    graph.checksum = files.checksum
    return graph, f"replace {files.folder}"


def _embedded() -> Path:
    return Path(str(resources.files("mgae.data.datasets") / "embedded"))
