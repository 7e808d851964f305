"""The strongest links that are not there yet, and the neighbors that explain them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from mgae.core.graph import MessageGraph, edge_matrix
from mgae.evaluation.metrics import Floats
from mgae.serving.maps import spread
from mgae.serving.predictor import Predictor

_MOST_PATHS = 5_000_000
_MOST_SCORED = 40_000
_LINKS_PER_NODE = 2
_NAMED = 4


@dataclass(frozen=True)
class StrongLink:
    """A pair that is no edge, by the user's ids.

    Attributes:
        shared: some of the neighbors that both have, those with the fewest neighbors first.
        num_shared: how many both have.
    """

    source: Any
    target: Any
    score: float
    probability: float
    shared: list[Any]
    num_shared: int


@dataclass(frozen=True)
class StrongLinks:
    """The strongest links first.

    Attributes:
        num_scored: how many pairs were looked at, of ``num_candidates``.
        num_heads: how many nodes the candidates were taken from.
    """

    links: list[StrongLink]
    num_scored: int
    num_candidates: int
    num_heads: int


def strong_links(predictor: Predictor, most: int = 20) -> StrongLinks:
    """Ranks pairs with a common neighbor; no node stands in more than two of them."""
    message = MessageGraph.of(predictor.graph)
    joined = edge_matrix(message)
    heads = _affordable(joined)
    known = torch.cat([message.edge_keys, *_official(predictor.graph, message)])
    pairs, count = _candidates(joined, message, heads, known)
    ids = predictor.node_ids
    scores = predictor.score_places(torch.from_numpy(pairs))
    chosen = _varied(pairs, scores.logit, most)
    links = [
        _explained(joined, ids, pairs[:, n], scores.logit[n], scores.probability[n]) for n in chosen
    ]
    return StrongLinks(links, pairs.shape[1], count, len(heads))


def _candidates(
    joined: sp.csr_array, message: MessageGraph, heads: np.ndarray, known: Tensor
) -> tuple[np.ndarray, int]:
    """Pairs [2, n] two steps apart, those with rarer common neighbors first, and their count."""
    degree = np.maximum(joined.sum(axis=0), 1)
    paths = sp.coo_array(joined[heads] @ sp.diags_array(1 / degree) @ joined)
    sources, targets = heads[paths.coords[0]], paths.coords[1]
    # A pair of two heads shows up twice.
    once = (sources < targets) | ~np.isin(targets, heads)
    pairs, weight = np.stack([sources, targets])[:, once], paths.data[once]
    if not message.undirected:
        pairs, weight = np.concatenate([pairs, pairs[::-1]], axis=1), np.tile(weight, 2)
    free = ~torch.isin(_keys(torch.from_numpy(pairs), message), known).numpy()
    pairs, weight = pairs[:, free], weight[free]
    order = np.argsort(-weight, kind="stable")[:_MOST_SCORED]
    return pairs[:, order], pairs.shape[1]


def _affordable(joined: sp.csr_array) -> np.ndarray:
    """All nodes, or so many evenly taken ones that their two-step paths stay within bounds."""
    num_nodes = joined.shape[0]
    cost = joined @ joined.sum(axis=0)
    heads = spread(num_nodes, num_nodes)
    while len(heads) > 1 and cost[heads].sum() > _MOST_PATHS:
        heads = spread(num_nodes, len(heads) // 2)
    return heads


def _official(graph: Data, message: MessageGraph) -> list[Tensor]:
    """The edges that came with the graph for validation and test: they are no news either."""
    parts = [graph.get(name) for name in ("val_edges", "test_edges")]
    pairs = [part for part in parts if part is not None]
    both = [*pairs, *(part.flip(0) for part in pairs)] if message.undirected else pairs
    return [_keys(part, message) for part in both]


def _keys(pairs: Tensor, message: MessageGraph) -> Tensor:
    """As `MessageGraph.edge_keys`."""
    return pairs[1] * message.num_nodes + pairs[0]


def _varied(pairs: np.ndarray, logits: Floats, most: int) -> list[int]:
    """The best pairs, none of whose nodes has had its share of places."""
    seen: dict[int, int] = {}
    chosen: list[int] = []
    for place in np.argsort(-logits, kind="stable"):
        ends = [int(end) for end in pairs[:, place]]
        if len(chosen) < most and all(seen.get(end, 0) < _LINKS_PER_NODE for end in ends):
            chosen.append(int(place))
            seen.update({end: seen.get(end, 0) + 1 for end in ends})
    return chosen


def _explained(
    joined: sp.csr_array, ids: Any, pair: np.ndarray, score: float, probability: float
) -> StrongLink:
    head, tail = (joined.indices[slice(*joined.indptr[[end, end + 1]])] for end in pair)
    shared = np.intersect1d(head, tail)
    fewest = shared[np.argsort(joined.indptr[shared + 1] - joined.indptr[shared], kind="stable")]
    names = [ids[place] for place in fewest[:_NAMED]]
    source, target = (ids[int(end)] for end in pair)
    return StrongLink(source, target, float(score), float(probability), names, len(shared))
