"""Message edges as an operator on node features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from mgae.core.ops.sparse import Operand, operand, product, row_pointers

Matrices = tuple[Operand, Operand]


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Message edges [2, m], sorted by target and then source, as an operator on node features.

    ``symmetric`` promises that each edge has its reverse with the same weight, so that the matrix
    is its own transpose. ``by_source`` are the same edges and weights sorted by source and then
    target, where somebody has them: they spare a sort.
    """

    edge_index: Tensor
    num_nodes: int
    edge_weight: Tensor | None = None
    symmetric: bool = False
    by_source: tuple[Tensor, Tensor | None] | None = None

    @property
    def num_receivers(self) -> int:
        """The first so many nodes are those whose sums are wanted: here all of them."""
        return self.num_nodes

    @cached_property
    def degree(self) -> Tensor:
        """The summed weight of the edges into each node: [num_nodes]."""
        if self.edge_weight is None:
            return torch.bincount(self.edge_index[1], minlength=self.num_nodes).float()
        zeros = self.edge_weight.new_zeros(self.num_nodes)
        return zeros.index_add_(0, self.edge_index[1], self.edge_weight)

    def sum_neighbors(self, h: Tensor) -> Tensor:
        """Sum ``h`` [num_nodes, d] over the nodes that send to a node, weighted by the edges."""
        return _sent(h, self._plain)

    def mean_neighbors(self, h: Tensor) -> Tensor:
        """Average instead; a node to which nobody sends gets 0."""
        return _sent(h, self._averaging)

    def convolve(self, h: Tensor) -> Tensor:
        """Return D̂^-1/2 (A + I) D̂^-1/2 h, D̂ the degree with the self-loop."""
        return _sent(h, self._convolution)

    def smooth(self, h: Tensor) -> Tensor:
        """Return D_in^-1/2 A D_out^-1/2 h, without self-loops; 0 where nobody sends."""
        return _sent(h, self._smoothing)

    # The scales of the nodes are multiplied into the edges once for a mask, which saves passes
    # over [num_nodes, d] in each layer.
    @cached_property
    def _plain(self) -> Matrices:
        return self._scaled(None, None)

    @cached_property
    def _averaging(self) -> Matrices:
        return self._scaled(1 / torch.where(self.degree > 0, self.degree, 1), None)

    @cached_property
    def _convolution(self) -> Matrices:
        scale = (self.degree + 1).rsqrt()
        return self._scaled(scale, scale, loops=True)

    @cached_property
    def _smoothing(self) -> Matrices:
        received = inverse_root(self.degree)
        if self.symmetric:
            return self._scaled(received, received)
        sources, weight = self.edge_index[0], self.edge_weight
        out_degree = torch.bincount(sources, weight, minlength=self.num_nodes).float()
        return self._scaled(received, inverse_root(out_degree))

    def _scaled(
        self, received: Tensor | None, sent: Tensor | None, loops: bool = False
    ) -> Matrices:
        """Return diag(received) (A + I, with ``loops``) diag(sent), and its transpose."""
        source, target = self.edge_index
        matrix = self._csr(target, source, self.edge_weight, received, sent, loops)
        if self.symmetric:
            same = received is sent
            return matrix, matrix if same else self._csr(
                target, source, self.edge_weight, sent, received, loops
            )
        (sender, receiver), weight = self.by_source or self._sorted_by_source()
        return matrix, self._csr(sender, receiver, weight, sent, received, loops)

    def _sorted_by_source(self) -> tuple[Tensor, Tensor | None]:
        order = torch.argsort(self.edge_index[0], stable=True)
        weight = None if self.edge_weight is None else self.edge_weight[order]
        return self.edge_index[:, order], weight

    def _csr(
        self,
        row: Tensor,
        col: Tensor,
        weight: Tensor | None,
        row_scale: Tensor | None,
        col_scale: Tensor | None,
        loops: bool,
    ) -> Operand:
        rowptr = row_pointers(row, self.num_nodes)
        values = torch.ones(row.numel(), device=row.device) if weight is None else weight
        if loops:
            rowptr, row, col, values = _with_loops(rowptr, row, col, values)
        if row_scale is not None:
            values = values * row_scale[row]
        if col_scale is not None:
            values = values * col_scale[col]
        return operand(rowptr, col, values, (self.num_nodes, self.num_nodes))


def inverse_root(degree: Tensor) -> Tensor:
    """Return degree^-1/2, and 0 for a degree of 0."""
    return torch.where(degree > 0, degree, torch.inf).rsqrt()


def _with_loops(
    rowptr: Tensor, row: Tensor, col: Tensor, values: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Add a self-loop of weight 1 before the other edges of each row."""
    nodes = torch.arange(rowptr.numel(), device=row.device)
    loop = (rowptr + nodes)[:-1]
    edge = torch.arange(row.numel(), device=row.device).add_(row).add_(1)
    joined = []
    for at_loops, at_edges in ((nodes[:-1], row), (nodes[:-1], col), (values.new_ones(()), values)):
        both = at_edges.new_empty(loop.numel() + edge.numel())
        both[loop] = at_loops
        both[edge] = at_edges
        joined.append(both)
    return rowptr + nodes, joined[0], joined[1], joined[2]


def _sent(h: Tensor, matrices: Matrices) -> Tensor:
    matrix, transposed = (part.to(h.dtype) for part in matrices)
    return product(matrix, [transposed], h)
