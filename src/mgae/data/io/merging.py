"""Merge listed edges into those of a graph."""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from mgae.core.errors import GraphError
from mgae.data.checks import adjacency, averaged, edges_of, latest, standardized
from mgae.data.fields import GraphFields
from mgae.data.ids import Nodes, counted
from mgae.data.io.edges import EdgeList
from mgae.data.io.options import InputSettings


def merge_edges(edges: EdgeList, nodes: Nodes, settings: InputSettings) -> GraphFields:
    """Return a graph in which duplicates are merged and each edge has both directions.

    The weights of duplicates are added; a pair that is listed both ways gets the mean of its two
    weights. With `input.directed` no edge is reversed. Edges are sorted by target and then source;
    ``notes`` say how many were merged and dropped. With times, ``edge_time`` is that of the last
    of several equal edges, and those of both directions count as equal unless directed.

    Raises:
        GraphError: if no edge is left.
    """
    position = nodes.positions(edges.ids.texts)
    source, target = (position[codes] for codes in edges.ids.codes)
    if len(source) == 0:
        raise GraphError(f"{edges.where} has no edges")
    kept = source != target
    if not kept.any():
        raise GraphError(f"{edges.where} has no edges but {counted(len(source), 'self-loop')}")
    source, target = source[kept], target[kept]
    triples = None if edges.kind is None else np.stack([source, target, edges.kind[kept]])
    if edges.time is not None and not settings.directed:
        source, target = np.minimum(source, target), np.maximum(source, target)
    weight = _listed_weights(edges, kept, settings)
    if weight is not None and edges.time is not None and settings.repeated == "last":
        newest = _newest(source, target, edges.time[kept], len(nodes.ids))
        weight = np.where(newest, weight, 0.0)
    matrix = _matrix(source, target, weight, len(nodes.ids))
    loops, duplicates = int((~kept).sum()), int(kept.sum()) - matrix.nnz
    both = 0
    if not settings.directed:
        matrix, both = _both_ways(matrix)
    notes = [f"{counted(loops, 'self-loop')} dropped"] if loops else []
    notes += (
        [f"{counted(duplicates, 'duplicate edge')} merged{_how_merged(edges, settings)}"]
        if duplicates
        else []
    )
    notes += [f"{counted(both, 'edge')} listed both ways, counted once"] if both else []
    data = GraphFields(
        edge_index=edges_of(matrix),
        edge_weight=_merged_weights(edges.where, matrix),
        num_nodes=len(nodes.ids),
        node_ids=nodes.ids,
        notes=[*edges.notes, *(f"{edges.where}: {note}" for note in notes)],
    )
    if triples is not None:
        data.triples = torch.from_numpy(np.unique(triples.astype(np.int64), axis=1))
        data.type_names = list(edges.kinds)
    final = (data.edge_index[1] * data.num_nodes + data.edge_index[0]).numpy()
    size, ways = np.int64(len(nodes.ids)), 1 if settings.directed else 2
    keys = np.concatenate([target * size + source, source * size + target][:ways])
    if edges.features is not None:
        values = np.concatenate([edges.features[kept]] * ways)
        data.edge_attr = torch.from_numpy(standardized(averaged(final, keys, values)))
        data.edge_feature_names = list(edges.feature_names)
    if edges.time is not None:
        times = np.concatenate([edges.time[kept]] * ways)
        data.edge_time, data.dated = torch.from_numpy(latest(final, keys, times)), edges.dated
        if data.edge_weight is not None and bool((data.edge_weight == 1).all()):
            data.edge_weight = None  # no edge came twice
    return data


def _how_merged(edges: EdgeList, settings: InputSettings) -> str:
    """Return what becomes of edges that come again at other times, as the end of a note."""
    if edges.time is None:
        return ""
    if settings.repeated == "last":
        return ": only the last counts"
    what = "number" if edges.weight is None else "sum of weights"
    return f": the time of the last, their {what} as the weight (input.repeated=last: only it)"


def _listed_weights(
    edges: EdgeList, kept: np.ndarray, settings: InputSettings
) -> np.ndarray | None:
    """Return the weight of each listed edge: its own or 1, less the older it is."""
    if edges.time is None:
        return None if edges.weight is None else edges.weight[kept]
    if edges.weight is None and settings.half_life is None and settings.repeated == "last":
        return None
    time = edges.time[kept]
    weight = np.ones(len(time)) if edges.weight is None else edges.weight[kept]
    if settings.half_life is None:
        return weight
    return np.asarray(weight * np.exp2((time - time.max()) / settings.half_life))


def _newest(source: np.ndarray, target: np.ndarray, time: np.ndarray, num_nodes: int) -> np.ndarray:
    """Return which of the listed edges are the last of those with the same ends [m]."""
    keys = target * np.int64(num_nodes) + source
    order = np.lexsort((time, keys))
    last = np.r_[keys[order][1:] != keys[order][:-1], True]
    newest = np.zeros(len(keys), bool)
    newest[order[last]] = True
    return newest


def _matrix(
    source: np.ndarray, target: np.ndarray, weight: np.ndarray | None, num_nodes: int
) -> sparse.csr_array:
    """Return a matrix with a row per target; its entries are counts (1), or weight + 1j."""
    if weight is None:
        matrix = adjacency(source, target, np.ones(len(source), np.int8), num_nodes)
        matrix.data[:] = 1
        return matrix
    # In a fixed order, so that rounding does not depend on the order of the rows.
    order = np.lexsort((weight, source, target))
    matrix = adjacency(source[order], target[order], weight[order], num_nodes)
    # The imaginary part counts directions, and keeps weights of zero in the sum of two matrices.
    matrix.data = matrix.data + 1j
    return matrix


def _both_ways(matrix: sparse.csr_array) -> tuple[sparse.csr_array, int]:
    """Return every edge in both directions, and how many were listed in both.

    The number is 0 if all were: that is how a file lists an undirected graph.
    """
    both = (matrix + matrix.T).tocsr()
    directions = both.data.imag if np.iscomplexobj(both.data) else both.data
    twice = int(np.count_nonzero(directions == 2)) // 2
    return both, 0 if 2 * twice == both.nnz else twice


def _merged_weights(where: str, matrix: sparse.csr_array) -> Tensor | None:
    if not np.iscomplexobj(matrix.data):
        return None
    weight = torch.from_numpy(matrix.data.real / matrix.data.imag).float()
    if not bool(torch.isfinite(weight).all()):
        raise GraphError(f"{where}: weights of duplicate edges add up to more than 3.4e38")
    return weight
