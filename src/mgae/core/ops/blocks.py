"""Message edges in files as an operator: no more than a block of them is in memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from mgae.core.ops.sparse import Adjacency, csr_tensor, inverse_root, row_pointers

EDGES_AT_ONCE = 1 << 23


@dataclass(frozen=True, eq=False)
class BlockedAdjacency(Adjacency):
    """The same operator, for inference: it multiplies the edges into some nodes at a time.

    With gradients it does what `Adjacency` does, with all edges in memory.
    """

    @cached_property
    def rowptr(self) -> Tensor:
        """Where the edges into each node begin: [num_nodes + 1]."""
        return row_pointers(self.edge_index[1], self.num_nodes)

    def sum_neighbors(self, h: Tensor) -> Tensor:
        """Sum ``h`` [num_nodes, d] over the nodes that send to a node, weighted by the edges."""
        return super().sum_neighbors(h) if _needs_gradient(h) else self._multiplied(h)

    def mean_neighbors(self, h: Tensor) -> Tensor:
        """Average instead; a node to which nobody sends gets 0."""
        if _needs_gradient(h):
            return super().mean_neighbors(h)
        return self._multiplied(h).div_(torch.where(self.degree > 0, self.degree, 1).unsqueeze(1))

    def convolve(self, h: Tensor) -> Tensor:
        """Return D̂^-1/2 (A + I) D̂^-1/2 h, D̂ the degree with the self-loop."""
        if _needs_gradient(h):
            return super().convolve(h)
        scale = (self.degree + 1).rsqrt().unsqueeze(1)
        sent = h * scale
        return self._multiplied(sent).add_(sent).mul_(scale)

    def smooth(self, h: Tensor) -> Tensor:
        """Return D_in^-1/2 A D_out^-1/2 h, without self-loops; 0 where nobody sends."""
        if _needs_gradient(h) or not self.symmetric:
            return super().smooth(h)
        scale = inverse_root(self.degree).unsqueeze(1)
        return self._multiplied(h * scale).mul_(scale)

    def _multiplied(self, h: Tensor) -> Tensor:
        """Return A h."""
        out = h.new_empty(self.num_nodes, h.size(1))
        first = 0
        while first < self.num_nodes:
            begin = int(self.rowptr[first])
            last = int(torch.searchsorted(self.rowptr, begin + EDGES_AT_ONCE, right=True)) - 1
            last = min(max(last, first + 1), self.num_nodes)
            edges = slice(begin, int(self.rowptr[last]))
            values = self._values(edges, h)
            shape = (last - first, self.num_nodes)
            pointers = self.rowptr[first : last + 1] - begin
            matrix = csr_tensor(pointers, self.edge_index[0, edges], values, shape)
            torch.addmm(out[first:last], matrix, h, beta=0, out=out[first:last])
            first = last
        return out

    def _values(self, edges: slice, h: Tensor) -> Tensor:
        if self.edge_weight is None:
            return h.new_ones(edges.stop - edges.start)
        return self.edge_weight[edges].to(h.dtype)


def _needs_gradient(h: Tensor) -> bool:
    return torch.is_grad_enabled() and h.requires_grad
