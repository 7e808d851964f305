"""Assemble a checked graph from listed edges and the files of features and labels."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc

from mgae.data.checks import checked
from mgae.data.columns.choices import FeatureSettings
from mgae.data.features import Preparation, features
from mgae.data.fields import GraphFields
from mgae.data.ids import Ids, Nodes, counted, listed
from mgae.data.io.alike import alike_hint, alike_notes
from mgae.data.io.delimited import OnProgress
from mgae.data.io.edges import EdgeList, edge_columns, edge_hints
from mgae.data.io.merging import merge_edges
from mgae.data.io.noderows import (
    NodeRows,
    feature_rows,
    label_rows,
    labels,
    node_hints,
    text_rows,
)
from mgae.data.io.options import InputSettings
from mgae.data.io.tables import header_notes, open_table
from mgae.data.io.twosides import divided, on_sides, rows_on_sides, side_of_nodes, unknown_side_note
from mgae.data.leaks import leaking_columns
from mgae.data.nodetexts import NodeTexts
from mgae.data.splits.known import known_negatives


def assemble_graph(
    edges: EdgeList,
    name: str,
    settings: InputSettings,
    on_progress: OnProgress,
    preparing: FeatureSettings | Preparation,
) -> GraphFields:
    """Return a checked graph of these edges, with the features and labels of ``settings``.

    ``preparing`` says how features become numbers, or is how they did in training.

    Raises:
        GraphError: if a file cannot be read or does not fit the edges.
    """
    edges = divided(edges, settings)
    rows = _feature_rows(settings, on_progress, preparing)
    rows = None if rows is None else rows_on_sides(rows, rows.id_name, edges)
    on_progress("ordering the nodes", 0.0)
    groups = (edges.ids, edges.nodes, None if rows is None else rows.ids)
    nodes = Nodes.of(*(group for group in groups if group is not None))
    on_progress("merging the edges", 0.0)
    data = merge_edges(edges, nodes, settings)
    data.name = name
    data.edge_columns = list(edges.columns)
    if edges.sides is not None:
        data.side, data.side_names = side_of_nodes(edges, nodes), list(edges.sides)
        data.side_prefixes = None if edges.prefixes is None else list(edges.prefixes)
    data.notes += alike_notes(edges.where, edges.ids.texts.to_pylist())
    if rows is not None:
        prepared = features(rows, nodes, settings.missing, preparing)
        data.x, data.preparation = prepared.x, prepared.preparation
        data.feature_names = prepared.preparation.names
        data.notes += [*_isolated_notes(rows, edges), *prepared.notes]
    if (path := _label_path(settings)) is not None:
        _add_labels(data, path, nodes, edges, settings, on_progress)
    if settings.nodes is not None:
        data.texts, notes = _texts(settings, settings.nodes, nodes, edges, on_progress)
        data.notes += notes
    if settings.node_type_column is not None:
        _add_node_types(data, nodes, edges, settings, on_progress)
    if edges.sides is not None:
        data.notes += unknown_side_note(edges, data.side)
    on_progress("checking the graph", 0.0)
    graph = checked(data)
    if settings.negatives is not None:
        _add_negatives(graph, settings.negatives, nodes, edges, settings, on_progress)
    return graph


def user_path(text: str | Path) -> Path:
    """Return a path with ``~`` expanded, as a shell does; ``~name`` is a file if no such user.

    >>> str(user_path("~edges.csv"))
    '~edges.csv'
    """
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def _add_labels(
    data: GraphFields,
    path: Path,
    nodes: Nodes,
    edges: EdgeList,
    settings: InputSettings,
    on_progress: OnProgress,
) -> None:
    """Read the labels, and note columns of features that alone predict them."""
    rows = label_rows(open_table(path, node_hints(settings), on_progress), settings)
    rows = rows_on_sides(rows, rows.id_name, edges)
    data.y, data.class_names, notes = labels(rows, nodes)
    data.notes += notes
    if data.x is not None:
        leaks = leaking_columns(data.preparation, data.x, data.y)
        data.notes += [f"{settings.features}: {note}" for note in leaks]


def _add_negatives(
    graph: GraphFields,
    path: str,
    nodes: Nodes,
    edges: EdgeList,
    settings: InputSettings,
    on_progress: OnProgress,
) -> None:
    """Read the pairs that are known to be no edges."""
    plain = InputSettings(encoding=settings.encoding)
    table = open_table(user_path(path), edge_hints(plain), on_progress)
    columns = edge_columns(table, plain)[:2]
    pairs = Ids.of(table.read(columns, columns), table.locate)
    graph.negatives = known_negatives(on_sides(pairs, edges), nodes, graph)
    count = counted(graph.negatives.size(1), "pair")
    graph.notes += [*header_notes(table), f"{table.where}: {count} known to be no edges"]


def _add_node_types(
    data: GraphFields,
    nodes: Nodes,
    edges: EdgeList,
    settings: InputSettings,
    on_progress: OnProgress,
) -> None:
    """Read the nodes' types as labels are read; they also say the side of nodes without edges."""
    path = user_path(settings.features or settings.labels or "")
    column = settings.model_copy(update={"label_column": settings.node_type_column})
    rows = label_rows(open_table(path, node_hints(column), on_progress), column)
    rows = rows_on_sides(rows, rows.id_name, edges)
    data.node_type, data.node_type_names, notes = labels(rows, nodes)
    data.notes += [note.replace("label", "type") for note in notes]
    if data.get("side") is None:
        return
    for number in range(len(data.node_type_names)):
        mine = data.node_type == number
        known = data.side[mine & (data.side >= 0)].unique()
        if known.numel() == 1:
            data.side[mine & (data.side < 0)] = known


def _texts(
    settings: InputSettings, path: str, nodes: Nodes, edges: EdgeList, on_progress: OnProgress
) -> tuple[NodeTexts, list[str]]:
    """Read the titles and attributes of nodes."""
    named = next(filter(None, [settings.title_column, *settings.attributes]), None)
    hints = node_hints(settings.model_copy(update={"label_column": named}))
    table = open_table(user_path(path), hints, on_progress)
    rows, title = text_rows(table, settings)
    rows = rows_on_sides(rows, rows.id_name, edges)
    texts, notes = NodeTexts.of(rows, nodes, title)
    return texts, [*header_notes(table), *notes]


def _feature_rows(
    settings: InputSettings, on_progress: OnProgress, preparing: FeatureSettings | Preparation
) -> NodeRows | None:
    if settings.features is None:
        return None
    path, label_path = user_path(settings.features), _label_path(settings)
    with_labels = label_path is not None and label_path.resolve() == path.resolve()
    table = open_table(path, node_hints(settings), on_progress)
    return feature_rows(table, settings, with_labels, preparing.text_columns)


def _label_path(settings: InputSettings) -> Path | None:
    """Return the labels' own file, or that of the features if only a column is named."""
    within = settings.features if settings.label_column is not None else None
    path = settings.labels or within
    return None if path is None else user_path(path)


def _isolated_notes(rows: NodeRows, edges: EdgeList) -> list[str]:
    connected = pc.is_in(rows.ids.texts, edges.ids.texts)
    isolated = rows.ids.texts.filter(pc.invert(connected)).to_pylist()
    if not isolated:
        return []
    return [
        f"{rows.table.where}: {counted(len(isolated), 'id')} without an edge, kept as isolated: "
        f"{listed(sorted(isolated))}{alike_hint(isolated, edges.ids.texts.to_pylist())}"
    ]
