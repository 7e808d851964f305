"""Training steps of two processes with one thread each, against one process.

``python -m benchmarks.ranks [NAME]`` prints, for PubMed and ogbl-ddi, how many times as many steps
two ranks take as one process with one thread and with two, the median of rounds that alternate. On
a busy machine the clock says little: beside it stands what follows from the processor's seconds of
the busiest rank (a rank that waits for the other uses none).

``python -m benchmarks.ranks --auc`` trains Cora from 5 seeds with one rank and with two.
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import time
from functools import partial
from typing import Any

import torch
from tests.ranks.gang import together

from benchmarks.__main__ import print_figures
from benchmarks.steps import OurTraining
from mgae.core.seeding import Generators
from mgae.core.training import distributed
from mgae.data import MessageGraph, load_graph
from mgae.data.splits import LinkSplit, split_links
from mgae.runs.pipeline import run
from mgae.runs.presets import paper_config

STEPS = {"pubmed": 3, "ogbl-ddi": 1}
ROUNDS = {"pubmed": 5, "ogbl-ddi": 2}
WAYS = {"one thread": (1, 1), "two threads": (1, 2), "two ranks": (2, 1)}  # ranks, threads


def measure(name: str) -> dict[str, float]:
    """Ratios of throughput on one graph."""
    seconds: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    for _ in range(ROUNDS[name]):
        for way, (ranks, threads) in WAYS.items():
            taken = together(_steps, name, threads, ranks=ranks, patience=3600, start="spawn")
            seconds[way].append((max(wall for wall, _ in taken), max(cpu for _, cpu in taken)))
    wall, cpu = (
        {way: statistics.median(pair[kind] for pair in pairs) for way, pairs in seconds.items()}
        for kind in range(2)
    )
    return {
        "two ranks over one thread, by the clock": wall["one thread"] / wall["two ranks"],
        "over two threads, by the clock": wall["two threads"] / wall["two ranks"],
        "over one thread, by processor seconds": cpu["one thread"] / cpu["two ranks"],
        "milliseconds a step of one thread, by processor": 1e3 * cpu["one thread"] / STEPS[name],
        "load": os.getloadavg()[0],
    }


def _steps(name: str, threads: int) -> tuple[float, float]:
    """Take steps after a first one; return the seconds of the clock and of the processor."""
    torch.set_num_threads(threads)
    config, message = _training(name)
    training = OurTraining(config, message)
    training.generators.fork(distributed.share())
    training.step()
    distributed.gathered(None)
    wall, cpu = time.perf_counter(), _processor()
    for _ in range(STEPS[name]):
        training.step()
    return time.perf_counter() - wall, _processor() - cpu


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _training(name: str) -> tuple[Any, MessageGraph]:
    config = paper_config(graph=name)
    graph = load_graph(name)
    message = MessageGraph.of(graph)
    if graph.get("val_edges") is not None:
        return config, LinkSplit.official(graph, message, Generators(0)["split"]).message
    return config, split_links(message, 0.05, 0.1, Generators(0)["split"]).message


def aucs(seeds: int = 5) -> dict[str, float]:
    """Test AUC on Cora, the mean and deviation of one rank and of two."""
    figures: dict[str, float] = {}
    for ranks in (1, 2):
        values = together(_cora, seeds, ranks=ranks, patience=7200, start="spawn")[0]
        figures |= {
            f"{ranks} ranks, mean": statistics.mean(values),
            f"{ranks} ranks, deviation": statistics.stdev(values),
        }
    return figures


def _cora(seeds: int) -> list[float]:
    config = paper_config(graph="cora", runs=seeds, evaluation={"heuristics": ()})
    return [seed.test["auc"] for seed in run(config).seeds]


def main() -> None:
    if "--auc" in sys.argv:
        print_figures({"AUC on Cora, 5 seeds, with one rank and with two": aucs})
        return
    names = [name for name in STEPS if name in sys.argv] or list(STEPS)
    print_figures({f"two ranks on {name}": partial(measure, name) for name in names})


if __name__ == "__main__":
    main()
