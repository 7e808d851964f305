"""Add nodes that were not there in training: their features, and the graph with them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from mgae.core.errors import GraphError, UnsupportedError
from mgae.core.methods.base import Method
from mgae.data.checks import checked
from mgae.data.columns.choices import FeatureSettings
from mgae.data.features import Preparation, features
from mgae.data.fields import GraphFields
from mgae.data.ids import Nodes
from mgae.data.io.delimited import OnProgress
from mgae.data.io.noderows import feature_rows, node_hints
from mgae.data.io.options import InputSettings
from mgae.data.io.tables import ArrowTable, Table, arrow_table, open_table
from mgae.serving.nodeindex import NodeIndex, ends_of

if TYPE_CHECKING:
    from torch_geometric.data import Data


def require_inductive(method: Method) -> None:
    """Refuse a method that has learned something for each node by its number.

    Raises:
        UnsupportedError: if it has, with what to train instead.
    """
    if not method.inductive:
        raise UnsupportedError(
            "this model has learned an embedding table of its graph's nodes, so it cannot embed "
            "others: train on a graph with features (encoder.inputs = 'features')"
        )


def require_same_features(graph: Data, other: Data) -> None:
    """Refuse another graph whose features are not those of the first.

    Raises:
        GraphError: if their numbers differ.
    """
    widths = [0 if data.x is None else data.x.size(1) for data in (graph, other)]
    if widths[0] != widths[1]:
        raise GraphError(f"the model knows {widths[0]} features, got {widths[1]}")


def preparation_of(graph: Data) -> Preparation | None:
    """Return how the features of a graph were prepared; None if they have no names."""
    if graph.x is None or graph.get("feature_names") is None:
        return None
    if graph.get("preparation") is not None:
        preparation: Preparation = graph.preparation
        return preparation
    return Preparation.of_names(graph.feature_names, graph.x.mean(dim=0).numpy())


@dataclass(frozen=True)
class NewFeatures:
    """Features of new nodes.

    Attributes:
        matrix: [m, F].
        ids: the nodes' ids.
        keyed: whether these are the user's own; otherwise they are the rows' numbers.
    """

    matrix: np.ndarray
    ids: list[Any]
    keyed: bool

    @classmethod
    def of(cls, given: Any, graph: Data) -> NewFeatures:
        """Read a vector or the cells of a row by column for each id, a data frame, or a matrix.

        Ids alone, in a list or with None for each, get the features of a mean node.

        Raises:
            GraphError: if they are not the features that ``graph`` has.
        """
        given = _without_features(given, graph)
        if _are_rows(given):
            given = _of_rows(given, graph)
        if hasattr(given, "columns"):
            given = _of_frame(given, graph)
        keyed = isinstance(given, Mapping)
        matrix = _check(list(given.values()) if keyed else given, graph)
        return cls(matrix, list(given) if keyed else list(range(len(matrix))), keyed)


def _without_features(given: Any, graph: Data) -> Any:
    """Return ids that come without features with those of a mean node; all else as it is."""
    if isinstance(given, str):
        given = [given]
    if isinstance(given, list | tuple) and all(isinstance(one, str | int) for one in given):
        given = dict.fromkeys(given)
    if not isinstance(given, Mapping):
        return given
    absent = [node for node, row in given.items() if row is None]
    if absent and len(absent) < len(given):
        raise GraphError("features: give them for all of the new nodes, or for none")
    mean = [] if graph.x is None else graph.x.mean(dim=0).tolist()
    return dict.fromkeys(given, mean) if absent else given


def _are_rows(given: Any) -> bool:
    """Return whether each id has the cells of a row, by column."""
    is_keyed = isinstance(given, Mapping) and len(given) > 0
    return is_keyed and all(isinstance(row, Mapping) for row in given.values())


def _of_rows(given: Mapping[Any, Mapping[str, Any]], graph: Data) -> dict[Any, np.ndarray]:
    """Return a vector for each id whose cells are given by column; a cell may be missing."""
    names = dict.fromkeys(name for row in given.values() for name in row)
    cells = {name: [row.get(name) for row in given.values()] for name in names}
    try:
        # By number, so that an id stays what it is, and 7 and "7" are two.
        table = pa.table({**cells, "id": list(range(len(given)))})
    except (pa.ArrowException, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise GraphError(f"the cells of a column must be of one kind: {reason}") from None
    by_number = _of_frame(table, graph)
    return {node: by_number[number] for number, node in enumerate(given)}


def _of_frame(frame: Any, graph: Data) -> dict[Any, np.ndarray]:
    """Return a vector for each id, read as a file of the same content would be."""
    source = ArrowTable("the table of new nodes", arrow_table(frame))
    return _of_table(source, InputSettings(), graph)


def features_in_file(
    path: Path, settings: InputSettings, graph: Data, on_progress: OnProgress
) -> dict[Any, np.ndarray]:
    """Return a vector for each id in a file of nodes that has the columns of ``graph``."""
    table = open_table(path, node_hints(settings), on_progress)
    return _of_table(table, settings, graph)


def _of_table(source: Table, settings: InputSettings, graph: Data) -> dict[Any, np.ndarray]:
    preparing = preparation_of(graph) or FeatureSettings(scale="none")
    rows = feature_rows(source, settings, False, preparing.text_columns)
    nodes = Nodes.of(rows.ids)
    x = features(rows, nodes, "refuse", preparing).x.numpy()
    indices = nodes.positions(rows.ids.texts)[rows.ids.codes[0]]
    return {nodes.ids[index]: x[index] for index in indices}


def _check(vectors: Any, graph: Data) -> np.ndarray:
    try:
        matrix = np.asarray(vectors, np.float32)
    except (TypeError, ValueError):
        raise GraphError("features must be numbers, as many for each new node") from None
    width = 0 if graph.x is None else graph.x.size(1)
    if matrix.ndim != 2 or matrix.shape[1] != width:
        if width == 0:
            raise GraphError("the graph has no features: name the new nodes alone, as ['new']")
        raise GraphError(f"features must have the shape [m, {width}], got {list(matrix.shape)}")
    if not np.isfinite(matrix).all():
        raise GraphError("features must be finite")
    return matrix


@dataclass(frozen=True)
class NewNode:
    """The id of a new node that came without one: its row."""

    row: int


def extend(
    graph: Data,
    nodes: NodeIndex,
    features: NewFeatures,
    edges: Iterable[tuple[Any, Any]],
    side: Any = None,
) -> tuple[GraphFields, dict[Any, int]]:
    """Return the graph with new nodes after its own, and the new nodes' numbers by their ids.

    Args:
        graph: the graph as it was.
        nodes: its ids.
        features: what `NewFeatures` reads; the nodes of a matrix are named by their row, and only
            as the first of a pair.
        edges: pairs (new id, new or known id); in an undirected graph the new id may also be the
            second, and each counts in both directions; in a weighted one it has weight 1.
        side: of a bipartite graph the side of new nodes without edges, by its name or number; with
            an edge they are on the other side than its end.
    """
    ids, keyed = features.ids, features.keyed
    if keyed and (known := next((node for node in ids if nodes.knows(node)), None)) is not None:
        raise GraphError(f"the new node {known!r} is in the graph already: ask for it by its id")
    own = {node: len(nodes) + row for row, node in enumerate(ids)}
    ends = (ends_of(edge, "an edge") for edge in edges)
    if keyed and graph.undirected:
        ends = (_new_first(own, *edge) for edge in ends)
    pairs = [(_head(own, head), _tail(own if keyed else {}, nodes, tail)) for head, tail in ends]
    added = torch.tensor(pairs, dtype=torch.long).view(-1, 2).t()
    if added.size(1) and graph.get("triples") is not None:
        raise UnsupportedError(
            "edges of new nodes have no type, and this model was trained on types: leave them out"
        )
    names = ids if keyed else list(map(NewNode, ids))
    sides = _sides(graph, len(ids), added, side)
    x = torch.from_numpy(features.matrix)
    return _join(graph, x, added, [*nodes.ids, *names], sides), own


def _sides(graph: Data, count: int, added: Tensor, given: Any) -> Tensor | None:
    """Return the sides of all nodes, old and new: the other one than that of an edge's end."""
    if graph.get("side") is None:
        if given is not None:
            raise GraphError(f"side {given!r}: the graph is not bipartite, leave it out")
        return None
    names = graph.get("side_names") or ["0", "1"]
    known = {name: number for number, name in enumerate(names)} | {"0": 0, "1": 1}
    if given is not None and str(given) not in known:
        raise GraphError(f"side must be {names[0]} or {names[1]}, got {given!r}")
    new = torch.full((count,), -1 if given is None else known[str(given)])
    side = torch.cat([graph.side, new.to(graph.side)])
    for head, tail in added.t().tolist():
        if side[tail] >= 0:
            side[head] = 1 - side[tail]
    return side


def _new_first(own: dict[Any, int], one: Any, other: Any) -> tuple[Any, Any]:
    """Return the ends of an edge, that at a new node first."""
    known = isinstance(one, Hashable) and one not in own
    return (other, one) if known and isinstance(other, Hashable) and other in own else (one, other)


def _head(own: dict[Any, int], head: Any) -> int:
    if not isinstance(head, Hashable) or head not in own:
        raise GraphError(f"an edge must begin at a new node, got {head!r}")
    return own[head]


def _tail(own: dict[Any, int], nodes: NodeIndex, tail: Any) -> int:
    new = isinstance(tail, Hashable) and tail in own
    return own[tail] if new else nodes.position(tail)


def _join(
    graph: Data, x: Tensor, added: Tensor, ids: list[Any], side: Tensor | None
) -> GraphFields:
    if graph.undirected:
        added = torch.cat([added, added.flip(0)], dim=1)
    texts = graph.get("texts")
    weight, about = graph.edge_weight, graph.get("edge_attr")
    if about is not None:
        about = torch.cat([about, about.mean(dim=0).expand(added.size(1), -1)])
    return checked(
        GraphFields(
            x=None if graph.x is None else torch.cat([graph.x, x]),
            edge_index=torch.cat([graph.edge_index, added], dim=1),
            edge_weight=None if weight is None else torch.cat([weight, torch.ones(added.size(1))]),
            edge_attr=about,
            num_nodes=len(ids),
            node_ids=ids,
            side=side,
            triples=graph.get("triples"),
            texts=None if texts is None else texts.longer(x.size(0)),
        )
    )
