"""Held-out edges as recommendations: is the other end among the best of all nodes?

In a bipartite graph the question is asked once per user, a node of side 0, about the nodes of side
1, as the literature on recommendation does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mgae.core.graph import MessageGraph
from mgae.core.methods.base import Method
from mgae.core.sides import Sides
from mgae.evaluation.metrics import Floats, hits_by_rank, ranks

# Scores that are held at once.
_SCORES = 1 << 22


def ranking_metrics(k: int, two_sided: bool) -> tuple[str, ...]:
    """Return the names of the metrics at ``k``: NDCG is measured per user only."""
    return (f"recall@{k}", f"ndcg@{k}") if two_sided else (f"recall@{k}",)


def ranking_figures(
    ks: Sequence[int],
    method: Method,
    encoded: Any,
    graph: MessageGraph,
    edges: Tensor,
    known: Tensor | None = None,
    max_users: int = 0,
) -> dict[str, float]:
    """Return the metrics of `ranking_metrics` for held-out ``edges`` [2, n], as fractions.

    Args:
        ks: the K.
        method: what is measured, with what it made of ``graph`` in ``encoded``.
        graph: its edges are not looked for again.
        edges: those that should be among the best K.
        known: more edges [2, m] that a user of a bipartite graph is not to be offered.
        max_users: users that are asked for, evenly taken; 0: all that have a held-out edge.
    """
    if graph.sides is None:
        return {f"recall@{k}": recall_at(k, method, encoded, graph, edges) for k in ks}
    edges = _from_users(graph.sides, edges)
    users = torch.unique(edges[0])
    if 0 < max_users < users.numel():
        users = users[torch.arange(max_users) * users.numel() // max_users]
    chosen = graph.edge_index[:, graph.sides.of[graph.edge_index[0]] == 0]
    if known is not None:
        chosen = torch.cat([chosen, _from_users(graph.sides, known)], dim=1)
    per_user: list[Floats] = []
    for some in users.split(max(1, _SCORES // graph.num_nodes)):
        per_user += _user_ranks(method, encoded, graph, some, edges, chosen)
    return {
        name: float(np.mean([measure(k, found) for found in per_user]))
        for k in ks
        for name, measure in zip(ranking_metrics(k, True), (recall_of, ndcg_of), strict=True)
    }


def recall_of(k: int, found: Floats) -> float:
    """Return the share of a user's held-out items that rank among the best ``k``.

    >>> recall_of(3, np.array([1.0, 3.0, 8.0, 9.0]))
    0.5
    """
    return float(np.mean(found <= k))


def ndcg_of(k: int, found: Floats) -> float:
    """Return Σ 1 / log2(rank + 1) of the held-out items at or above ``k``, over the best possible.

    >>> ndcg_of(3, np.array([1.0, 8.0]))  # 1 of 1 + 1 / log2(3)
    0.6131471927654584
    """
    gains = 1 / np.log2(found[found <= k] + 1)
    return float(gains.sum() / (1 / np.log2(np.arange(min(k, found.size)) + 2)).sum())


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
    return [ranks(own[at], own) - 0.5 for own, at in zip(scores, columns, strict=True)]


def recall_at(k: int, method: Method, encoded: Any, graph: MessageGraph, edges: Tensor) -> float:
    """Return the share of held-out ``edges`` [2, n] with one end among the other's ``k`` best.

    All nodes are ranked but the node itself and its neighbors in ``graph``; on an undirected graph
    each edge is looked for from both of its ends.
    """
    if graph.undirected:
        edges = torch.cat([edges, edges.flip(0)], dim=1)
    hits = 0.0
    for chunk in torch.unique(edges[0]).split(max(1, _SCORES // graph.num_nodes)):
        offered = _offered(method, encoded, graph, chunk)
        heads, tails = edges[:, torch.isin(edges[0], chunk)]
        row = torch.searchsorted(chunk, heads)
        others = offered[row].scatter(1, tails.unsqueeze(1), -math.inf)
        hits += heads.numel() * hits_by_rank(k, offered[row, tails], others)
    return hits / edges.size(1)


def _offered(method: Method, encoded: Any, graph: MessageGraph, heads: Tensor) -> Tensor:
    """Return scores [h, num_nodes] of sorted ``heads`` with all nodes; -inf for known edges."""
    scores = method.score_tails(encoded, heads, torch.arange(graph.num_nodes)).float()
    row = torch.full((graph.num_nodes,), -1)
    row[heads] = torch.arange(heads.numel())
    known = graph.edge_index[:, row[graph.edge_index[0]] >= 0]
    scores[row[known[0]], known[1]] = -math.inf
    return scores.scatter_(1, heads.unsqueeze(1), -math.inf)
