"""Find the strongest links that are not there yet, and the neighbors that explain them.

In a bipartite graph a pair has no neighbor in common: there the candidates are three steps apart,
and the nodes that explain a link are the head's neighbors from which two steps lead to the tail.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from mgae.core.graph import MessageGraph, edge_matrix
from mgae.core.sides import Sides
from mgae.evaluation.metrics import Floats
from mgae.serving.maps import spread
from mgae.serving.predictor import Predictor

_MOST_PATHS = 5_000_000
_MOST_SCORED = 40_000
_MOST_WALKED = 4_000  # by a method for which a pair is a walk through the graph
_LINKS_PER_NODE = 2
_NAMED = 4


@dataclass(frozen=True)
class StrongLink:
    """A pair that is no edge, by the user's ids.

    Attributes:
        shared: some of the neighbors that both have, those with the fewest neighbors first.
        num_shared: how many both have.
        source_title, target_title: what people call the two, if they have titles.
        sentence: why.
    """

    source: Any
    target: Any
    score: float
    probability: float
    shared: list[Any]
    num_shared: int
    source_title: str | None = None
    target_title: str | None = None
    sentence: str = ""


@dataclass(frozen=True)
class StrongLinks:
    """The strongest links first.

    Attributes:
        num_scored: how many pairs were looked at, of ``num_candidates``.
        num_heads: how many nodes the candidates were taken from.
        two_sided: whether the graph is bipartite.
    """

    links: list[StrongLink]
    num_scored: int
    num_candidates: int
    num_heads: int
    two_sided: bool = False


def strong_links(predictor: Predictor, most: int = 20) -> StrongLinks:
    """Rank pairs with a common neighbor; no node stands in more than two of them."""
    graph = MessageGraph.of(predictor.fields)
    joined, sides = edge_matrix(graph), graph.sides
    heads = _affordable(joined, sides)
    most_scored = _MOST_WALKED if predictor.method.shortlists else _MOST_SCORED
    pairs, count = _candidates(joined, heads, predictor.known_edges, most_scored)
    scores = predictor.score_numbers(torch.from_numpy(pairs)).logit
    chosen = _varied(pairs, scores, most)
    probability = predictor.recommended_probability(torch.from_numpy(pairs[:, chosen]))
    links = [
        _explain(joined, predictor, pairs[:, n], scores[n], chance, sides is not None)
        for n, chance in zip(chosen, probability, strict=True)
    ]
    return StrongLinks(links, pairs.shape[1], count, len(heads), sides is not None)


def _candidates(
    joined: sp.csr_array, heads: np.ndarray, known: MessageGraph, most: int
) -> tuple[np.ndarray, int]:
    """Return pairs [2, n] two or three steps apart, rarer ways first, and their count."""
    degree = np.maximum(joined.sum(axis=0), 1)
    share = sp.diags_array(1 / degree)
    walked = joined[heads] @ share @ joined
    paths = sp.coo_array(walked if known.sides is None else walked @ share @ joined)
    sources, targets = heads[paths.coords[0]], paths.coords[1]
    # A pair of two heads shows up twice.
    once = (sources < targets) | ~np.isin(targets, heads)
    pairs, weight = np.stack([sources, targets])[:, once], paths.data[once]
    if not known.undirected:
        pairs, weight = np.concatenate([pairs, pairs[::-1]], axis=1), np.tile(weight, 2)
    is_new = ~np.isin(pairs[1] * known.num_nodes + pairs[0], known.edge_keys.numpy())
    pairs, weight = pairs[:, is_new], weight[is_new]
    order = np.argsort(-weight, kind="stable")[:most]
    return pairs[:, order], pairs.shape[1]


def _affordable(joined: sp.csr_array, sides: Sides | None) -> np.ndarray:
    """Return all nodes, or so many, evenly taken, that their paths are few enough.

    In a bipartite graph they are of side 0, since a pair has only one end there.
    """
    nodes = np.arange(joined.shape[0]) if sides is None else sides.nodes[0].numpy()
    cost = joined @ joined.sum(axis=0)
    if sides is not None:
        cost = np.minimum(joined @ cost, cost * joined.shape[0])
    heads = nodes[spread(len(nodes), len(nodes))]
    while len(heads) > 1 and cost[heads].sum() > _MOST_PATHS:
        heads = nodes[spread(len(nodes), len(heads) // 2)]
    return heads


def _varied(pairs: np.ndarray, logits: Floats, most: int) -> list[int]:
    """Return the indices of the best pairs, with each node in at most a few of them."""
    uses: Counter[int] = Counter()
    chosen: list[int] = []
    for index in np.argsort(-logits, kind="stable").tolist():
        ends = pairs[:, index].tolist()
        if len(chosen) < most and all(uses[end] < _LINKS_PER_NODE for end in ends):
            chosen.append(index)
            uses.update(ends)
    return chosen


def _explain(
    joined: sp.csr_array,
    predictor: Predictor,
    pair: np.ndarray,
    score: float,
    probability: float,
    two_sided: bool,
) -> StrongLink:
    starts = joined.indptr
    head, tail = (joined.indices[starts[end] : starts[end + 1]] for end in pair)
    near = joined[tail].sum(axis=0).nonzero()[0] if two_sided else tail
    shared = np.intersect1d(head, near)
    fewest = shared[np.argsort(joined.indptr[shared + 1] - joined.indptr[shared], kind="stable")]
    nodes = predictor.nodes
    names = [nodes.name(number) for number in fewest[:_NAMED].tolist()]
    source, target = (nodes.ids[int(end)] for end in pair)
    titles = [nodes.title(int(end)) for end in pair]
    (why,) = predictor.why_scored(source, [target])
    return StrongLink(
        source,
        target,
        float(score),
        float(probability),
        names,
        len(shared),
        titles[0],
        titles[1],
        why.sentence,
    )
