"""Check that a graph keeps the contract that all later stages rely on."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from mgae.core.errors import GraphError
from mgae.data.io.bounds import LONGEST_ID, check_num_nodes

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from mgae.data.fields import GraphFields

_Graph = TypeVar("_Graph", "Data", "GraphFields")


def checked(data: _Graph) -> _Graph:
    """Return a copy of ``data`` that keeps the graph contract.

    Ids in range, no duplicate edge (weights of duplicates are added), no self-loop, finite
    features, edges sorted by target and then source, at least two nodes and one edge.
    ``undirected`` says whether every edge is there in both directions; ``node_ids`` are the user's
    own ids; ``side``, if there is one, says which of two sides each node is on, and every edge
    joins the two.

    Raises:
        GraphError: if the graph cannot be brought into that form.

    >>> from torch_geometric.data import Data
    >>> graph = checked(Data(edge_index=torch.tensor([[0, 1, 1], [1, 0, 1]]), num_nodes=2))
    >>> graph.edge_index.tolist(), graph.undirected
    ([[1, 0], [0, 1]], True)
    """
    num_nodes = int(data.num_nodes or 0)
    if num_nodes < 2:
        raise GraphError(f"a graph needs at least two nodes, got {num_nodes}")
    if data.x is None and isinstance(data.edge_index, Tensor):
        check_num_nodes("num_nodes", num_nodes, data.edge_index.size(-1))
    edge_index, weight = _edges(data, num_nodes)
    graph = _remaining(data).clone()
    graph.num_nodes, graph.node_ids = num_nodes, _node_ids(data, num_nodes)
    graph.edge_index, graph.edge_weight = edge_index, weight
    graph.undirected = _is_undirected(edge_index, weight, num_nodes)
    if graph.get("edge_time") is not None:
        graph.edge_time = _times(data, edge_index, num_nodes)
    if data.get("edge_attr") is not None:
        graph.edge_attr = _edge_features(data, edge_index, num_nodes)
    if graph.get("triples") is not None:
        graph.triples = _triples(graph.triples, edge_index, num_nodes)
    if graph.get("node_type") is not None and graph.node_type.shape != (num_nodes,):
        raise GraphError(f"node_type must have the shape [{num_nodes}]")
    if graph.get("side") is not None:
        graph.side = _side(graph.side, edge_index, num_nodes, graph.undirected)
    if graph.x is not None:
        graph.x = _features(graph.x, num_nodes)
    if graph.y is not None and not isinstance(graph.y, Tensor):
        raise GraphError(f"y must be a tensor, got a {type(graph.y).__name__}: use torch.tensor(y)")
    if graph.y is not None and graph.y.shape[:1] != (num_nodes,):
        raise GraphError(f"y must have {num_nodes:,} rows, got the shape {tuple(graph.y.shape)}")
    return graph


def adjacency(
    source: np.ndarray, target: np.ndarray, data: np.ndarray, num_nodes: int
) -> sparse.csr_array:
    """Return edges as a matrix with a row per target, the ``data`` of duplicates added.

    Counting, unlike sorting, takes time linear in the edges. Entries of zero are kept.
    """
    return sparse.coo_array((data, (target, source)), shape=(num_nodes, num_nodes)).tocsr()


def edges_of(matrix: sparse.csr_array) -> Tensor:
    """Return the entries of a matrix as edges [2, m], sorted by target (row) and then source."""
    edge_index = np.empty((2, matrix.nnz), np.int64)
    edge_index[0] = matrix.indices
    edge_index[1] = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return torch.from_numpy(edge_index)


def latest(final: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return for each of the sorted distinct ``final`` [e] the largest value among equal ``keys``.

    >>> latest(np.array([2, 5]), np.array([5, 2, 5]), np.array([1.0, 7.0, 3.0])).tolist()
    [7.0, 3.0]
    """
    result = np.full(len(final), -np.inf)
    np.maximum.at(result, np.searchsorted(final, keys), values)
    return result


def averaged(final: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return for each of the sorted distinct ``final`` [e] the mean row [e, F] of equal ``keys``.

    >>> averaged(np.array([2, 5]), np.array([5, 2, 5]), np.array([[1.0], [7.0], [3.0]])).tolist()
    [[7.0], [2.0]]
    """
    index, total = np.searchsorted(final, keys), np.zeros((len(final), values.shape[1]))
    np.add.at(total, index, values)
    return np.asarray(total / np.bincount(index, minlength=len(final))[:, None])


def standardized(values: np.ndarray) -> np.ndarray:
    """Return columns of mean 0 and deviation 1 in single floats; a constant one becomes 0."""
    deviation = values.std(axis=0)
    scaled = (values - values.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    return np.asarray(scaled, np.float32)


def _remaining(data: _Graph) -> _Graph:
    """Return all but what is replaced: PyG copies edges needlessly, and ids one by one."""
    remaining = copy.copy(data)
    remaining.edge_index = remaining.edge_weight = remaining.edge_attr = None
    remaining.node_ids = None
    return remaining


def _node_ids(data: Data, num_nodes: int) -> list[Any]:
    if data.get("node_ids") is None:
        return list(range(num_nodes))
    ids = data.node_ids.tolist() if hasattr(data.node_ids, "tolist") else list(data.node_ids)
    if len(ids) != num_nodes:
        raise GraphError(f"node_ids must name {num_nodes:,} nodes, got {len(ids):,}")
    return ids


def plain_ids(ids: Sequence[Any]) -> list[Any]:
    """Return the same ids if a file can store them: all integers, or all texts, all distinct.

    Raises:
        GraphError: at the first that is not.

    >>> plain_ids(list(np.arange(3)))
    [0, 1, 2]
    """
    plain = [node.item() if isinstance(node, np.generic) else node for node in ids]
    kind = str if isinstance(plain[0], str) else int
    for index, node in enumerate(plain):
        fits = kind is str or (type(node) is int and -(2**63) <= node < 2**63)
        if isinstance(node, str) and len(node) > LONGEST_ID:
            raise GraphError(
                f"node_ids may have {LONGEST_ID:,} characters each, got {len(node):,} at {index:,}"
            )
        if not isinstance(node, kind) or not fits:
            got = " ".join(repr(node)[:80].split())
            raise GraphError(
                f"node_ids must be all integers of 64 bits, or all texts, got {got} at {index:,}"
            )
    if len(set(plain)) < len(plain):
        twice, count = Counter(plain).most_common(1)[0]
        raise GraphError(f"node_ids must be distinct, got {twice!r} for {count:,} nodes")
    return plain


def _edges(data: Data, num_nodes: int) -> tuple[Tensor, Tensor | None]:
    edge_index = data.edge_index
    if edge_index is None or edge_index.dim() != 2 or edge_index.size(0) != 2:
        shape = None if edge_index is None else tuple(edge_index.shape)
        raise GraphError(f"edge_index must have the shape [2, edges], got {shape}")
    edge_index, weight = edge_index.long(), _weight(data)
    if edge_index.numel() and not 0 <= int(edge_index.min()) <= int(edge_index.max()) < num_nodes:
        outside = edge_index[(edge_index < 0) | (edge_index >= num_nodes)]
        raise GraphError(f"edge_index must be in [0, {num_nodes}), got {int(outside[0])}")
    kept = edge_index[0] != edge_index[1]
    if not bool(kept.all()):
        edge_index, weight = edge_index[:, kept], None if weight is None else weight[kept]
    if edge_index.size(1) == 0:
        raise GraphError("the graph has no edges (self-loops do not count)")
    return _merged(edge_index, weight, num_nodes)


def _merged(
    edge_index: Tensor, weight: Tensor | None, num_nodes: int
) -> tuple[Tensor, Tensor | None]:
    """Return a copy of the edges, sorted, with duplicates merged."""
    keys = edge_index[1] * num_nodes + edge_index[0]
    if bool((keys[1:] > keys[:-1]).all()):
        return edge_index.clone(), None if weight is None else weight.clone()
    source, target = edge_index.numpy()
    # In doubles, so that the order of duplicates does not make two directions differ.
    data = np.ones(len(source), np.int8) if weight is None else weight.double().numpy()
    matrix = adjacency(source, target, data, num_nodes)
    merged = None if weight is None else torch.from_numpy(matrix.data).float()
    if merged is not None and not bool(torch.isfinite(merged).all()):
        raise GraphError("edge_weight must be finite where duplicate edges are added up")
    return edges_of(matrix), merged


def _is_undirected(edge_index: Tensor, weight: Tensor | None, num_nodes: int) -> bool:
    """Return whether the matrix of these merged edges equals its transpose."""
    source, target = edge_index.numpy()
    data = np.ones(len(source), np.int8) if weight is None else weight.numpy()
    ends = np.searchsorted(target, np.arange(num_nodes + 1))
    matrix = sparse.csr_array((data, source, ends), shape=(num_nodes, num_nodes))
    transposed = matrix.T.tocsr()
    fields = ("indptr", "indices", "data")
    return all(np.array_equal(getattr(matrix, f), getattr(transposed, f)) for f in fields)


def _weight(data: Data) -> Tensor | None:
    if data.get("edge_weight") is None:
        return None
    weight: Tensor = data.edge_weight.float()
    if weight.shape != (data.edge_index.size(1),):
        raise GraphError(f"edge_weight must have the shape [edges], got {tuple(weight.shape)}")
    if not bool(torch.isfinite(weight).all()) or bool((weight < 0).any()):
        raise GraphError("edge_weight must be finite and not negative")
    return weight


def _times(data: Data, edge_index: Tensor, num_nodes: int) -> Tensor:
    """Return the time of each checked edge [m], the last one of duplicates."""
    time = torch.as_tensor(data.edge_time).double()
    if time.shape != (data.edge_index.size(1),) or not bool(torch.isfinite(time).all()):
        raise GraphError(
            f"edge_time must be {data.edge_index.size(1):,} finite numbers, one for each edge, "
            f"got the shape {tuple(time.shape)}"
        )
    source, target = data.edge_index.long()
    kept = source != target
    keys, final = target * num_nodes + source, edge_index[1] * num_nodes + edge_index[0]
    times = latest(final.numpy(), keys[kept].numpy(), time[kept].numpy())
    return torch.from_numpy(times)


def _edge_features(data: Data, edge_index: Tensor, num_nodes: int) -> Tensor:
    """Return the features of each checked edge [m, F], the mean of duplicates."""
    values = torch.as_tensor(data.edge_attr).float()
    values = values.unsqueeze(1) if values.dim() == 1 else values
    if values.dim() != 2 or values.size(0) != data.edge_index.size(1):
        raise GraphError(
            f"edge_attr must have the shape [{data.edge_index.size(1)}, features], "
            f"got {tuple(values.shape)}"
        )
    if not bool(torch.isfinite(values).all()):
        raise GraphError("edge_attr must be finite")
    source, target = data.edge_index.long()
    kept = source != target
    keys, final = target * num_nodes + source, edge_index[1] * num_nodes + edge_index[0]
    if keys.equal(final):
        return values
    rows = averaged(final.numpy(), keys[kept].numpy(), values[kept].double().numpy())
    return torch.from_numpy(rows).float()


def _triples(triples: Tensor, edge_index: Tensor, num_nodes: int) -> Tensor:
    """Return distinct typed edges [3, T], sorted; each is an edge of the graph."""
    if triples.dim() != 2 or triples.size(0) != 3:
        raise GraphError(f"triples must have the shape [3, edges], got {tuple(triples.shape)}")
    triples = torch.unique(triples.long()[:, triples[0] != triples[1]], dim=1)
    keys, known = (pairs[1] * num_nodes + pairs[0] for pairs in (triples, edge_index))
    if not bool(torch.isin(keys, known).all()) or bool((triples[2] < 0).any()):
        raise GraphError("triples must be edges of edge_index with a type ≥ 0")
    return triples


def _side(side: Tensor, edge_index: Tensor, num_nodes: int, undirected: bool) -> Tensor:
    side = torch.as_tensor(side)
    if side.shape != (num_nodes,):
        raise GraphError(f"side must have the shape [{num_nodes}], got {tuple(side.shape)}")
    side = side.to(torch.int8)
    if not bool(torch.isin(side, torch.tensor([-1, 0, 1], dtype=torch.int8)).all()):
        raise GraphError(f"side must be 0 or 1 (-1: unknown), got {int(side.abs().max())}")
    if not undirected:
        raise GraphError("a graph with side must have each edge in both directions: to_undirected")
    within = (side[edge_index[0]] ^ side[edge_index[1]]) != 1
    if bool(within.any()):
        source, target = edge_index[:, within][:, 0].tolist()
        raise GraphError(f"every edge must join side 0 to side 1, got the edge {source} – {target}")
    return side


def _features(x: Tensor, num_nodes: int) -> Tensor:
    if not isinstance(x, Tensor):
        raise GraphError(f"x must be a tensor, got a {type(x).__name__}: use torch.tensor(x)")
    if x.dim() != 2 or x.size(0) != num_nodes:
        raise GraphError(f"x must have the shape [{num_nodes}, features], got {tuple(x.shape)}")
    if x.is_complex():
        raise GraphError("x must be real, got complex numbers: give real and imaginary parts apart")
    x = x.float()
    if not bool(torch.isfinite(x).all()):
        row, column = (~torch.isfinite(x)).nonzero()[0].tolist()
        raise GraphError(f"x must be finite, got {float(x[row, column])} at [{row}, {column}]")
    return x
