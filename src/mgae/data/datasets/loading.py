"""A named dataset as a checked graph, and what is counted of a graph."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mgae.core.errors import GraphError
from mgae.data.checks import checked
from mgae.data.datasets.sources import Source, obtain
from mgae.data.fields import GraphFields, as_data
from mgae.registry import DATASETS, Entry

if TYPE_CHECKING:
    from torch_geometric.data import Data


def load_graph(name: str, *, verify: bool = True) -> Data:
    """Return a dataset by its name as a ``Data``; the rest is as of `load_fields`."""
    return as_data(load_fields(name, verify=verify))


def load_fields(name: str, *, verify: bool = True) -> Data | GraphFields:
    """Return a dataset by its name, checked, with ``name`` and ``checksum``; fetch it if needed.

    ``verify=False`` accepts files with other contents, such as a small copy. A dataset with
    official links has only its training edges in ``edge_index``, and the others in ``val_edges``,
    ``test_edges``, ``val_negatives`` and ``test_negatives`` [2, n].

    Raises:
        UnknownName: if there is no such dataset.
        GraphError: if it cannot be obtained, or is not what the catalogue describes.
    """
    entry = DATASETS[name]
    graph, remedy = _read(entry, verify)
    graph = checked(graph)
    graph.name = name
    graph.class_names = entry.extras.get("class_names")
    actual = statistics(graph)
    expected = entry.extras.get("statistics", actual)
    if verify and actual != expected:
        raise GraphError(f"{name} is damaged: expected {expected}, got {actual}: {remedy}")
    return graph


def statistics(graph: Data | GraphFields) -> dict[str, int]:
    """Count the nodes, edges (an undirected one once), features and classes of a checked graph.

    Edges of all three parts count; if a node has many labels, the classes are these labels.
    """
    edges = graph.edge_index.size(1) // (2 if graph.undirected else 1)
    if graph.get("val_edges") is not None:
        # As published: ogbl-collab lists a pair once for each year.
        edges = graph.get("num_train_edges") or edges
        edges += graph.val_edges.size(1) + graph.test_edges.size(1)
    classes = 0
    if graph.y is not None:
        classes = int(graph.y.size(1)) if graph.y.dim() == 2 else int(graph.y.max()) + 1
    features = 0 if graph.x is None else graph.x.size(1)
    nodes = int(graph.num_nodes or 0)
    return {"nodes": nodes, "edges": edges, "features": features, "classes": classes}


def _read(entry: Entry, verify: bool) -> tuple[Data | GraphFields, str]:
    """Return the graph of a dataset's files, and what to do if it is not the right one."""
    source: Source | None = entry.extras.get("source")
    if source is None:
        return entry.build(), "reinstall mgae"
    if not verify:
        source = replace(source, files=dict.fromkeys(source.files))
    files = obtain(entry.name, source)
    graph: Data | GraphFields = entry.build(files.folder, **entry.extras.get("arguments", {}))
    graph.checksum = files.checksum
    return graph, f"replace {files.folder}"
