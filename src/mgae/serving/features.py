"""Features of what the model has not seen, in the columns that it was trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch_geometric.data import Data

from mgae.core.errors import GraphError
from mgae.data.features import KnownFeatures, features
from mgae.data.ids import Nodes
from mgae.data.io.noderows import feature_rows
from mgae.data.io.options import InputSettings
from mgae.data.io.tables import ArrowTable, arrow_table


def require_same_features(graph: Data, other: Data) -> None:
    """Refuse another graph whose features are not those of the first.

    Raises:
        GraphError: where their numbers differ.
    """
    widths = [0 if data.x is None else data.x.size(1) for data in (graph, other)]
    if widths[0] != widths[1]:
        raise GraphError(f"the model knows {widths[0]} features, got {widths[1]}")


def known_features(graph: Data) -> KnownFeatures | None:
    """The named columns that a table of features must have; None where they have no names."""
    if graph.x is None or graph.get("feature_names") is None:
        return None
    return KnownFeatures(tuple(graph.feature_names), graph.x.mean(dim=0).numpy())


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
        """From a vector for each id, a table with a row for each, or a matrix [m, F].

        Raises:
            GraphError: where they are not the features that ``graph`` has.
        """
        if hasattr(given, "columns"):
            given = _of_table(given, graph)
        keyed = isinstance(given, Mapping)
        matrix = _checked(list(given.values()) if keyed else given, graph)
        return cls(matrix, list(given) if keyed else list(range(len(matrix))), keyed)


def _of_table(table: Any, graph: Data) -> dict[Any, np.ndarray]:
    """A vector for each id of a table, read as a file of the same content would be."""
    source = ArrowTable("the table of new nodes", arrow_table(table))
    rows = feature_rows(source, InputSettings(), with_labels=False)
    nodes = Nodes.of(rows.ids)
    x = features(rows, nodes, "refuse", known_features(graph)).x.numpy()
    places = nodes.positions(rows.ids.texts)[rows.ids.codes[0]]
    return {nodes.ids[place]: x[place] for place in places}


def _checked(vectors: Any, graph: Data) -> np.ndarray:
    try:
        matrix = np.asarray(vectors, np.float32)
    except (TypeError, ValueError):
        raise GraphError("features must be numbers, as many for each new node") from None
    width = 0 if graph.x is None else graph.x.size(1)
    if matrix.ndim != 2 or matrix.shape[1] != width:
        raise GraphError(f"features must have the shape [m, {width}], got {list(matrix.shape)}")
    if not np.isfinite(matrix).all():
        raise GraphError("features must be finite")
    return matrix
