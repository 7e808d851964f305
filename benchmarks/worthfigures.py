"""What a method's scores of hidden edges are worth, in percent."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.worthgraphs import HiddenEdges
from mgae.core.errors import TrainingError, UnsupportedError
from mgae.core.graph import MessageGraph
from mgae.evaluation import metrics
from mgae.serving import Predictor

EITHER, BOTH = "recall@10 either", "recall@10 both"
METRICS = ("auc", "ap", EITHER, BOTH, "hard_mrr")
TOP, OFFICIAL_TOP = 10, 20
OFFICIAL_METRICS = (f"recall@{OFFICIAL_TOP}", f"ndcg@{OFFICIAL_TOP}")
_SCORES_AT_ONCE = 1 << 22
_PAIRS_AT_ONCE, _FEWEST_PAIRS = 16384, 256

Tails = Callable[[Tensor], Tensor]  # heads [h] to their scores with all nodes [h, num_nodes]


class Scores:
    """What a predictor says of pairs and of all tails of a head, from all edges it has."""

    def __init__(self, predictor: Predictor) -> None:
        self.predictor = predictor
        self.encoded: Any = predictor._ranking.encoded
        self.nodes = torch.arange(predictor.num_nodes)
        self.listed = predictor._ranking.listed

    def links(self, pairs: Tensor) -> Tensor:
        """Return the score of each of ``pairs`` [2, n] that tells edges from other pairs."""
        return self._scores(pairs, self.predictor.method.score_links)

    def ranks(self, pairs: Tensor) -> Tensor:
        """Return the score of each of ``pairs`` [2, n] that orders the tails of a head."""
        return self._scores(pairs, self.predictor.method.rank_links)

    def _scores(self, pairs: Tensor, score: Callable[[Any, Tensor], Tensor]) -> Tensor:
        turned, order = _by_head(pairs)
        blocks = turned.split(_PAIRS_AT_ONCE, dim=1)
        scores = torch.cat([self._block(block, score) for block in blocks])
        return torch.empty_like(scores).index_copy_(0, order, scores)

    def _block(self, pairs: Tensor, score: Callable[[Any, Tensor], Tensor]) -> Tensor:
        try:
            return _finite(score(self.encoded, pairs).double())
        except UnsupportedError:
            # A heuristic that walks from each head refuses many heads at once: ask for fewer.
            if pairs.size(1) < _FEWEST_PAIRS:
                raise
        half = pairs.size(1) // 2
        return torch.cat([self._block(part, score) for part in pairs.tensor_split([half], dim=1)])

    def tails(self, heads: Tensor, nodes: Tensor | None = None) -> Tensor:
        """Return scores [h, n] of heads with all nodes, or with ``nodes`` [n]."""
        if nodes is None and self.listed:
            return self._listed(heads)
        tails = self.nodes if nodes is None else nodes
        return _finite(self.predictor.method.score_tails(self.encoded, heads, tails).float())

    def _listed(self, heads: Tensor) -> Tensor:
        """Return scores of what is recommended, as `recommend` has it: shortlists alone."""
        likely = self.predictor.method.shortlist(self.encoded, heads)
        rest = float(likely.scores.min()) - 1 if len(likely.scores) else 0.0
        scores = torch.full((heads.numel(), self.predictor.num_nodes), rest)
        scores[likely.head, likely.tail] = _finite(likely.scores)
        return scores


def _finite(scores: Tensor) -> Tensor:
    if not bool(scores.isfinite().all()):
        raise TrainingError("some scores are not finite: the training has failed")
    return scores


def _by_head(pairs: Tensor) -> tuple[Tensor, Tensor]:
    """Sort pairs by the end that comes more often, and return where each was."""
    often = torch.bincount(pairs.flatten())
    turned = torch.where(often[pairs[1]] > often[pairs[0]], pairs.flip(0), pairs)
    order = torch.argsort(turned[0], stable=True)
    return turned[:, order], order


def figures(scores: Scores, task: HiddenEdges) -> dict[str, float]:
    """Return all metrics."""
    pairs = torch.cat([task.hidden, task.negatives], dim=1)
    positive, negative = scores.links(pairs).split(task.hidden.size(1))
    message = MessageGraph.of(task.graph)
    either, both = recalls(TOP, scores.tails, message, task.ranked, task.side)
    values = (
        metrics.auc(positive, negative),
        metrics.average_precision(positive, negative),
        either,
        both,
        hard_mrr(scores, task),
    )
    return {name: 100 * value for name, value in zip(METRICS, values, strict=True)}


def hard_mrr(scores: Scores, task: HiddenEdges) -> float:
    """Return the mean reciprocal rank of each ranked edge among its own hard negatives."""
    there = task.hard[0] >= 0
    count = task.ranked.size(1)
    both = scores.ranks(torch.cat([task.ranked, task.hard[:, there]], dim=1))
    negative = torch.full(there.shape, -math.inf, dtype=both.dtype)
    negative[there] = both[count:]
    return metrics.mean_reciprocal_rank(both[:count], negative)


def recalls(
    k: int, tails: Tails, message: MessageGraph, edges: Tensor, side: Tensor | None = None
) -> tuple[float, float]:
    """Return the shares of ``edges`` [2, n] among the ``k`` best of either end, and of both.

    The first counts an edge that one of its two ends has among its best, the second is the mean
    over both ends. A node's neighbors in ``message``, the node itself and on a bipartite graph its
    own side are left out. Equal scores stand in random order, of which this is the expectation.
    """
    chance = torch.zeros(2, edges.size(1), dtype=torch.double)
    for end, ends in enumerate((edges, edges.flip(0))):
        for heads in torch.unique(ends[0]).split(max(1, _SCORES_AT_ONCE // message.num_nodes)):
            offered = _offered(tails(heads), message, heads, side)
            for head, row in zip(heads.tolist(), offered, strict=True):
                asked = (ends[0] == head).nonzero().squeeze(1)
                chance[end, asked] = _chances(k, row, ends[1, asked])
    either = 1 - (1 - chance[0]) * (1 - chance[1])
    return float(either.mean()), float(chance.mean())


def _chances(k: int, row: Tensor, tails: Tensor) -> Tensor:
    """Return how likely each of ``tails`` is among the ``k`` best of a row of scores."""
    parts = []
    for some in row[tails].split(64):
        above = (row > some[:, None]).sum(dim=1)
        equal = (row == some[:, None]).sum(dim=1)
        parts.append(((k - above).double() / equal).clamp(0, 1))
    return torch.cat(parts)


def _offered(scores: Tensor, message: MessageGraph, heads: Tensor, side: Tensor | None) -> Tensor:
    """Return scores [h, num_nodes] with -inf for what is not offered to a head."""
    row = torch.full((message.num_nodes,), -1)
    row[heads] = torch.arange(heads.numel())
    known = message.edge_index[:, row[message.edge_index[0]] >= 0]
    scores = scores.clone()
    scores[row[known[0]], known[1]] = -math.inf
    scores.scatter_(1, heads.unsqueeze(1), -math.inf)
    if side is not None:
        scores[side[heads][:, None] == side] = -math.inf
    return scores


def official_figures(
    scores: Scores, known: MessageGraph, users: int, test: Tensor
) -> dict[str, float]:
    """Return recall@20 and ndcg@20 as fractions, averaged over the users that have test items.

    ``test`` are users and items [2, n] by the nodes' numbers; items follow the users. All items
    that are not neighbors in ``known`` are ranked; a method that recommends from shortlists has
    the items on them first, as `recommend` has it.
    """
    asked = torch.unique(test[0])
    items = torch.arange(users, known.num_nodes)
    wanted = _lists(test, known.num_nodes)
    edges = _lists(known.edge_index, known.num_nodes)
    values = []
    for heads in asked.split(max(1, _SCORES_AT_ONCE // items.numel())):
        listed = scores.tails(heads)[:, users:] if scores.listed else scores.tails(heads, items)
        block = listed.clone()
        for row, head in zip(block, heads.tolist(), strict=True):
            row[torch.from_numpy(edges(head)) - users] = -math.inf
            best = users + torch.topk(row, min(OFFICIAL_TOP, row.numel())).indices.numpy()
            values.append(recall_and_ndcg(np.isin(best, wanted(head)), len(wanted(head))))
    recall, ndcg = np.mean(values, axis=0)
    return dict(zip(OFFICIAL_METRICS, (float(recall), float(ndcg)), strict=True))


def _lists(edges: Tensor, num_nodes: int) -> Callable[[int], np.ndarray]:
    """Return a function from a source to its targets."""
    order = torch.argsort(edges[0], stable=True)
    start = torch.searchsorted(edges[0][order], torch.arange(num_nodes + 1)).numpy()
    targets = edges[1][order].numpy()
    return lambda node: targets[start[node] : start[node + 1]]


def recall_and_ndcg(hits: np.ndarray, wanted: int) -> tuple[float, float]:
    """Return both from whether each of the best is wanted, best first, as LightGCN counts.

    Each hit gains 1 / log2(1 + rank); the ideal order has all that are wanted first, up to the cut.
    """
    gain = 1 / np.log2(np.arange(2, hits.size + 2))
    return hits.sum() / wanted, float(gain[hits].sum() / gain[:wanted].sum())
