"""Gowalla and MovieLens-1M by their official splits: recall@20 and ndcg@20 of each user."""

from __future__ import annotations

import time
from typing import Any

import torch

from benchmarks.worthfigures import official_figures
from benchmarks.worthgraphs import BIPARTITE, bipartite, official_parts
from benchmarks.worthmethods import ROWS, configure, fit
from mgae.core.graph import MessageGraph

OFFICIAL = tuple(f"{name}-official" for name in BIPARTITE)
# He et al., LightGCN, 2020: recall@20 and ndcg@20 of its best setting, by the authors' README.
PUBLISHED = {"gowalla-official": {"recall@20": 0.1824, "ndcg@20": 0.1547}}


def official_cell(graph: str, method: str, seed: int) -> dict[str, Any]:
    """Return figures, seconds and settings; all but the test edges are given to the method."""
    parts = official_parts(graph.removesuffix("-official"))
    every = torch.cat(list(parts.values()), dim=1)
    users, items = (int(row.max()) + 1 for row in every)
    test = parts.pop("test")
    given = bipartite(torch.cat(list(parts.values()), dim=1), (users, items))
    fitted = fit(configure(ROWS[method], graph, seed), given)
    started = time.process_time()
    wanted = torch.stack([test[0], test[1] + users])
    measured = official_figures(fitted.scores, MessageGraph.of(given), users, wanted)
    return fitted.describe(measured, time.process_time() - started)
