"""A graph by whatever the user calls it: a dataset's name, a file, or an object in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from mgae.core.errors import ConfigError, GraphError, UnknownName
from mgae.data.convert import as_graph
from mgae.data.datasets.catalogue import load_graph
from mgae.data.features import KnownFeatures
from mgae.data.io.files import OnProgress, read_graph, user_path
from mgae.registry import DATASETS
from mgae.runs.sections import InputSettings


def open_graph(
    graph: Any,
    settings: InputSettings | None = None,
    on_progress: OnProgress | None = None,
    known: KnownFeatures | None = None,
) -> Data:
    """A checked graph.

    Args:
        graph: a dataset's name, a path, a PyG ``Data``, a networkx graph, a scipy sparse matrix,
            or a table of edges (pandas, pyarrow).
        settings: how files and tables are to be read.
        on_progress: is told the stage and the share that is done.
        known: the columns that a file's features must come in.

    >>> open_graph("cora").num_nodes
    2708
    """
    settings = settings or InputSettings()
    if not isinstance(graph, str | Path):
        opened = as_graph(graph, settings)
        # It may be a dataset that was changed since: the catalogue's checksum is not its own.
        opened.checksum = None
        return opened
    if str(graph) in DATASETS:
        _refuse_input(str(graph), settings)
        return load_graph(str(graph))
    path = user_path(graph)
    if path.exists():
        return read_graph(path, settings, on_progress, known)
    if path.suffix or len(path.parts) > 1:
        raise GraphError(
            f"there is no file {graph}: give a path, or a name that mgae datasets lists"
        )
    raise UnknownName("dataset", str(graph), DATASETS.names())


def _refuse_input(name: str, settings: InputSettings) -> None:
    given = settings.model_dump(exclude_defaults=True)
    if given:
        keys = ", ".join(f"input.{key}" for key in given)
        raise ConfigError(f"{keys} is for files, and {name} is a dataset: leave it out")
