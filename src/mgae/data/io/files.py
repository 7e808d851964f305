"""The user's own files: edges, and beside them features and labels, as one checked graph."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
from torch_geometric.data import Data

from mgae.core.errors import ConfigError
from mgae.data.checks import checked
from mgae.data.features import KnownFeatures, features
from mgae.data.ids import Nodes, counted, listed
from mgae.data.io.edges import EdgeList, edge_hints, edges_of_table
from mgae.data.io.formats import edges_of_file
from mgae.data.io.labels import labels
from mgae.data.io.merging import merged
from mgae.data.io.noderows import NodeRows, feature_rows, label_rows, node_hints
from mgae.data.io.pieces import OnProgress
from mgae.data.io.tables import open_table
from mgae.runs.sections import InputSettings

__all__ = ["OnProgress", "assembled", "read_graph", "refuse_idle", "user_path"]

_DEFAULTS = InputSettings()
# Settings that are about tables of nodes, and which tables these are.
_NEEDS = {
    "missing": ("features",),
    "id_column": ("features", "labels"),
    "label_column": ("features", "labels"),
}


def read_graph(
    path: str | Path,
    settings: InputSettings = _DEFAULTS,
    on_progress: OnProgress | None = None,
    known: KnownFeatures | None = None,
) -> Data:
    """A checked graph from a file of edges, and the tables that ``settings`` name.

    The kind of file follows from its ending and its first bytes: GraphML, GEXF, GML, Pajek, npz,
    Matrix Market, Parquet, Feather, or text with any delimiter. Nodes are in the order of their
    ids, so that the format and the order of rows do not matter. The graph has ``name``,
    ``node_ids`` and ``notes``, remarks for the user; with features ``x`` and ``feature_names``;
    with labels ``y`` (-1 without one) and ``class_names``.

    Args:
        path: the edges.
        settings: further files, and how all are to be read.
        on_progress: is told the stage and the share of it that is done, from any thread.
        known: the columns that a model was trained on; without it the table's own.

    Raises:
        GraphError: where a file cannot be read, with its line and what to do.
        ConfigError: at a setting that is for no file here.
    """
    refuse_idle(settings)
    path, on_progress = user_path(path), on_progress or _silent
    edges = edges_of_file(path, settings, on_progress)
    if edges is None:
        table = open_table(path, edge_hints(settings), on_progress)
        edges = edges_of_table(table, settings)
    name = path.name.removesuffix(".gz")
    return assembled(edges, Path(name).stem, settings, on_progress, known)


def user_path(text: str | Path) -> Path:
    """A path as a shell takes it: ``~`` is the home folder, ``~name`` a file if nobody's.

    >>> str(user_path("~edges.csv"))
    '~edges.csv'
    """
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def refuse_idle(settings: InputSettings) -> None:
    """Refuse settings that say how to read a table of nodes where there is none, or no path to it.

    Raises:
        ConfigError: at the first of them.
    """
    for key in ("features", "labels"):
        if getattr(settings, key) == "":
            raise ConfigError(f"input.{key} is empty: name a file, or leave it out")
    for key, files in _NEEDS.items():
        needed = " or ".join(f"input.{file}" for file in files)
        given = getattr(settings, key) != getattr(_DEFAULTS, key)
        if given and not any(getattr(settings, f) for f in files):
            raise ConfigError(f"input.{key} needs {needed}: name a file, or leave it out")


def assembled(
    edges: EdgeList,
    name: str,
    settings: InputSettings,
    on_progress: OnProgress | None = None,
    known: KnownFeatures | None = None,
) -> Data:
    """A checked graph of these edges, with the features and labels that ``settings`` name.

    Raises:
        GraphError: where a file cannot be read or does not fit the edges.
    """
    on_progress = on_progress or _silent
    about = _feature_rows(settings, on_progress, known)
    on_progress("ordering the nodes", 0.0)
    nodes = Nodes.of(edges.ids, *(group for group in (edges.nodes, about and about.ids) if group))
    on_progress("merging the edges", 0.0)
    joined = merged(edges, nodes, settings.directed)
    notes = [*edges.notes, *joined.notes]
    data = Data(edge_index=joined.edge_index, edge_weight=joined.weight, num_nodes=len(nodes.ids))
    data.node_ids, data.name = nodes.ids, name
    if about is not None:
        found = features(about, nodes, settings.missing, known)
        data.x, data.feature_names = found.x, found.names
        notes += [*_isolated(about, edges), *found.notes]
    if (rows := _label_rows(settings, on_progress)) is not None:
        classes = labels(rows, nodes)
        data.y, data.class_names = classes.y, classes.class_names
        notes += classes.notes
    data.notes = notes
    on_progress("checking the graph", 0.0)
    return checked(data)


def _feature_rows(
    settings: InputSettings, on_progress: OnProgress, known: KnownFeatures | None
) -> NodeRows | None:
    if settings.features is None:
        return None
    path = user_path(settings.features)
    labeled = _label_path(settings)
    with_labels = labeled is not None and _same(labeled, path)
    table = open_table(path, node_hints(settings), on_progress)
    return feature_rows(table, settings, with_labels, known.names if known else ())


def _label_rows(settings: InputSettings, on_progress: OnProgress) -> NodeRows | None:
    path = _label_path(settings)
    if path is None:
        return None
    return label_rows(open_table(path, node_hints(settings), on_progress), settings)


def _label_path(settings: InputSettings) -> Path | None:
    """The labels' own file, or the features' where only a column is named."""
    within = settings.features if settings.label_column is not None else None
    path = settings.labels or within
    return None if path is None else user_path(path)


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _isolated(about: NodeRows, edges: EdgeList) -> list[str]:
    known = pc.is_in(about.ids.texts, edges.ids.texts)
    alone = about.ids.texts.filter(pc.invert(known)).to_pylist()
    if not alone:
        return []
    return [
        f"{about.table.where}: {counted(len(alone), 'id')} without an edge, kept as isolated: "
        f"{listed(sorted(alone))}"
    ]


def _silent(stage: str, share: float) -> None:
    """Progress that nobody watches."""
