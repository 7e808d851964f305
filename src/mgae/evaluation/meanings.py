"""Say in a line what a metric means."""

from __future__ import annotations

# Without the K of hits@K and others.
_MEANINGS = {
    "auc": "how often an edge scores higher than a pair that is none: 50 is guessing, 100 always",
    "ap": "the precision at each edge, averaged, going down the pairs by their score",
    "mrr": "1 / rank of an edge among pairs that are none, averaged: 100 is always first",
    "hits": "the share of edges that score higher than the {k}th best pair that is none",
    "hard_mrr": "1 / rank of an edge among pairs that look like edges, averaged",
    "hard_hits": "the share of edges among the first {k} of pairs that look like edges",
    "known_auc": "how often an edge scores higher than a pair that is known to be none",
    "recall": "the share of held-out edges among the {k} recommendations of their ends, on average",
    "recall_either": "the share of held-out edges among the {k} recommendations of either end",
    "ndcg": "held-out edges among the {k} recommendations, the higher the rank the more",
    "accuracy": "the share of nodes that get their class, by a classifier on the embedding",
    "micro_f1": "right and wrong classes of all nodes together, as F1",
    "macro_f1": "F1 of each class, averaged over the classes",
}


def meaning(metric: str) -> str:
    """Return what a metric means; an empty text if it is not known.

    >>> meaning("recall_either@10")
    'the share of held-out edges among the 10 recommendations of either end'
    """
    name, _, k = metric.partition("@")
    return _MEANINGS.get(name, "").format(k=k)
