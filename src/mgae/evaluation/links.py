"""Link prediction: held-out edges against pairs that are none."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mgae.core.errors import ConfigError, GraphError, UnknownName
from mgae.core.graph import MessageGraph
from mgae.core.methods.base import Method
from mgae.core.training.distributed import divided
from mgae.data.splits.links import LinkSplit
from mgae.evaluation import metrics
from mgae.evaluation.measured import Measured
from mgae.evaluation.monitors import LOSS, mean_hits, monitored_rank
from mgae.evaluation.ranking import MOST_EDGES, candidates, ranking_figures, ranking_metrics

LinkMetric = Callable[[Any, Any], float]
_HARD_HITS = (1, 10)
HARD_METRICS = ("hard_mrr", *(f"hard_hits@{k}" for k in _HARD_HITS))


def link_metrics(hits_at: Sequence[int] = ()) -> dict[str, LinkMetric]:
    """Return the metrics by name: ``auc``, ``ap``, ``mrr`` and ``hits@K`` for each K."""

    def hits(k: int) -> LinkMetric:
        return lambda positive, negative: metrics.hits_at(k, positive, negative)

    return {
        "auc": metrics.auc,
        "ap": metrics.average_precision,
        "mrr": metrics.mean_reciprocal_rank,
        **{f"hits@{k}": hits(k) for k in hits_at},
    }


def hard_parts(monitor: str) -> tuple[str, ...]:
    """Return the parts whose edges need hard negatives, if any are asked for."""
    return ("val", "test") if monitor in HARD_METRICS else ("test",)


def evaluate_links(
    method: Method, split: LinkSplit, part: str, wanted: dict[str, LinkMetric], **options: Any
) -> dict[str, float]:
    """Return the figures of `measure_links` alone."""
    return measure_links(method, split, part, wanted, **options).figures


def measure_links(
    method: Method,
    split: LinkSplit,
    part: str,
    wanted: dict[str, LinkMetric],
    val_edges_as_input: bool = False,
    recalls: Sequence[int] = (),
    max_users: int = 0,
    most_edges: int = MOST_EDGES,
) -> Measured:
    """Return metrics in percent on ``val`` or ``test``, encoded from the message edges.

    Several ranks score a part of the pairs each, and all of them get the figures.

    ``val_edges_as_input`` adds the validation edges when the test is encoded. ``recalls`` asks for
    ``recall@K`` of these K, of at most ``most_edges`` edges; in a bipartite graph for the mean of
    ``max_users`` users (0: all), and for ``ndcg@K`` too. Where the part has hard negatives, there
    are ``hard_mrr`` and ``hard_hits@K`` too.
    """
    if not split.pairs(part)[0].size(1):
        raise GraphError(f"the split has no {part} edges to measure on: raise split.{part}_ratio")
    visible = _visible(split, part, val_edges_as_input)
    encoded = method.encode(visible)
    positives, _ = split.pairs(part)
    asked = split.asked(part, method.typed)
    positive, negative = (divided(partial(method.score_links, encoded), pairs) for pairs in asked)
    hard = split.hard_negatives(part)
    if not bool(positive.isfinite().all() and negative.isfinite().all()):
        # Too large a step has ruined the weights; the training loop says what to do.
        names = [
            *wanted,
            *(name for k in recalls for name in ranking_metrics(k, visible)),
            *(() if hard is None else HARD_METRICS),
        ]
        return Measured(dict.fromkeys(names, math.nan))
    figures = {name: 100 * metric(positive, negative) for name, metric in wanted.items()}
    scores = positive.double().numpy(), negative.double().numpy()
    values: dict[str, metrics.Floats] = {}
    if recalls:
        # An item that a user has chosen between training and test is no answer for the test.
        known = split.val if part == "test" else None
        ks = tuple(dict.fromkeys(recalls))
        values = ranking_figures(
            ks, method, encoded, visible, positives, known, max_users, most_edges
        )
    if hard is not None:
        if asked[0].size(0) == 3:
            hard = torch.cat([hard, asked[0][2].view(1, -1, 1).expand_as(hard[:1])])
        ranked = divided(partial(method.rank_links, encoded), asked[0])
        values |= _hard_values(ranked, _hard_scores(method, encoded, hard))
    figures |= {name: 100 * float(np.mean(one)) for name, one in values.items()}
    percent = {name: 100 * one for name, one in values.items()}
    return Measured(figures, percent, scores, chance=_chance(visible, *scores, recalls))


def _chance(
    graph: MessageGraph, positive: metrics.Floats, negative: metrics.Floats, recalls: Sequence[int]
) -> dict[str, float]:
    """Return what guessing gives, in percent."""
    share = len(positive) / max(1, len(positive) + len(negative))
    recall = {f"recall@{k}": 100 * min(1.0, k / max(1, candidates(graph))) for k in recalls}
    return {"auc": 50.0, "ap": 100 * share, **recall}


def _hard_scores(method: Method, encoded: Any, pairs: Tensor) -> Tensor:
    """Return scores [n, m] of pairs [2, n, m] or triples [3, n, m]; a missing one scores -inf."""
    there = pairs[0] >= 0
    scores = torch.full(there.shape, -math.inf)
    scores[there] = divided(partial(method.rank_links, encoded), pairs[:, there]).float()
    return scores


def _hard_values(positive: Tensor, negative: Tensor) -> dict[str, metrics.Floats]:
    """Return for each test edge 1 / rank among its own hard negatives, and whether it is a hit."""
    rank = metrics.ranks(positive, negative)
    hits = {f"hard_hits@{k}": (rank <= k).astype(float) for k in _HARD_HITS}
    return {"hard_mrr": 1 / rank, **hits}


def held_out_scores(
    method: Method, split: LinkSplit, part: str, val_edges_as_input: bool = False
) -> tuple[Tensor, Tensor]:
    """Return the scores of the held-out edges [n] and of their negatives [m]."""
    encoded = method.encode(_visible(split, part, val_edges_as_input))
    asked = split.asked(part, method.typed)
    positive, negative = (divided(partial(method.score_links, encoded), pairs) for pairs in asked)
    return positive, negative


def _visible(split: LinkSplit, part: str, val_edges_as_input: bool) -> MessageGraph:
    adding = val_edges_as_input and part == "test"
    return split.with_val_edges() if adding else split.message


def validator(
    method: Method,
    split: LinkSplit,
    monitor: str,
    hits_at: Sequence[int] = (),
    max_users: int = 0,
) -> Callable[[], float] | None:
    """Return what the training loop calls after an epoch: one metric on the validation edges.

    None if ``monitor`` is the training loss, which the loop knows by itself.
    """
    known, several = link_metrics(hits_at), mean_hits(monitor)
    if several is not None and set(several) <= set(hits_at):
        each = [known[f"hits@{k}"] for k in several]
        known[monitor] = lambda edges, others: float(np.mean([one(edges, others) for one in each]))
    recalls = [k for k in [monitored_rank(monitor)] if k is not None]
    if monitor == LOSS:
        return None
    if monitor in HARD_METRICS and split.hard_negatives("val") is None:
        raise ConfigError(
            f"train.monitor is {monitor} and there are no hard negatives: raise "
            "evaluation.hard_negatives, or where the graph is too large for them monitor auc"
        )
    if monitor not in known and not recalls and monitor not in HARD_METRICS:
        raise UnknownName("train.monitor", monitor, [*known, *HARD_METRICS, "recall@10", LOSS])
    if monitor.startswith("ndcg@") and split.message.sides is None:
        raise ConfigError(
            f"train.monitor is {monitor}, which is measured in a bipartite graph only: "
            f"monitor recall@{recalls[0]}"
        )
    _require_enough_negatives(monitor, split.val_negatives.size(1))
    wanted = {monitor: known[monitor]} if monitor in known else {}
    return lambda: evaluate_links(
        method, split, "val", wanted, recalls=recalls, max_users=max_users
    )[monitor]


def _require_enough_negatives(monitor: str, num_negatives: int) -> None:
    """Refuse hits@K among fewer than K negatives: every epoch would have 100."""
    name, _, k = monitor.partition("@")
    if name == "hits" and max(map(int, k.split("+"))) > num_negatives:
        raise ConfigError(
            f"train.monitor is {monitor} and there are {num_negatives:,} negatives to validate on, "
            "so that every epoch would have 100: monitor auc, or raise split.val_ratio"
        )
