"""What may pick the epoch: a validation metric, ``recall@K`` among all nodes, or the loss."""

from __future__ import annotations

import re

LOSS = "loss"  # the monitor that is no validation metric


def monitored_recall(monitor: str) -> int | None:
    """Return the K of a monitor ``recall@K``.

    >>> monitored_recall("recall@10"), monitored_recall("auc")
    (10, None)
    """
    match = re.fullmatch(r"recall@([1-9]\d*)", monitor)
    return int(match[1]) if match else None
