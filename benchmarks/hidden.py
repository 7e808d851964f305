"""A tenth of Cora's edges taken away beforehand: are they among the ten that are recommended?

Hits@10: for each hidden edge and each of its two ends, whether the other end is among the ten best
of all nodes that the end is not joined to in the remaining graph, in percent. Other hidden
neighbors are not taken out of the way. Everything, also the choice of the epoch, sees the
remaining 90% of the edges alone.
"""

from __future__ import annotations

import json
import statistics
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from benchmarks.settings import RANKED
from mgae.core.seeding import Generators
from mgae.data import MessageGraph, checked, load_graph
from mgae.data.splits.links import split_links
from mgae.runs.build import build_method
from mgae.runs.layering import merge
from mgae.runs.presets import paper_config
from mgae.runs.trial import Trial
from mgae.serving import Predictor

HEURISTICS = ("common-neighbors", "adamic-adar", "resource-allocation", "raw-features")


def hidden_tenth(seed: int) -> tuple[Data, Tensor]:
    """Cora with a tenth of its edges less, and these [2, n]."""
    graph = load_graph("cora")
    split = split_links(MessageGraph.of(graph), 0.0, 0.1, Generators(seed)["split"])
    edges = split.message.edge_index
    return checked(Data(x=graph.x, edge_index=edges, num_nodes=graph.num_nodes)), split.test


def ours(graph: Data, seed: int, **changes: Any) -> Predictor:
    """Trained on the remaining edges, of which a twentieth chooses the epoch."""
    split = {"val_ratio": 0.05, "test_ratio": 0.0, "seed": seed}
    given = {"graph": "cora", "seed": seed, "split": split}
    config = paper_config(**merge(given, changes))
    trial = Trial(config, graph, MessageGraph.of(graph))
    trial.fit()
    return Predictor.of(trial.method, config, graph, trial.split)


def heuristic(graph: Data, name: str) -> Predictor:
    config = paper_config(graph="cora").for_method(name)
    method = build_method(config, MessageGraph.of(graph), Generators(0)["init"])
    return Predictor(method, config, graph)


def hits(predictor: Predictor, hidden: Tensor, k: int = 10) -> float:
    """In percent; the nodes' numbers are their ids here."""
    wanted = {(u, v) for u, v in torch.cat([hidden, hidden.flip(0)], dim=1).t().tolist()}
    count = 0
    for head in sorted({u for u, _ in wanted}):
        count += sum((head, r.node) in wanted for r in predictor.recommend(head, k))
    return 100 * count / len(wanted)


def measure_seed(seed: int) -> dict[str, float]:
    graph, hidden = hidden_tenth(seed)
    heuristics = {name: hits(heuristic(graph, name), hidden) for name in HEURISTICS}
    return {"mgae": hits(ours(graph, seed, **RANKED), hidden), **heuristics}


def averaged(metric: str, runs: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Mean and standard deviation of each row over the seeds."""
    columns = {name: [run[name] for run in runs] for name in runs[0]}
    return {
        name: {metric: statistics.mean(values), "std": statistics.stdev(values)}
        for name, values in columns.items()
    }


def measure(seeds: int = 5) -> dict[str, dict[str, float]]:
    return averaged("hits@10", [measure_seed(seed) for seed in range(seeds)])


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
