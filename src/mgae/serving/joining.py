"""Let new edges and nodes join a graph: read them, and add them to all that a graph holds."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from mgae.core.errors import GraphError, UnsupportedError
from mgae.data.checks import checked, plain_ids
from mgae.data.ids import Ids, counted, listed
from mgae.data.io.delimited import OnProgress
from mgae.data.io.edges import doubtful_first_row, edge_columns, edge_hints, weights_of
from mgae.data.io.options import InputSettings
from mgae.data.io.tables import header_notes, open_table
from mgae.serving.newcomers import NewFeatures
from mgae.serving.nodeindex import NodeIndex, ends_of

if TYPE_CHECKING:
    from torch_geometric.data import Data

_MASKS = ("train_mask", "val_mask", "test_mask")


@dataclass(frozen=True)
class NewEdges:
    """Edges by the numbers of their ends; new nodes have the numbers after those of the graph.

    Attributes:
        pairs: [2, n], as they were given, duplicates and known ones among them.
        ids: the new nodes'.
        sides: of the new nodes in a bipartite graph [len(ids)], the column in which they stand.
        weights: [n], or None.
        notes: remarks for the user.
    """

    pairs: Tensor
    ids: list[Any]
    sides: Tensor
    weights: Tensor | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, nodes: NodeIndex, edges: Iterable[tuple[Any, Any]]) -> NewEdges:
        """Take pairs of ids, known or new."""
        numbers: dict[Any, int] = {}
        sides: list[int] = []
        pairs = []
        for edge in edges:
            row = []
            for side, node in enumerate(ends_of(edge, "an edge")):
                if nodes.knows(node):
                    row.append(nodes.position(node))
                    continue
                if node not in numbers:
                    numbers[node] = len(nodes) + len(numbers)
                    sides.append(side)
                row.append(numbers[node])
            pairs.append(row)
        _require_one_kind(nodes, list(numbers))
        table = torch.tensor(pairs, dtype=torch.long).view(-1, 2).t()
        return cls(table, list(numbers), torch.tensor(sides, dtype=torch.long))

    @classmethod
    def read(
        cls, nodes: NodeIndex, path: Path, settings: InputSettings, on_progress: OnProgress
    ) -> NewEdges:
        """Read a table of edges: two columns of ids, and weights if it has them.

        Raises:
            GraphError: if it cannot be read, or has no edges.
        """
        table = open_table(path, edge_hints(settings), on_progress)
        source, target, weight = edge_columns(table, settings)
        kept = [column for column in (source, target, weight) if column is not None]
        columns = table.read(kept, [source, target])
        ids = Ids.of(columns[:2], table.locate)
        if not len(ids.codes[0]):
            raise GraphError(f"{path} has no edges")
        notes = header_notes(table)
        if not table.named and settings.header == "auto" and not _any_known(nodes, ids, 0):
            notes += doubtful_first_row(table.where, ids)
        prefixes, new, sides, rows = nodes.prefixes, dict[str, int](), list[int](), []
        for side, codes in enumerate(ids.codes):
            number = nodes.numbers_of(ids.texts, side)
            for code in np.unique(codes[number[codes] < 0]):
                text = str(ids.texts[int(code)].as_py())
                whole = f"{prefixes[side]}{text}" if prefixes else text
                if whole not in new:
                    new[whole] = len(nodes) + len(new)
                    sides.append(side)
                number[code] = new[whole]
            rows.append(number[codes])
        known = nodes.ids[0]
        own: list[Any] = list(new)
        if isinstance(known, int) and not isinstance(known, bool):
            own = _integers(own, path)
        weights = None if weight is None else weights_of(columns[2], table)
        return cls(
            torch.from_numpy(np.stack(rows)),
            own,
            torch.tensor(sides, dtype=torch.long),
            None if weights is None else torch.tensor(weights, dtype=torch.float),
            tuple(notes),
        )


def _any_known(nodes: NodeIndex, ids: Ids, row: int) -> bool:
    """Return whether an end of a row is a node of the graph."""
    columns = ((nodes.numbers_of(ids.texts, side), codes) for side, codes in enumerate(ids.codes))
    return any(numbers[codes[row]] >= 0 for numbers, codes in columns)


def _integers(texts: list[str], path: Path) -> list[int]:
    wrong = [text for text in texts if not text.removeprefix("-").isdecimal()]
    if wrong:
        raise GraphError(
            f"{path}: the graph's ids are integers, got {listed(wrong)}: correct these, or name "
            "the columns by --source-column and --target-column"
        )
    return [int(text) for text in texts]


def _require_one_kind(nodes: NodeIndex, new: list[Any]) -> None:
    """Refuse new ids that are not of the kind that the graph's are."""
    if new:
        plain_ids([nodes.ids[0], *new])


@dataclass(frozen=True)
class Growth:
    """How many edges and nodes have joined a graph, and which were left out.

    Attributes:
        edges: new ones, each undirected one once.
        nodes: new ones.
        known: edges that were there before, or came twice.
        loops: edges from a node to itself.
    """

    edges: int
    nodes: int
    known: int
    loops: int


def grown(
    graph: Data, nodes: NodeIndex, new: NewEdges, features: Any, reads_features: bool
) -> tuple[Data, Growth, Tensor]:
    """Return the graph with new edges and nodes, how much it has grown, and the edges [2, n].

    Args:
        graph: as it was; its nodes keep their numbers.
        nodes: its ids.
        new: what joins.
        features: of the new nodes, as `NewFeatures` reads them; None if there are none.
        reads_features: whether the model does: otherwise new nodes need none.

    Raises:
        UnsupportedError: if the edges of the graph have types, or it lies in files.
        GraphError: if features are missing, or the edges do not fit.
    """
    _require_growable(graph)
    added, weight, growth = _fresh(graph, nodes, new)
    whole, size = copy.copy(graph), len(nodes) + len(new.ids)
    whole.x = _more_features(graph, new, features, reads_features)
    both = torch.cat([added, added.flip(0)], dim=1) if graph.undirected else added
    times = both.size(1) // max(1, added.size(1))
    whole.edge_index = torch.cat([graph.edge_index, both], dim=1)
    if graph.edge_weight is not None:
        whole.edge_weight = torch.cat([graph.edge_weight, weight.repeat(times)])
    if graph.get("edge_attr") is not None:
        usual = graph.edge_attr.mean(dim=0).expand(both.size(1), -1)
        whole.edge_attr = torch.cat([graph.edge_attr, usual])
    if graph.get("edge_time") is not None:  # they came after all that are there
        last = graph.edge_time.max().expand(both.size(1))
        whole.edge_time = torch.cat([graph.edge_time, last])
    _lengthen(whole, graph, new)
    whole.num_nodes, whole.node_ids = size, [*nodes.ids, *new.ids]
    whole.checksum = None  # it is no longer the dataset of its name
    return checked(whole), growth, added


def _require_growable(graph: Data) -> None:
    if graph.get("prepared") is not None:
        raise UnsupportedError(
            "this run's graph lies in a folder of mgae prepare: prepare it again with the new "
            "edges, and train again"
        )
    if graph.get("triples") is not None:
        raise UnsupportedError(
            "the edges of this run have types, and an update has none: train again with all edges"
        )


def _fresh(graph: Data, nodes: NodeIndex, new: NewEdges) -> tuple[Tensor, Tensor, Growth]:
    """Return distinct edges [2, n] that were not there, and their weights."""
    size = len(nodes) + len(new.ids)
    pairs = new.pairs
    weight = torch.ones(pairs.size(1)) if new.weights is None else new.weights
    loop = pairs[0] == pairs[1]
    pairs, weight = pairs[:, ~loop], weight[~loop]
    if graph.undirected:
        pairs = torch.stack([pairs.amin(dim=0), pairs.amax(dim=0)])
    keys = pairs[1] * size + pairs[0]
    _, first = np.unique(keys.numpy(), return_index=True)
    there = torch.isin(keys, graph.edge_index[1] * size + graph.edge_index[0])
    chosen = torch.from_numpy(np.sort(first))
    chosen = chosen[~there[chosen]]
    growth = Growth(
        edges=chosen.numel(),
        nodes=len(new.ids),
        known=pairs.size(1) - chosen.numel(),
        loops=int(loop.sum()),
    )
    if not growth.edges:
        raise GraphError(
            f"nothing new: {counted(new.pairs.size(1), 'edge')}, all known already or loops"
        )
    return pairs[:, chosen], weight[chosen], growth


def _more_features(
    graph: Data, new: NewEdges, features: Any, reads_features: bool
) -> Tensor | None:
    """Return the features of all nodes; those of new nodes in the order of their numbers."""
    if graph.x is None:
        if features is not None:
            raise GraphError("the run's graph has no features: leave those of new nodes out")
        return None
    rows = torch.zeros(len(new.ids), graph.x.size(1))
    if not new.ids:
        return torch.cat([graph.x, rows])
    if features is None and reads_features:
        raise GraphError(
            f"{counted(len(new.ids), 'new node')} without features: {listed(new.ids)}; give "
            "--features FILE with the columns that were trained on"
        )
    if features is not None:
        given = NewFeatures.of(features, graph)
        index = {str(node): row for row, node in enumerate(given.ids)}
        missing = [node for node in new.ids if str(node) not in index]
        if missing:
            raise GraphError(f"features are missing for the new nodes {listed(missing)}")
        rows = torch.from_numpy(given.matrix[[index[str(node)] for node in new.ids]])
    return torch.cat([graph.x, rows])


def _lengthen(whole: Data, graph: Data, new: NewEdges) -> None:
    """Give the new nodes what is not known of them: no label, no split, no text."""
    count = len(new.ids)
    for name in ("y", "node_type"):
        if (values := graph.get(name)) is not None:
            unknown = float("nan") if values.is_floating_point() else -1
            more = torch.full((count, *values.shape[1:]), unknown, dtype=values.dtype)
            whole[name] = torch.cat([values, more])
    for name in _MASKS:
        if (mask := graph.get(name)) is not None:
            whole[name] = torch.cat([mask, mask.new_zeros(count, *mask.shape[1:])])
    if graph.get("side") is not None:
        whole.side = torch.cat([graph.side, new.sides.to(graph.side.dtype)])
    if graph.get("texts") is not None:
        whole.texts = graph.texts.longer(count)
    if (negatives := graph.get("negatives")) is not None:
        size = int(graph.num_nodes or 0) + count
        edges = torch.cat([new.pairs, new.pairs.flip(0)], dim=1) if graph.undirected else new.pairs
        still = ~torch.isin(negatives[1] * size + negatives[0], edges[1] * size + edges[0])
        whole.negatives = negatives[:, still]
