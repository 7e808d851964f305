"""From listed edges to those of a graph: each once, or once in each direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from mgae.core.errors import GraphError
from mgae.data.checks import adjacency, edges_of
from mgae.data.ids import Nodes, counted
from mgae.data.io.edges import EdgeList


@dataclass(frozen=True)
class MergedEdges:
    """Edges of a graph.

    Attributes:
        edge_index: [2, e], sorted by target and then source, without duplicates and self-loops.
        weight: [e], or None.
        notes: how many were merged and dropped.
    """

    edge_index: Tensor
    weight: Tensor | None
    notes: tuple[str, ...]


def merged(edges: EdgeList, nodes: Nodes, directed: bool) -> MergedEdges:
    """Merge duplicates, adding their weights, and give each edge both directions.

    A pair that is listed both ways has the mean of its two weights; with ``directed`` it is two
    edges, and no edge is turned.

    Raises:
        GraphError: where no edge is left.
    """
    position = nodes.positions(edges.ids.texts)
    source, target = (position[codes] for codes in edges.ids.codes)
    if len(source) == 0:
        raise GraphError(f"{edges.where} has no edges")
    kept = source != target
    if not kept.any():
        raise GraphError(f"{edges.where} has no edges but {counted(len(source), 'self-loop')}")
    weight = None if edges.weight is None else edges.weight[kept]
    matrix = _matrix(source[kept], target[kept], weight, len(nodes.ids))
    loops, duplicates = int((~kept).sum()), int(kept.sum()) - matrix.nnz
    both = 0
    if not directed:
        matrix, both = _both_ways(matrix)
    notes = [f"{counted(loops, 'self-loop')} dropped"] if loops else []
    notes += [f"{counted(duplicates, 'duplicate edge')} merged"] if duplicates else []
    notes += [f"{counted(both, 'edge')} listed both ways, counted once"] if both else []
    notes = [f"{edges.where}: {note}" for note in notes]
    return MergedEdges(edges_of(matrix), _weights(edges.where, matrix), tuple(notes))


def _matrix(
    source: np.ndarray, target: np.ndarray, weight: np.ndarray | None, num_nodes: int
) -> sparse.csr_array:
    """A row per target; entries are counts (1), or weight + 1j."""
    if weight is None:
        matrix = adjacency(source, target, np.ones(len(source), np.int8), num_nodes)
        matrix.data[:] = 1
        return matrix
    # In an order of their own, so that rounding does not depend on the order of the rows.
    order = np.lexsort((weight, source, target))
    matrix = adjacency(source[order], target[order], weight[order], num_nodes)
    # The imaginary part counts directions, and keeps weights of zero in the sum of two matrices.
    matrix.data = matrix.data + 1j
    return matrix


def _both_ways(matrix: sparse.csr_array) -> tuple[sparse.csr_array, int]:
    """Every edge in both directions, and how many were there in both.

    None is said where all were: that is how a file lists an undirected graph.
    """
    both = (matrix + matrix.T).tocsr()
    twice = int(np.count_nonzero(_directions(both) == 2)) // 2
    return both, 0 if 2 * twice == both.nnz else twice


def _directions(matrix: sparse.csr_array) -> np.ndarray:
    return np.asarray(matrix.data.imag if np.iscomplexobj(matrix.data) else matrix.data)


def _weights(where: str, matrix: sparse.csr_array) -> Tensor | None:
    if not np.iscomplexobj(matrix.data):
        return None
    weight = torch.from_numpy(matrix.data.real / matrix.data.imag).float()
    if not bool(torch.isfinite(weight).all()):
        raise GraphError(f"{where}: weights of duplicate edges add up to more than 3.4e38")
    return weight
