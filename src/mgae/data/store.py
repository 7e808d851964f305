"""Store a graph beside its results, so that a run can be resumed and used later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from pydantic import TypeAdapter

from mgae.core.errors import GraphError
from mgae.data.atomic import read_tensors, write_atomically, write_json, write_tensors
from mgae.data.checks import checked
from mgae.data.damage import DAMAGE, reason
from mgae.data.datasets.loading import load_fields
from mgae.data.features import PREPARATION_FILES, Preparation
from mgae.data.fields import GraphFields, as_data
from mgae.data.large.folder import is_prepared, prepared_fields
from mgae.data.nodetexts import NodeTexts

if TYPE_CHECKING:
    from torch_geometric.data import Data

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
    "edge_columns",
)
_FACTS_FORM = TypeAdapter(dict[str, str | bool | list[Any] | dict[str, Any]])
GRAPH_FILES = (
    "source.json", "tensors.safetensors", "facts.json", "nodes.parquet", *PREPARATION_FILES
)  # fmt: skip


def save_graph(graph: Data, folder: Path) -> None:
    """Store a dataset by name and checksum, a prepared graph by path, any other as a whole."""
    folder.mkdir(parents=True, exist_ok=True)
    if graph.get("checksum"):
        write_json(folder / "source.json", {"name": graph.name, "checksum": graph.checksum})
        return
    if graph.get("prepared") is not None:  # as large as that is, it stays where it is
        write_json(folder / "source.json", {"prepared": graph.prepared})
        return
    (folder / "source.json").unlink(missing_ok=True)
    tensors = {key: value for key, value in graph.items() if isinstance(value, torch.Tensor)}
    write_tensors(folder / "tensors.safetensors", tensors)
    facts = {key: graph.get(key) for key in _FACTS if graph.get(key) is not None}
    write_json(folder / "facts.json", facts)
    if graph.get("preparation") is not None:
        graph.preparation.save(folder)
    texts = {} if graph.get("texts") is None else graph.texts.columns
    ids = pa.table({"node_id": pa.array(graph.node_ids), **texts})
    write_atomically(folder / "nodes.parquet", lambda partial: pq.write_table(ids, partial))


def stored_graph(folder: Path) -> Data:
    """Return the graph that `save_graph` stored as a ``Data``; see `stored_fields`."""
    return as_data(stored_fields(folder))


def stored_fields(folder: Path) -> Data | GraphFields:
    """Return the graph that `save_graph` stored.

    Raises:
        GraphError: if it is damaged, or the catalogue has another one of its name now.
    """
    try:
        if (folder / "source.json").exists():
            source = json.loads((folder / "source.json").read_text(encoding="utf-8"))
            if "prepared" in source:
                return _still_prepared(**source["prepared"])
            graph = load_fields(source["name"])
            if graph.checksum != source["checksum"]:
                raise GraphError(f"{source['name']} is not the one this run was trained on")
            return graph
        return checked(_fields_in_files(folder))
    except DAMAGE as error:
        raise GraphError(
            f"the graph in {folder} is damaged: {reason(error)}; restore it from a copy, or train "
            "again"
        ) from None


def _still_prepared(folder: str, digest: str) -> GraphFields:
    """Return the prepared graph in a folder, if it is still the one that was trained on."""
    if not is_prepared(Path(folder)):
        raise GraphError(
            f"there is no prepared graph in {folder} any more: put it back there, or train again"
        )
    graph = prepared_fields(Path(folder))
    if graph.prepared["digest"] != digest:
        raise GraphError(f"{folder} holds another graph than this run was trained on: train again")
    return graph


def graph_in_files(folder: Path) -> Data:
    """Return the graph whose files `save_graph` wrote, as they are; its tensors are mapped."""
    return as_data(_fields_in_files(folder))


def _fields_in_files(folder: Path) -> GraphFields:
    source = folder / "source.json"
    if source.exists():  # of a prepared graph
        return _still_prepared(**json.loads(source.read_text(encoding="utf-8"))["prepared"])
    # `read_table` would load pyarrow.dataset, and that pandas.
    with pq.ParquetFile(folder / "nodes.parquet") as file:
        nodes = file.read()
    node_ids = nodes["node_id"].to_pylist()
    tensors = read_tensors(folder / "tensors.safetensors")
    facts: dict[str, Any] = _FACTS_FORM.validate_python(
        json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    )
    if unknown := facts.keys() - set(_FACTS):
        raise ValueError(f"facts.json has {', '.join(sorted(unknown))}, which is unknown")
    facts["preparation"] = Preparation.load(folder)
    facts["texts"] = NodeTexts.of_table(nodes)
    return GraphFields(**tensors, **facts, node_ids=node_ids, num_nodes=len(node_ids))
