"""Held-out edges as recommendations: is the other end among the best of all nodes?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mgae.core.graph import MessageGraph
from mgae.core.methods.base import Method
from mgae.core.seeding import Generators
from mgae.evaluation.metrics import ranks

# Scores that are in memory at once.
_SCORES = 1 << 22
# Of more held-out edges than this, so many random ones are looked for.
_MOST_EDGES = 2000


def recall_names(graph: MessageGraph) -> tuple[str, ...]:
    """Return what `recalls_at` gives for each K."""
    return ("recall", "recall_either") if graph.undirected else ("recall",)


def recalls_at(
    ks: Sequence[int], method: Method, encoded: Any, graph: MessageGraph, edges: Tensor
) -> dict[str, float]:
    """Return the shares of held-out ``edges`` [2, n] with one end among the other's K best.

    All nodes are ranked but the node itself and its neighbors in ``graph``; a method with
    shortlists ranks these alone. On an undirected graph each edge is looked for from both of its
    ends: ``recall@K`` is the mean over the two, ``recall_either@K`` counts an edge that either of
    them finds.
    """
    if edges.size(1) > _MOST_EDGES:
        chosen = torch.randperm(edges.size(1), generator=Generators(0)["probe"])[:_MOST_EDGES]
        edges = edges[:, chosen]
    both_ways = torch.cat([edges, edges.flip(0)], dim=1) if graph.undirected else edges
    rank = _ranks(method, encoded, graph, both_ways).view(-1, edges.size(1))
    shares = {f"recall@{k}": float((rank <= k).double().mean()) for k in ks}
    if graph.undirected:
        best = rank.amin(dim=0)
        shares |= {f"recall_either@{k}": float((best <= k).double().mean()) for k in ks}
    return shares


def recall_at(k: int, method: Method, encoded: Any, graph: MessageGraph, edges: Tensor) -> float:
    """Return ``recall@K`` of one K."""
    return recalls_at([k], method, encoded, graph, edges)[f"recall@{k}"]


def _ranks(method: Method, encoded: Any, graph: MessageGraph, edges: Tensor) -> Tensor:
    """Return the rank of each edge's target among all that are offered to its source: [n]."""
    rank = torch.empty(edges.size(1), dtype=torch.double)
    for chunk in torch.unique(edges[0]).split(max(1, _SCORES // graph.num_nodes)):
        offered = _offered(method, encoded, graph, chunk)
        mine = torch.isin(edges[0], chunk).nonzero().squeeze(1)
        heads, tails = edges[:, mine]
        row = torch.searchsorted(chunk, heads)
        others = offered[row].scatter(1, tails.unsqueeze(1), -math.inf)
        own = offered[row, tails]
        rank[mine] = torch.from_numpy(ranks(own, others)).masked_fill(own == -math.inf, math.inf)
    return rank


def _offered(method: Method, encoded: Any, graph: MessageGraph, heads: Tensor) -> Tensor:
    """Return scores [h, num_nodes] of sorted ``heads``; -inf for what is not recommended."""
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
    return scores.scatter_(1, heads.unsqueeze(1), -math.inf)
