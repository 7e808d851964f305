"""Store a graph beside its results, so that a run can be resumed and used later."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch_geometric.data import Data

from mgae.core.errors import GraphError
from mgae.data.atomic import read_tensors, write_atomically, write_json, write_tensors
from mgae.data.checks import checked
from mgae.data.datasets.catalogue import load_graph
from mgae.data.features import Preparation

# What is known of a graph besides its tensors and ids.
_FACTS = (
    "name",
    "class_names",
    "feature_names",
    "side_names",
    "side_prefixes",
    "dated",
    "type_names",
    "node_type_names",
    "feature_widths",
    "edge_feature_names",
)


def save_graph(graph: Data, folder: Path) -> None:
    """Store a dataset of the catalogue by name and checksum, any other graph as a whole."""
    folder.mkdir(parents=True, exist_ok=True)
    if graph.get("checksum"):
        write_json(folder / "source.json", {"name": graph.name, "checksum": graph.checksum})
        return
    (folder / "source.json").unlink(missing_ok=True)
    tensors = {key: value for key, value in graph.items() if isinstance(value, torch.Tensor)}
    write_tensors(folder / "tensors.safetensors", tensors)
    facts = {key: graph.get(key) for key in _FACTS if graph.get(key) is not None}
    write_json(folder / "facts.json", facts)
    if graph.get("preparation") is not None:
        graph.preparation.save(folder)
    ids = pa.table({"node_id": pa.array(graph.node_ids)})
    write_atomically(folder / "nodes.parquet", lambda partial: pq.write_table(ids, partial))


def stored_graph(folder: Path) -> Data:
    """Return the graph that `save_graph` stored.

    Raises:
        GraphError: if it is damaged, or the catalogue has another one of its name now.
    """
    try:
        if (folder / "source.json").exists():
            source = json.loads((folder / "source.json").read_text(encoding="utf-8"))
            graph = load_graph(source["name"])
            if graph.checksum != source["checksum"]:
                raise GraphError(f"{source['name']} is not the one this run was trained on")
            return graph
        node_ids = pq.read_table(folder / "nodes.parquet")["node_id"].to_pylist()
        tensors = read_tensors(folder / "tensors.safetensors")
        facts = dict(json.loads((folder / "facts.json").read_text(encoding="utf-8")))
        facts["preparation"] = Preparation.load(folder)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GraphError(f"the graph in {folder} is damaged: {error}") from None
    return checked(Data(**tensors, **facts, node_ids=node_ids, num_nodes=len(node_ids)))
