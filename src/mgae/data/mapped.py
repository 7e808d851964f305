"""Keep a graph's arrays in memory-mapped files: memory holds only what is in use."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace
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
from mgae.data.growing import GrowingArray, chunks

# What is computed from the edges: as large as they are, so it has files of its own.
_DERIVED = ("edge_keys", "pair_of_edge", "pairs")
_OPTIONAL = ("edge_weight", "side", "triples", "node_type", "edge_attr", "known_negatives")


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
        graph = MessageGraph(
            edge_index, num_nodes, x, undirected=undirected, in_files=True, **optional
        )
        # A cached property looks here first, and does not compute what the files have.
        vars(graph).update({name: arrays[name] for name in _DERIVED})
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise GraphError(f"the mapped graph in {folder} is damaged: {error}") from None
    return graph


def in_files(graph: MessageGraph) -> MessageGraph:
    """Return the same graph with arrays mapped from temporary files in the cache.

    If the cache cannot be written to, the graph is returned as it is.
    """
    if graph.in_files:
        return graph
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        # Mapped files stay readable after they are removed, so a killed run leaves nothing.
        with TemporaryDirectory(dir=cache_folder(), ignore_cleanup_errors=True) as folder:
            write_mapped(graph, Path(folder))
            return mapped_graph(Path(folder))
    except OSError:
        return graph


def without_pairs(graph: MessageGraph, gone: Tensor) -> MessageGraph:
    """Return the graph without the pairs where ``gone`` [E] is true.

    That of a graph in files is in temporary files as well.
    """
    if not graph.in_files:
        return graph.only(~gone[graph.pair_of_edge])
    cache_folder().mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=cache_folder(), ignore_cleanup_errors=True) as folder:
        _write_without(graph, gone.numpy(), Path(folder))
        rest = mapped_graph(Path(folder))
    whole = {name: getattr(graph, name) for name in ("x", "side", "triples", "node_type")}
    changed = replace(rest, **whole)
    vars(changed).update({name: vars(rest)[name] for name in _DERIVED})
    return changed


def _write_without(graph: MessageGraph, gone: np.ndarray, folder: Path) -> None:
    """Write the arrays of the edges that stay, some edges at a time."""
    edge_index, of_edge, keys = (
        getattr(graph, name).numpy() for name in ("edge_index", "pair_of_edge", "edge_keys")
    )
    pairs, number = graph.pairs.numpy(), np.cumsum(~gone) - 1
    names = ["edge_index", *_DERIVED, *(["edge_weight"] if graph.edge_weight is not None else [])]
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(
                GrowingArray(
                    folder / f"{name}.npy",
                    np.float32 if name == "edge_weight" else np.int64,
                    2 if name in ("edge_index", "pairs") else 1,
                )
            )
            for name in names
        }
        for part in chunks(len(gone)):
            files["pairs"].append(*pairs[:, part][:, ~gone[part]])
        for part in chunks(keys.size):
            kept = ~gone[of_edge[part]]
            files["edge_index"].append(*edge_index[:, part][:, kept])
            files["edge_keys"].append(keys[part][kept])
            files["pair_of_edge"].append(number[of_edge[part][kept]])
            if graph.edge_weight is not None:
                files["edge_weight"].append(graph.edge_weight.numpy()[part][kept])
    facts = {"num_nodes": graph.num_nodes, "num_features": 0, "undirected": graph.undirected}
    write_json(folder / "graph.json", {**facts, "arrays": names})


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
