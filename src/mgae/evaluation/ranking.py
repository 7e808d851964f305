"""Held-out edges as recommendations: is the other end among the best of all nodes?"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from mgae.core.graph import MessageGraph
from mgae.core.methods.base import Method
from mgae.evaluation.metrics import hits_by_rank

# Scores that are held at once.
_SCORES = 1 << 22


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
