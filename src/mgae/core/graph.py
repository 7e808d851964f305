"""What encoders and masks see of a graph: features ready for products, and sorted message edges."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn.functional import normalize

from mgae.core.ops.backend import bring
from mgae.core.ops.blocks import BlockedAdjacency
from mgae.core.ops.sparse import Adjacency, SparseMatrix
from mgae.core.sides import Sides

if TYPE_CHECKING:
    from torch_geometric.data import Data

# Above this share of non-zeros the dense product is the faster one.
_DENSE_FROM = 0.2
_TINY = 1e-12
_COMPUTED = ("edge_keys", "pair_of_edge", "pairs")  # what a graph mapped from files brings along
CPU = torch.device("cpu")


@dataclass(frozen=True, eq=False)
class MessageGraph:
    """Message edges and features of a checked graph.

    Attributes:
        edge_index: [2, m], sorted by target and then source; both directions if undirected.
        num_nodes: how many nodes there are, with or without edges.
        x: features [num_nodes, F], sparse where that is faster, or None.
        edge_weight: [m], or None.
        undirected: whether each edge has its reverse.
        by_source: the edges and weights sorted by source and then target, where they are at hand.
        side: 0 or 1 for each node of a bipartite graph [num_nodes], as `Sides` has it, or None.
        triples: source, target and type of every edge that has one [3, T], whether it is among
            ``edge_index`` or not, or None.
        node_type: of each node [num_nodes], or None; -1 where it is unknown.
        edge_attr: features of the edges [m, E], or None.
        known_negatives: pairs that are known to be no edges [2, k], to train on; or None.
        in_files: whether the arrays are mapped from files, as they are too large for memory.
    """

    edge_index: Tensor
    num_nodes: int
    x: Tensor | SparseMatrix | None = None
    edge_weight: Tensor | None = None
    undirected: bool = True
    by_source: tuple[Tensor, Tensor | None] | None = None
    side: Tensor | None = None
    triples: Tensor | None = None
    node_type: Tensor | None = None
    edge_attr: Tensor | None = None
    known_negatives: Tensor | None = None
    in_files: bool = False

    @classmethod
    def of(cls, graph: Data) -> Self:
        """Take all edges of a graph.

        A graph that has the attribute ``undirected`` has been checked and sorted before; of any
        other, self-loops are dropped, duplicates are merged (their weights are added) and the
        edges are sorted. A graph in files has the attribute ``mapped``, which is taken.
        """
        if graph.get("mapped") is not None:
            assert isinstance(graph.mapped, cls)
            return graph.mapped
        edge_index, weight = graph.edge_index, graph.get("edge_weight")
        num_nodes, undirected = int(graph.num_nodes or 0), graph.get("undirected")
        if undirected is None:
            edge_index, weight, undirected = _sorted(edge_index, weight, num_nodes)
        return cls(
            edge_index=edge_index,
            num_nodes=num_nodes,
            x=None if graph.x is None else _ready(graph.x.float()),
            edge_weight=weight,
            undirected=bool(undirected),
            side=graph.get("side"),
            triples=graph.get("triples"),
            node_type=graph.get("node_type"),
            edge_attr=None if graph.get("undirected") is None else graph.get("edge_attr"),
        )

    def only(self, kept: Tensor, *, undirected: bool | None = None) -> Self:
        """Return the same nodes with the edges where ``kept`` [m] is true.

        ``undirected=False`` says that this takes an edge without its reverse.
        """
        both_ways = self.undirected if undirected is None else undirected
        return replace(
            self,
            edge_index=self.edge_index[:, kept],
            edge_weight=None if self.edge_weight is None else self.edge_weight[kept],
            edge_attr=None if self.edge_attr is None else self.edge_attr[kept],
            undirected=both_ways,
            by_source=None if both_ways else self._only_by_source(kept),
            in_files=False,
        )

    def _only_by_source(self, kept: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return what `only` keeps, sorted by source: all edges are sorted once, then filtered."""
        order, edges = self._order_by_source
        still = kept[order]
        weight = None if self.edge_weight is None else self.edge_weight[order[still]]
        return edges[:, still], weight

    @cached_property
    def _order_by_source(self) -> tuple[Tensor, Tensor]:
        order = torch.argsort(self.edge_index[0], stable=True)
        # Turned around, the edges of an undirected graph are the same list.
        return order, self.edge_index.flip(0) if self.undirected else self.edge_index[:, order]

    def to(self, device: torch.device) -> MessageGraph:
        """Return the graph with its tensors on a device: itself if they are there, or one copy.

        The copy knows this one, so that nothing is moved back.
        """
        if device == self.edge_index.device:
            return self
        if device not in self._elsewhere:
            moved = replace(self, **{name: _moved(part, device) for name, part in self._tensors})
            # A cached property looks here first, and does not compute what came along.
            computed = {name: vars(self)[name] for name in _COMPUTED if name in vars(self)}
            vars(moved).update({name: _moved(part, device) for name, part in computed.items()})
            moved._elsewhere[self.edge_index.device] = self
            self._elsewhere[device] = moved
        return self._elsewhere[device]

    @cached_property
    def _elsewhere(self) -> dict[torch.device, MessageGraph]:
        return {}

    @property
    def _tensors(self) -> list[tuple[str, Any]]:
        """The fields that hold tensors."""
        names = {one.name for one in fields(self)} - {"num_nodes", "undirected", "in_files"}
        return [(name, getattr(self, name)) for name in sorted(names)]

    @cached_property
    def sides(self) -> Sides | None:
        """The two sides of a bipartite graph."""
        return None if self.side is None else Sides(self.side)

    @cached_property
    def typed_edges(self) -> Tensor:
        """Source, target and type [3, T] of the edges that are there; without types all have 0."""
        if self.triples is None:
            edges = self.pairs if self.undirected else self.edge_index
            return torch.cat([edges, torch.zeros_like(edges[:1])])
        keys = self.triples[1] * self.num_nodes + self.triples[0]
        return self.triples[:, torch.isin(keys, self.edge_keys)]

    @property
    def num_types(self) -> int:
        """How many types of edges there are; 1 without types."""
        has_types = self.triples is not None and self.triples.numel()
        return int(self.triples[2].max()) + 1 if has_types and self.triples is not None else 1

    @property
    def num_features(self) -> int:
        """F, or 0 without features."""
        return 0 if self.x is None else self.x.shape[1]

    @cached_property
    def row_normalized_x(self) -> Tensor | SparseMatrix | None:
        """The features of each node divided by the sum of their magnitudes, where that is not 0."""
        if isinstance(self.x, SparseMatrix):
            row = self.x.pattern.row
            total = self.x.values.new_zeros(self.num_nodes).index_add_(0, row, self.x.values.abs())
            return self.x.with_values(self.x.values / total.clamp(min=_TINY)[row])
        return None if self.x is None else normalize(self.x, p=1.0, dim=1, eps=_TINY)

    @cached_property
    def adjacency(self) -> Adjacency:
        """The edges as an operator."""
        kind = BlockedAdjacency if self.in_files else Adjacency
        return kind(
            self.edge_index, self.num_nodes, self.edge_weight, self.undirected, self.by_source
        )

    @cached_property
    def edge_means(self) -> Tensor:
        """The mean features of the edges into each node [num_nodes, E], weighted as the edges."""
        assert self.edge_attr is not None
        weight = self.edge_attr.new_ones(self.edge_index.size(1))
        weight = weight if self.edge_weight is None else self.edge_weight
        total = self.edge_attr.new_zeros(self.num_nodes, self.edge_attr.size(1) + 1)
        rows = torch.cat([self.edge_attr * weight.unsqueeze(1), weight.unsqueeze(1)], dim=1)
        total.index_add_(0, self.edge_index[1], rows)
        return total[:, :-1] / total[:, -1:].clamp(min=_TINY)

    @property
    def num_edge_features(self) -> int:
        """E, or 0 without features of edges."""
        return 0 if self.edge_attr is None else self.edge_attr.size(1)

    @cached_property
    def edge_keys(self) -> Tensor:
        """``target * num_nodes + source`` of each edge: sorted, to look up pairs fast."""
        return self.edge_index[1] * self.num_nodes + self.edge_index[0]

    @cached_property
    def pair_of_edge(self) -> Tensor:
        """For each edge the number of its undirected pair: both directions share one."""
        inverse: Tensor = torch.unique(self._pair_keys, return_inverse=True)[1]
        return inverse

    @cached_property
    def pairs(self) -> Tensor:
        """Each undirected pair once, smaller id first: [2, E], numbered as `pair_of_edge`."""
        keys = torch.unique(self._pair_keys)
        return torch.stack([keys // self.num_nodes, keys % self.num_nodes])

    @property
    def _pair_keys(self) -> Tensor:
        low, high = self.edge_index.amin(dim=0), self.edge_index.amax(dim=0)
        return low * self.num_nodes + high


def random_orientation(pairs: Tensor, generator: torch.Generator) -> Tensor:
    """Turn each of ``pairs`` [2, n] around or not, by the toss of a coin."""
    turned = bring(torch.randint(2, (pairs.size(1),), generator=generator).bool(), pairs.device)
    return torch.where(turned, pairs.flip(0), pairs)


def edge_matrix(graph: MessageGraph) -> sp.csr_array:
    """Return the edges [num_nodes, num_nodes], directed ones both ways; weights do not count."""
    source, target = graph.to(CPU).edge_index.numpy()
    shape = (graph.num_nodes, graph.num_nodes)
    matrix = sp.csr_array((np.ones(source.size), (source, target)), shape=shape)
    return sp.csr_array((matrix + matrix.T) > 0, dtype=np.float64)


def _moved(part: Any, device: torch.device) -> Any:
    """Return a tensor, a sparse matrix or a tuple of them on a device; None stays None."""
    if isinstance(part, tuple):
        return tuple(_moved(one, device) for one in part)
    return None if part is None else part.to(device)


def _ready(x: Tensor) -> Tensor | SparseMatrix:
    dense = int(torch.count_nonzero(x)) > _DENSE_FROM * x.numel()
    return x.contiguous() if dense else SparseMatrix.from_dense(x)


def _sorted(
    edge_index: Tensor, weight: Tensor | None, num_nodes: int
) -> tuple[Tensor, Tensor | None, bool]:
    """Drop self-loops, merge duplicates, sort by target and source, and tell whether undirected."""
    loop = edge_index[0] == edge_index[1]
    keys, edge = (edge_index[1] * num_nodes + edge_index[0])[~loop].sort(stable=True)
    first = torch.ones_like(keys, dtype=torch.bool)
    first[1:] = keys[1:] != keys[:-1]
    edges = edge_index[:, ~loop][:, edge[first]]
    if weight is not None:
        total = torch.zeros(edges.size(1), dtype=torch.double)
        weight = total.index_add_(0, first.cumsum(0) - 1, weight[~loop][edge].double()).float()
    order = (edges[0] * num_nodes + edges[1]).argsort()
    undirected = bool((edges[:, order].flip(0) == edges).all())
    if undirected and weight is not None:
        undirected = bool((weight[order] == weight).all())
    return edges, weight, undirected
