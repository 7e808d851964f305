"""Read datasets of the Open Graph Benchmark from its files as they are published.

Their layout: ``raw/*.csv.gz`` without headers, ``split/<name>/{train,valid,test}`` as ``.pt``
(dictionaries of arrays) for links, as ``.csv.gz`` (node numbers) for nodes. ``mapping`` is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from pyarrow import csv
from torch import Tensor

from mgae.core.errors import GraphError
from mgae.data.datasets.pickles import read_tensors
from mgae.data.fields import GraphFields, index_to_mask

_PARTS = {"train": "train", "val": "valid", "test": "test"}
_COUNT = "raw/num-node-list.csv.gz"


def read_links(folder: Path, split: str) -> GraphFields:
    """Return a dataset for link prediction: the training edges, in both directions.

    ``val_edges``, ``test_edges``, ``val_negatives`` and ``test_negatives`` [2, n] are as
    published. A pair may be listed several times, with weights; ``num_train_edges`` counts all.

    Raises:
        GraphError: if a file is damaged or incomplete.
    """
    num_nodes = _num_nodes(folder)
    files = {part: folder / "split" / split / f"{name}.pt" for part, name in _PARTS.items()}
    parts = {part: read_tensors(file) for part, file in files.items()}
    train = _pairs(parts["train"], "edge", num_nodes, files["train"])
    graph = GraphFields(
        edge_index=_both_ways(train), num_nodes=num_nodes, num_train_edges=train.size(1)
    )
    if (folder / "raw/node-feat.csv.gz").exists():
        graph.x = torch.from_numpy(read_table(folder / "raw/node-feat.csv.gz", np.float32))
    for part in ("val", "test"):
        graph[f"{part}_edges"] = _pairs(parts[part], "edge", num_nodes, files[part])
        graph[f"{part}_negatives"] = _pairs(parts[part], "edge_neg", num_nodes, files[part])
    if "weight" in parts["train"]:
        graph.edge_weight = parts["train"]["weight"].flatten().float().repeat(2)
    return graph


def read_nodes(folder: Path, split: str) -> GraphFields:
    """Return a dataset for node classification: undirected, with the official split as masks.

    ``y`` is [num_nodes], or [num_nodes, labels] of 0 and 1 if a node has many. Without node
    features, ``x`` is each node's mean over the features of its edges.

    Raises:
        GraphError: if a file is damaged or does not fit the others.
    """
    raw, num_nodes = folder / "raw", _num_nodes(folder)
    edges = torch.from_numpy(read_table(raw / "edge.csv.gz", np.int64)).t()
    _check_range(edges, num_nodes, raw / "edge.csv.gz")
    if (raw / "node-feat.csv.gz").exists():
        x = torch.from_numpy(read_table(raw / "node-feat.csv.gz", np.float32))
    else:
        values = torch.from_numpy(read_table(raw / "edge-feat.csv.gz", np.float32))
        x = mean_over_edges(edges, values, num_nodes)
    y = torch.from_numpy(read_table(raw / "node-label.csv.gz", np.int64)).squeeze(1)
    graph = GraphFields(x=x, edge_index=_both_ways(edges), y=y, num_nodes=num_nodes)
    for part, name in _PARTS.items():
        path = folder / "split" / split / f"{name}.csv.gz"
        nodes = torch.from_numpy(read_table(path, np.int64)).flatten()
        graph[f"{part}_mask"] = index_to_mask(_check_range(nodes, num_nodes, path), num_nodes)
    return graph


def read_table(path: Path, kind: type[np.generic]) -> np.ndarray:
    """Return a file of numbers without a header: [rows, columns].

    Raises:
        GraphError: if it is missing or has anything but numbers.
    """
    try:
        table = csv.read_csv(path, csv.ReadOptions(autogenerate_column_names=True))
        values = np.empty((table.num_rows, table.num_columns), dtype=kind)
        for number, column in enumerate(map(pa.ChunkedArray.to_numpy, table.columns)):
            with np.errstate(invalid="ignore"):
                values[:, number] = column
            # Whole numbers may be written as 1.0, but nothing may get lost.
            if values.dtype.kind == "i" and not np.array_equal(values[:, number], column):
                raise ValueError("not all values are whole numbers")
    except (OSError, ValueError, TypeError, pa.ArrowException) as error:
        raise GraphError(f"cannot read {path}: {str(error).partition(chr(10))[0]}") from None
    return values


def mean_over_edges(edges: Tensor, values: Tensor, num_nodes: int) -> Tensor:
    """Return each node's mean of ``values`` [m, k] over its edges, or 0: [num_nodes, k]."""
    total = torch.zeros(num_nodes, values.size(1))
    degree = torch.zeros(num_nodes)
    for ends in edges:
        total.index_add_(0, ends, values)
        degree += torch.bincount(ends, minlength=num_nodes)
    return total / degree.clamp(min=1).unsqueeze(1)


def _num_nodes(folder: Path) -> int:
    return int(read_table(folder / _COUNT, np.int64)[0, 0])


def _both_ways(edges: Tensor) -> Tensor:
    return torch.cat([edges, edges.flip(0)], dim=1)


def _pairs(part: Mapping[str, Tensor], key: str, num_nodes: int, path: Path) -> Tensor:
    if key not in part:
        raise GraphError(f"{path} must have {key!r}, got {', '.join(part)}")
    pairs = part[key]
    if pairs.dim() != 2 or pairs.size(1) != 2:
        raise GraphError(f"{key!r} in {path} must be [pairs, 2], got {tuple(pairs.shape)}")
    return _check_range(pairs.t().long().contiguous(), num_nodes, path)


def _check_range(nodes: Tensor, num_nodes: int, path: Path) -> Tensor:
    outside = nodes[(nodes < 0) | (nodes >= num_nodes)]
    if outside.numel():
        raise GraphError(f"nodes in {path} must be in [0, {num_nodes}), got {int(outside[0])}")
    return nodes
