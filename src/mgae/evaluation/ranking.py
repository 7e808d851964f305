"""Held-out edges as recommendations: is the other end among the best of all nodes?

In a bipartite graph the question is asked once per user, a node of side 0, about the nodes of side
1, as the literature on recommendation does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mgae.core.graph import MessageGraph
from mgae.core.methods.base import Method
from mgae.core.seeding import Generators
from mgae.core.sides import Sides
from mgae.core.training import distributed
from mgae.evaluation.metrics import Floats, ranks

# Scores that are in memory at once.
_SCORES = 1 << 22
MOST_EDGES = 2000  # held-out edges that are looked for


def recall_names(graph: MessageGraph) -> tuple[str, ...]:
    """Return what `recalls_at` gives for each K."""
    return ("recall", "recall_either") if graph.undirected else ("recall",)


def recalls_at(
    ks: Sequence[int],
    method: Method,
    encoded: Any,
    graph: MessageGraph,
    edges: Tensor,
    most_edges: int = MOST_EDGES,
) -> dict[str, Floats]:
    """Return of held-out ``edges`` [2, n] how far each has one end among the other's K best: [n].

    All nodes are ranked but the node itself and its neighbors in ``graph``; a method with
    shortlists ranks these alone. On an undirected graph each edge is looked for from both of its
    ends: ``recall@K`` is the mean over the two, ``recall_either@K`` counts an edge that either of
    them finds. Of more than ``most_edges`` so many random ones are looked for.
    """
    if edges.size(1) > most_edges:
        chosen = torch.randperm(edges.size(1), generator=Generators(0)["probe"])[:most_edges]
        edges = edges[:, chosen]
    both_ways = torch.cat([edges, edges.flip(0)], dim=1) if graph.undirected else edges
    rank = _ranks(method, encoded, graph, both_ways).view(-1, edges.size(1))
    shares = {f"recall@{k}": (rank <= k).double().mean(dim=0).numpy() for k in ks}
    if graph.undirected:
        best = rank.amin(dim=0)
        shares |= {f"recall_either@{k}": (best <= k).double().numpy() for k in ks}
    return shares


def ranking_metrics(k: int, graph: MessageGraph) -> tuple[str, ...]:
    """Return the names of the metrics at ``k``: NDCG is measured per user only."""
    names = recall_names(graph) if graph.sides is None else ("recall", "ndcg")
    return tuple(f"{name}@{k}" for name in names)


def ranking_figures(
    ks: Sequence[int],
    method: Method,
    encoded: Any,
    graph: MessageGraph,
    edges: Tensor,
    known: Tensor | None = None,
    max_users: int = 0,
    most_edges: int = MOST_EDGES,
) -> dict[str, Floats]:
    """Return the metrics of `ranking_metrics` for each held-out edge [n], or each user, in [0, 1].

    The figure is the mean.

    Args:
        ks: the K.
        method: what is measured, with what it made of ``graph`` in ``encoded``.
        graph: its edges are not looked for again.
        edges: those that should be among the best K.
        known: more edges [2, m] that a user of a bipartite graph is not to be offered.
        max_users: users that are asked for, evenly taken; 0: all that have a held-out edge.
        most_edges: edges that are looked for in a graph without sides.
    """
    if graph.sides is None:
        return recalls_at(ks, method, encoded, graph, edges, most_edges)
    edges = _from_users(graph.sides, edges)
    users = torch.unique(edges[0])
    if 0 < max_users < users.numel():
        users = users[torch.arange(max_users) * users.numel() // max_users]
    chosen = graph.edge_index[:, graph.sides.of[graph.edge_index[0]] == 0]
    if known is not None:
        chosen = torch.cat([chosen, _from_users(graph.sides, known)], dim=1)
    per_user: list[Floats] = []
    for some in _mine(users, graph.num_nodes):
        per_user += _user_ranks(method, encoded, graph, some, edges, chosen)
    per_user = list(chain.from_iterable(distributed.gathered(per_user)))
    return {
        name: np.array([measure(k, user_ranks) for user_ranks in per_user])
        for k in ks
        for name, measure in zip(ranking_metrics(k, graph), (recall_of, ndcg_of), strict=True)
    }


def recall_of(k: int, user_ranks: Floats) -> float:
    """Return the share of a user's held-out items that rank among the best ``k``.

    >>> recall_of(3, np.array([1.0, 3.0, 8.0, 9.0]))
    0.5
    """
    return float(np.mean(user_ranks <= k))


def ndcg_of(k: int, user_ranks: Floats) -> float:
    """Return Σ 1 / log2(rank + 1) of the held-out items at or above ``k``, over the best possible.

    >>> ndcg_of(3, np.array([1.0, 8.0]))  # 1 of 1 + 1 / log2(3)
    0.6131471927654584
    """
    gains = 1 / np.log2(user_ranks[user_ranks <= k] + 1)
    return float(gains.sum() / (1 / np.log2(np.arange(min(k, user_ranks.size)) + 2)).sum())


def _from_users(sides: Sides, edges: Tensor) -> Tensor:
    """Turn edges across the sides so that the end on side 0 comes first."""
    return torch.where(sides.of[edges[0]] == 0, edges, edges.flip(0))


def _user_ranks(
    method: Method,
    encoded: Any,
    graph: MessageGraph,
    users: Tensor,
    edges: Tensor,
    chosen: Tensor,
) -> list[Floats]:
    """Return for each user the ranks of its held-out items among those it is not joined to."""
    assert graph.sides is not None
    items = graph.sides.nodes[1]
    if method.shortlists:
        scores = offered(method, encoded, graph, users)[:, items]
    else:
        scores = method.score_tails(encoded, users, items).float()
    row, column = (torch.full((graph.num_nodes,), -1) for _ in range(2))
    row[users], column[items] = torch.arange(users.numel()), torch.arange(items.numel())
    known = chosen[:, row[chosen[0]] >= 0]
    scores[row[known[0]], column[known[1]]] = -math.inf
    asked = edges[:, row[edges[0]] >= 0]
    order = torch.argsort(row[asked[0]], stable=True)
    counts = torch.bincount(row[asked[0]], minlength=users.numel()).tolist()
    columns = column[asked[1]][order].split(counts)
    # Each item is one of those that it is compared with, and equal to itself.
    pairs = zip(scores, columns, strict=True)
    return [np.where(own[at] > -math.inf, ranks(own[at], own) - 0.5, np.inf) for own, at in pairs]


def recall_at(k: int, method: Method, encoded: Any, graph: MessageGraph, edges: Tensor) -> float:
    """Return ``recall@K`` of one K."""
    return float(recalls_at([k], method, encoded, graph, edges)[f"recall@{k}"].mean())


def candidates(graph: MessageGraph) -> int:
    """Return how many nodes may be the other end of an edge."""
    return graph.num_nodes - 1 if graph.sides is None else graph.sides.nodes[1].numel()


def _ranks(method: Method, encoded: Any, graph: MessageGraph, edges: Tensor) -> Tensor:
    """Return the rank of each edge's target among all that are offered to its source: [n]."""
    rank = torch.zeros(edges.size(1), dtype=torch.double)
    for chunk in _mine(torch.unique(edges[0]), graph.num_nodes):
        rows = offered(method, encoded, graph, chunk)
        mine = torch.isin(edges[0], chunk).nonzero().squeeze(1)
        heads, tails = edges[:, mine]
        row = torch.searchsorted(chunk, heads)
        others = rows[row].scatter(1, tails.unsqueeze(1), -math.inf)
        own = rows[row, tails]
        rank[mine] = torch.from_numpy(ranks(own, others)).masked_fill(own == -math.inf, math.inf)
    return distributed.sum_up(rank)


def _mine(heads: Tensor, num_nodes: int) -> tuple[Tensor, ...]:
    """Return the heads that this rank ranks tails for, in chunks of `_SCORES` scores."""
    mine = heads[distributed.part(heads.numel())]
    return mine.split(max(1, _SCORES // num_nodes)) if mine.numel() else ()


def offered(method: Method, encoded: Any, graph: MessageGraph, heads: Tensor) -> Tensor:
    """Return scores [h, num_nodes] of sorted ``heads``; -inf for what is not recommended.

    That is the head, its neighbors and in a bipartite graph its own side; of a method with
    shortlists all that is not on them.
    """
    if method.shortlists and graph.undirected:
        likely = method.shortlist(encoded, heads)
        scores = torch.full((heads.numel(), graph.num_nodes), -math.inf)
        scores[likely.head, likely.tail] = likely.scores
    else:
        scores = method.score_tails(encoded, heads, torch.arange(graph.num_nodes)).float()
    row = torch.full((graph.num_nodes,), -1)
    row[heads] = torch.arange(heads.numel())
    known = graph.edge_index[:, row[graph.edge_index[0]] >= 0]
    scores[row[known[0]], known[1]] = -math.inf
    if graph.sides is not None:
        everyone = torch.arange(graph.num_nodes)
        scores[~graph.sides.across(heads.unsqueeze(1), everyone)] = -math.inf
    return scores.scatter_(1, heads.unsqueeze(1), -math.inf)
