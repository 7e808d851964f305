"""Link prediction: held-out edges against pairs that are none."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from torch import Tensor

from mgae.config import LOSS, EvaluationSettings
from mgae.errors import GraphError, UnknownName
from mgae.evaluation import metrics
from mgae.methods.base import Method
from mgae.splits.links import LinkSplit

LinkMetric = Callable[[Any, Any], float]


def link_metrics(settings: EvaluationSettings) -> dict[str, LinkMetric]:
    """The metrics by name: ``auc``, ``ap``, ``mrr`` and ``hits@K`` for each K."""

    def hits(k: int) -> LinkMetric:
        return lambda positive, negative: metrics.hits_at(k, positive, negative)

    return {
        "auc": metrics.auc,
        "ap": metrics.average_precision,
        "mrr": metrics.mean_reciprocal_rank,
        **{f"hits@{k}": hits(k) for k in settings.hits},
    }


def evaluate_links(
    method: Method,
    split: LinkSplit,
    part: str,
    wanted: dict[str, LinkMetric],
    val_edges_as_input: bool = False,
) -> dict[str, float]:
    """Metrics in percent on ``val`` or ``test``, encoded from the message edges.

    ``val_edges_as_input`` adds the validation edges when the test is encoded.
    """
    if not split.pairs(part)[0].size(1):
        raise GraphError(f"the split has no {part} edges to measure on: raise split.{part}_ratio")
    positive, negative = held_out_scores(method, split, part, val_edges_as_input)
    if not bool(positive.isfinite().all() and negative.isfinite().all()):
        # Too large a step has ruined the weights; the training loop says what to do.
        return dict.fromkeys(wanted, math.nan)
    return {name: 100 * metric(positive, negative) for name, metric in wanted.items()}


def held_out_scores(
    method: Method, split: LinkSplit, part: str, val_edges_as_input: bool = False
) -> tuple[Tensor, Tensor]:
    """Scores of the held-out edges [n] and of their negatives [m]."""
    adding = val_edges_as_input and part == "test"
    encoded = method.encode(split.with_val_edges() if adding else split.message)
    positive, negative = (method.score_links(encoded, pairs) for pairs in split.pairs(part))
    return positive, negative


def validator(
    method: Method, split: LinkSplit, settings: EvaluationSettings, monitor: str
) -> Callable[[], float] | None:
    """What the training loop asks after an epoch: one metric on the validation edges.

    Nothing where ``monitor`` is the training loss, which the loop knows by itself.
    """
    known = link_metrics(settings)
    if monitor == LOSS:
        return None
    if monitor not in known:
        raise UnknownName("train.monitor", monitor, [*known, LOSS])
    wanted = {monitor: known[monitor]}
    return lambda: evaluate_links(method, split, "val", wanted)[monitor]
