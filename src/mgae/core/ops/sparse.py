"""Constant sparse matrices with a cheap backward: features, and message edges as an operator."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeGuard

import torch
from torch import Tensor

from mgae.core.ops import backend

# The transposed product reads its right side at random rows: this many rows stay in the cache.
_CACHED_ROWS = 1024
# From so many reads of each row on, a copy of some columns pays: of 16, a cache line of each row.
_OFTEN, _COLUMNS_AT_ONCE = 32, 16
_NARROW = torch.iinfo(torch.int32).max


@dataclass(frozen=True, eq=False)
class TransposedRows:
    """Where the values of some rows lie in the transpose of their matrix: CSR [columns, rows].

    ``order`` gives for each value its index among the matrix's values.
    """

    rowptr: Tensor
    col: Tensor
    order: Tensor
    shape: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where the values of a matrix [rows, columns] are: CSR, and its transpose in blocks of rows.

    Autograd would build the transpose anew in each backward pass; here it is built once.
    """

    rowptr: Tensor
    col: Tensor
    shape: tuple[int, int]

    def to(self, device: torch.device) -> Pattern:
        """Return the same pattern on a device."""
        rowptr, col = backend.bring(self.rowptr, device), backend.bring(self.col, device)
        return Pattern(rowptr, col, self.shape)

    @cached_property
    def blocks(self) -> list[TransposedRows]:
        """The transpose, block by block."""
        # Each block adds to the whole result, so a wide matrix has few of them.
        size = max(_CACHED_ROWS, self.shape[1])
        if self.shape[0] <= size or self.rowptr.device.type not in backend.OWN_KERNELS:
            return [self._block(0, self.shape[0], 0, self.col.numel())]
        bounds = [*range(0, self.shape[0], size), self.shape[0]]
        values = self.rowptr[bounds].tolist()
        return [
            self._block(*rows, *ends)
            for rows, ends in zip(pairwise(bounds), pairwise(values), strict=True)
        ]

    @property
    def row(self) -> Tensor:
        """The row of each value."""
        rows = torch.arange(self.shape[0], device=self.rowptr.device)
        return rows.repeat_interleave(self.rowptr.diff(), output_size=self.col.numel())

    def _block(self, start: int, stop: int, first: int, last: int) -> TransposedRows:
        """Transpose the rows from ``start`` to ``stop``, with the values ``first`` to ``last``."""
        counts = self.rowptr[start : stop + 1].diff()
        rows = torch.arange(stop - start, device=counts.device)
        row = rows.repeat_interleave(counts, output_size=last - first)
        order = torch.argsort(self.col[first:last], stable=True)
        columns = self.col[first:last][order]
        return TransposedRows(
            row_pointers(columns, self.shape[1]),
            row[order],
            first + order,
            (self.shape[1], stop - start),
        )


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A constant matrix: the ``values`` [n] of a pattern, row by row."""

    pattern: Pattern
    values: Tensor

    @classmethod
    def from_dense(cls, dense: Tensor) -> SparseMatrix:
        """Keep the non-zero values of a dense matrix."""
        row, col = dense.nonzero(as_tuple=True)
        return cls.from_coordinates(row, col, dense[row, col], (dense.size(0), dense.size(1)))

    @classmethod
    def identity(cls, size: int) -> SparseMatrix:
        """Return the one-hot features of ``size`` nodes."""
        diagonal = torch.arange(size)
        return cls.from_coordinates(diagonal, diagonal, torch.ones(size), (size, size))

    @classmethod
    def from_coordinates(
        cls, row: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]
    ) -> SparseMatrix:
        """Take values at (row, col), already sorted by row."""
        return cls(Pattern(row_pointers(row, shape[0]), col, shape), values)

    def to(self, device: torch.device) -> SparseMatrix:
        """Return the same matrix on a device."""
        return SparseMatrix(self.pattern.to(device), backend.bring(self.values, device))

    @property
    def shape(self) -> tuple[int, int]:
        """[rows, columns]."""
        return self.pattern.shape

    def with_values(self, values: Tensor) -> SparseMatrix:
        """Return the same pattern with other values."""
        return SparseMatrix(self.pattern, values)

    def __matmul__(self, dense: Tensor) -> Tensor:
        """Return the product with a dense matrix [columns, d]."""
        matrix, *transposed = (part.to(dense.dtype) for part in (self._csr, *self._transposed))
        return product(matrix, transposed, dense)

    def csr(self) -> Tensor:
        """Return the matrix as torch knows it."""
        return csr_tensor(self.pattern.rowptr, self.pattern.col, self.values, self.shape)

    def to_dense(self) -> Tensor:
        """Return the matrix with its zeros."""
        dense = self.values.new_zeros(self.shape)
        dense[self.pattern.row, self.pattern.col] = self.values
        return dense

    @cached_property
    def _csr(self) -> Operand:
        return operand(self.pattern.rowptr, self.pattern.col, self.values, self.shape)

    @cached_property
    def _transposed(self) -> list[Operand]:
        return [
            operand(block.rowptr, block.col, self.values[block.order], block.shape)
            for block in self.pattern.blocks
        ]


def propagate_before_map(h: Tensor | SparseMatrix, width: int) -> TypeGuard[Tensor]:
    """Return whether to pass messages before the map to ``width``: if ``h`` is constant and narrow.

    Constant features have no gradient, so that the backward pass sends nothing at all.
    """
    return isinstance(h, Tensor) and not h.requires_grad and h.size(1) < width


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, transposed: Sequence[Tensor], dense: Tensor) -> Tensor:
        ctx.transposed = transposed
        return _multiplied(matrix, dense)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, None, Tensor]:
        upstream, (first, *others) = grads[0].contiguous(), ctx.transposed
        total = _multiplied(first, upstream[: first.size(1)])
        start = first.size(1)
        for block in others:
            torch.addmm(total, block, upstream[start : start + block.size(1)], out=total)
            start += block.size(1)
        return None, None, total


def _multiplied(matrix: Tensor, dense: Tensor) -> Tensor:
    """Do `torch.sparse.mm`; on the CPU without its two passes that fill and copy the result.

    Where a row of ``dense`` is read often, some columns of all rows at a time stay in the cache.
    """
    if dense.device.type not in backend.OWN_KERNELS:
        return matrix @ dense
    out = dense.new_empty(matrix.size(0), dense.size(1))
    read_often = matrix.values().numel() >= _OFTEN * dense.size(0)
    width = _COLUMNS_AT_ONCE if read_often else dense.size(1)
    for into, columns in zip(out.split(width, dim=1), dense.split(width, dim=1), strict=True):
        torch.addmm(into, matrix, columns.contiguous(), beta=0, out=into)
    return out


@dataclass(frozen=True, eq=False)
class Gathered:
    """A constant matrix for devices that have no sparse products: its ``values`` at (row, col)."""

    row: Tensor
    col: Tensor
    values: Tensor
    shape: tuple[int, int]

    def to(self, dtype: torch.dtype) -> Gathered:
        """Return the same in another precision."""
        return Gathered(self.row, self.col, self.values.to(dtype), self.shape)

    def __matmul__(self, dense: Tensor) -> Tensor:
        """Return the product with a dense matrix."""
        sent = dense.index_select(0, self.col) * self.values.unsqueeze(1)
        return dense.new_zeros(self.shape[0], dense.size(1)).index_add(0, self.row, sent)


Operand = Tensor | Gathered


def product(matrix: Operand, transposed: Sequence[Operand], dense: Tensor) -> Tensor:
    """Return ``matrix @ dense`` for a constant matrix.

    ``transposed`` is its transpose, divided into blocks of columns.
    """
    if isinstance(matrix, Gathered):
        return matrix @ dense
    result: Tensor = _Product.apply(matrix, transposed, dense)  # type: ignore[no-untyped-call]
    return result


def row_pointers(sorted_rows: Tensor, num_rows: int) -> Tensor:
    """Return where each row begins: [num_rows + 1].

    >>> row_pointers(torch.tensor([0, 0, 2]), 3)
    tensor([0, 2, 2, 3])
    """
    pointers = torch.zeros(num_rows + 1, dtype=torch.long, device=sorted_rows.device)
    torch.cumsum(torch.bincount(sorted_rows, minlength=num_rows), 0, out=pointers[1:])
    return pointers


def operand(rowptr: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Operand:
    """Return what `product` takes: a torch CSR tensor, where the device multiplies those."""
    if values.device.type not in backend.SPARSE_KERNELS:
        return Gathered(Pattern(rowptr, col, shape).row, col, values, shape)
    return csr_tensor(rowptr, col, values, shape)


def csr_tensor(rowptr: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """Return a torch CSR tensor, without torch's warning that the layout is young.

    Its indices are narrow if they fit; torch would narrow them anew for each product.
    """
    if max(values.numel(), *shape) <= _NARROW:
        rowptr, col = rowptr.int(), col.int()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
        return torch.sparse_csr_tensor(rowptr, col, values, shape, check_invariants=False)


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
