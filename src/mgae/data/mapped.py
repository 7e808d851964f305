"""Keep a graph's arrays in memory-mapped files: memory holds only what is in use."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mgae.core.errors import GraphError
from mgae.core.graph import MessageGraph
from mgae.core.ops.sparse import Pattern, SparseMatrix
from mgae.data.atomic import write_atomically, write_json
from mgae.data.datasets.sources import cache_folder

# What is computed from the edges: as large as they are, so it has files of its own.
_DERIVED = ("edge_keys", "pair_of_edge", "pairs")
_OPTIONAL = ("edge_weight", "side", "triples", "node_type", "edge_attr")


def write_mapped(graph: MessageGraph, folder: Path) -> None:
    """Write every array of a graph into ``folder``, a .npy file each; the facts come last."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "graph.json").unlink(missing_ok=True)
    arrays = {name: getattr(graph, name) for name in ("edge_index", *_DERIVED)}
    arrays |= {name: getattr(graph, name) for name in _OPTIONAL} | _feature_arrays(graph.x)
    names = [name for name, array in arrays.items() if array is not None]
    for name in names:
        write_atomically(folder / f"{name}.npy", partial(_write_array, arrays[name]))
    facts = {name: getattr(graph, name) for name in ("num_nodes", "num_features", "undirected")}
    write_json(folder / "graph.json", {**facts, "arrays": names})


def mapped_graph(folder: Path) -> MessageGraph:
    """Return the graph that `write_mapped` wrote; writing to its tensors keeps the files.

    Raises:
        GraphError: if a file is missing or damaged.
    """
    try:
        facts = json.loads((folder / "graph.json").read_text(encoding="utf-8"))
        # "c": torch wants memory that it might write to; a written page becomes the process's own.
        arrays = {
            name: torch.from_numpy(np.load(folder / f"{name}.npy", "c", allow_pickle=False))
            for name in facts["arrays"]
        }
        num_nodes, edge_index = facts["num_nodes"], arrays["edge_index"]
        optional: dict[str, Any] = {name: arrays.get(name) for name in _OPTIONAL}
        x, undirected = _features(arrays, facts), facts["undirected"]
        graph = MessageGraph(edge_index, num_nodes, x, undirected=undirected, **optional)
        # A cached property looks here first, and does not compute what the files have.
        vars(graph).update({name: arrays[name] for name in _DERIVED})
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise GraphError(f"the mapped graph in {folder} is damaged: {error}") from None
    return graph


def in_files(graph: MessageGraph) -> MessageGraph:
    """Return the same graph with arrays mapped from temporary files in the cache.

    If the cache cannot be written to, the graph is returned as it is.
    """
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        # Mapped files stay readable after they are removed, so a killed run leaves nothing.
        with TemporaryDirectory(dir=cache_folder(), ignore_cleanup_errors=True) as folder:
            write_mapped(graph, Path(folder))
            return mapped_graph(Path(folder))
    except OSError:
        return graph


def _write_array(array: Tensor, path: Path) -> None:
    with path.open("wb") as stream:
        np.save(stream, array.contiguous().numpy())


def _feature_arrays(x: Tensor | SparseMatrix | None) -> dict[str, Tensor | None]:
    if isinstance(x, SparseMatrix):
        return {"x_rowptr": x.pattern.rowptr, "x_col": x.pattern.col, "x_values": x.values}
    return {"x": x}


def _features(arrays: dict[str, Tensor], facts: dict[str, Any]) -> Tensor | SparseMatrix | None:
    if "x_values" not in arrays:
        return arrays.get("x")
    shape = (facts["num_nodes"], facts["num_features"])
    return SparseMatrix(Pattern(arrays["x_rowptr"], arrays["x_col"], shape), arrays["x_values"])
