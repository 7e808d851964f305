"""One node's recommendations in a graph of 169,343 nodes: all of them ranked, or candidates.

The structure is ogbn-arxiv's. Its features are not to be had here, so the model has a node table
(d = 128, K = 2), trained for a few epochs only: this measures time and recall, not quality.
Beside ours, ``own embedding`` and ``gradient`` take as many candidates by one of the two ways alone
that ours are halved between. ``cpu_ms`` is the processor's time: on a machine that others use too,
the time on the wall is theirs as well.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from mgae.runs.config import RunConfig
from mgae.runs.pipeline import run
from mgae.serving import Predictor

Figures = dict[str, dict[str, float]]
_STRUCTURE = "partial/ogbn_arxiv/adj_full.npz"
_TRAIN = {"step_size": 65536, "epochs": 4, "eval_every": 4, "learning_rate": 0.005}


def trained(folder: Path) -> Path:
    structure = Path(os.environ["MGAE_DATA"]) / _STRUCTURE
    config = RunConfig(graph=str(structure), train=_TRAIN, evaluation={"heuristics": []})
    run(config, out=folder / "run")
    return folder / "run"


def timed(call: Callable[[int], object], nodes: list[int]) -> dict[str, float]:
    """Median and longest milliseconds, after a first call that is not counted."""
    call(nodes[0])
    wall, cpu = [], []
    for node in nodes[1:]:
        start, used = time.perf_counter(), time.process_time()
        call(node)
        wall.append(1000 * (time.perf_counter() - start))
        cpu.append(1000 * (time.process_time() - used))
    return {
        "median_ms": statistics.median(wall),
        "longest_ms": max(wall),
        "cpu_ms": statistics.median(cpu),
    }


def one_way(predictor: Predictor, heads: Tensor, best: list[Tensor], way: int) -> float:
    """The recall of as many candidates by one kind of query alone."""
    ranking = predictor._ranking
    candidates, count, hits = ranking.candidates, predictor.num_candidates, 0
    for head, tails in zip(heads.tolist(), best, strict=True):
        most = count + len(ranking.neighbors.of(head)) + 1
        query = candidates._queries(head)[way : way + 1]
        hits += int(torch.isin(tails, candidates.index_of(int(head))[1].search(query, most)).sum())
    return hits / sum(map(len, best))


def measure_run(path: Path, sample: int = 50, threads: int | None = None) -> Figures:
    torch.set_num_threads(threads or os.cpu_count() or 1)
    predictor = Predictor.load(path)
    order = torch.randperm(predictor.num_nodes, generator=torch.Generator().manual_seed(0))
    heads = order[:sample]
    ids = [predictor.node_ids[number] for number in heads.tolist()]
    exact = timed(lambda node: predictor.recommend(node, 10, exact=True), ids[:11])
    some = timed(lambda node: predictor.recommend(node, 10, exact=False), ids)
    best = [ranked.nodes for ranked in predictor._ranking.exact(heads, 10)]
    proposed = [ranked.nodes for ranked in predictor._ranking.proposed(heads, 10)]
    hits = sum(int(torch.isin(a, b).sum()) for a, b in zip(best, proposed, strict=True))
    return {
        "all nodes": {**exact, "recall@10": 1.0},
        "candidates": {**some, "recall@10": hits / sum(map(len, best))},
        "gradient": {"recall@10": one_way(predictor, heads, best, 0)},
        "own embedding": {"recall@10": one_way(predictor, heads, best, 1)},
    }


def measure() -> Figures:
    if not (Path(os.environ.get("MGAE_DATA", "")) / _STRUCTURE).is_file():
        print(f"  left out: MGAE_DATA has no {_STRUCTURE}")
        return {}
    with tempfile.TemporaryDirectory() as folder:
        return measure_run(trained(Path(folder)))


if __name__ == "__main__":
    figures = measure_run(Path(sys.argv[1])) if sys.argv[1:] else measure()
    print(json.dumps(figures, indent=2))
