"""Link prediction: held-out edges against pairs that are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mgae.config import EvaluationSettings
from mgae.errors import UnknownName
from mgae.evaluation import metrics
from mgae.graphs.message import MessageGraph
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
    message: MessageGraph | None = None,
) -> dict[str, float]:
    """Metrics in percent on ``val`` or ``test``, encoded from the message edges."""
    encoded = method.encode(message or split.message)
    positive, negative = (method.score_links(encoded, pairs) for pairs in split.pairs(part))
    return {name: 100 * metric(positive, negative) for name, metric in wanted.items()}


def validator(
    method: Method, split: LinkSplit, settings: EvaluationSettings, monitor: str
) -> Callable[[], float]:
    """What the training loop asks after an epoch: one metric on the validation edges."""
    known = link_metrics(settings)
    if monitor not in known:
        raise UnknownName("train.monitor", monitor, known)
    wanted = {monitor: known[monitor]}
    return lambda: evaluate_links(method, split, "val", wanted)[monitor]
