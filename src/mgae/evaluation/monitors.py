"""What may pick the epoch: a validation metric, ``recall@K`` or ``ndcg@K``, or the loss."""

from __future__ import annotations

import re

LOSS = "loss"  # the monitor that is no validation metric


def mean_hits(monitor: str) -> tuple[int, ...] | None:
    """Return the K of a monitor that is a mean of Hits@K.

    >>> mean_hits("hits@20+50+100"), mean_hits("hits@20")
    ((20, 50, 100), None)
    """
    match = re.fullmatch(r"hits@[1-9]\d*(?:\+[1-9]\d*)+", monitor)
    return tuple(map(int, monitor.removeprefix("hits@").split("+"))) if match else None


def monitored_rank(monitor: str) -> int | None:
    """Return the K of a monitor ``recall@K`` or ``ndcg@K``.

    >>> monitored_rank("recall@10"), monitored_rank("auc")
    (10, None)
    """
    match = re.fullmatch(r"(?:recall|ndcg)@([1-9]\d*)", monitor)
    return int(match[1]) if match else None
