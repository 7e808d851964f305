"""The message edges as a sparse matrix: a row receives, a column sends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from mgae.ops import sparse


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Message edges [2, m], sorted by target and then source, as an operator on node features.

    ``symmetric`` promises that each edge has its reverse with the same weight, so that the matrix
    is its own transpose.
    """

    edge_index: Tensor
    num_nodes: int
    edge_weight: Tensor | None = None
    symmetric: bool = False

    @cached_property
    def degree(self) -> Tensor:
        """The summed weight of the edges into each node: [num_nodes]."""
        if self.edge_weight is None:
            return torch.bincount(self.edge_index[1], minlength=self.num_nodes).float()
        zeros = self.edge_weight.new_zeros(self.num_nodes)
        return zeros.index_add_(0, self.edge_index[1], self.edge_weight)

    def sum_neighbors(self, h: Tensor) -> Tensor:
        """For each node the weighted sum of ``h`` [num_nodes, d] over the nodes that send to it."""
        matrix, transposed = (part.to(h.dtype) for part in self._matrices)
        return sparse.product(matrix, transposed, h)

    @cached_property
    def _matrices(self) -> tuple[Tensor, Tensor]:
        source, target = self.edge_index
        matrix = self._csr(target, source, self.edge_weight)
        if self.symmetric:
            return matrix, matrix
        order = torch.argsort(source, stable=True)
        weight = None if self.edge_weight is None else self.edge_weight[order]
        return matrix, self._csr(source[order], target[order], weight)

    def _csr(self, row: Tensor, col: Tensor, weight: Tensor | None) -> Tensor:
        values = torch.ones(row.numel()) if weight is None else weight
        rowptr = sparse.row_pointers(row, self.num_nodes)
        return sparse.csr_tensor(rowptr, col, values, (self.num_nodes, self.num_nodes))
