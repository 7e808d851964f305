"""One node's recommendations in a graph of 169,343 nodes: all of them ranked, or candidates.

The structure is ogbn-arxiv's. Its features are not to be had here, so the model has a node table
(d = 128, K = 2), trained for a few epochs only: this measures time and recall, not quality.
Beside ours, ``nearest embeddings`` takes as candidates the largest products with the node's own
embedding, as is usual.
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

from mgae.config import RunConfig
from mgae.pipeline import run
from mgae.serving import Predictor

_STRUCTURE = "partial/ogbn_arxiv/adj_full.npz"
_TRAIN = {"step_size": 65536, "epochs": 4, "eval_every": 4, "learning_rate": 0.005}


def trained(folder: Path) -> Path:
    structure = Path(os.environ["MGAE_DATA"]) / _STRUCTURE
    config = RunConfig(graph=str(structure), train=_TRAIN, evaluation={"floors": []})
    run(config, out=folder / "run")
    return folder / "run"


def timed(call: Callable[[int], object], nodes: list[int]) -> tuple[float, float]:
    """Median and longest milliseconds, after a first call that is not counted."""
    call(nodes[0])
    taken = []
    for node in nodes[1:]:
        start = time.perf_counter()
        call(node)
        taken.append(1000 * (time.perf_counter() - start))
    return statistics.median(taken), max(taken)


def nearest_recall(predictor: Predictor, nodes: list[int], exact: dict[int, set[int]]) -> float:
    """The recall of as many candidates by the embedding itself."""
    z = torch.from_numpy(predictor.embed())
    found = [
        len(exact[node] & set(torch.topk(z @ z[node], predictor.num_candidates).indices.tolist()))
        for node in nodes
    ]
    return sum(found) / sum(map(len, exact.values()))


def measure_run(path: Path, sample: int = 50) -> dict[str, dict[str, float]]:
    torch.set_num_threads(os.cpu_count() or 1)
    predictor = Predictor.load(path)
    order = torch.randperm(predictor.num_nodes, generator=torch.Generator().manual_seed(0))
    ids = [predictor.node_ids[place] for place in order[:sample].tolist()]
    exact_ms = timed(lambda node: predictor.recommend(node, 10, exact=True), ids[:11])
    some_ms = timed(lambda node: predictor.recommend(node, 10, exact=False), ids)
    best = {node: {r.node for r in predictor.recommend(node, 10, exact=True)} for node in ids}
    some = {node: {r.node for r in predictor.recommend(node, 10, exact=False)} for node in ids}
    recall = sum(len(best[node] & some[node]) for node in ids) / sum(map(len, best.values()))
    return {
        "all nodes": {"median_ms": exact_ms[0], "longest_ms": exact_ms[1], "recall@10": 1.0},
        "candidates": {"median_ms": some_ms[0], "longest_ms": some_ms[1], "recall@10": recall},
        "nearest embeddings": {"recall@10": nearest_recall(predictor, ids, best)},
    }


def measure() -> dict[str, dict[str, float]]:
    if not (Path(os.environ.get("MGAE_DATA", "")) / _STRUCTURE).is_file():
        print(f"  left out: MGAE_DATA has no {_STRUCTURE}")
        return {}
    with tempfile.TemporaryDirectory() as folder:
        return measure_run(trained(Path(folder)))


if __name__ == "__main__":
    found = measure_run(Path(sys.argv[1])) if sys.argv[1:] else measure()
    print(json.dumps(found, indent=2))
