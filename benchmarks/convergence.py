"""(b) The whole time to the best validation epoch, evaluation included: ours and plain PyG."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import torch
from torch_geometric.data import Data

from benchmarks.steps import OurTraining, PlainTraining
from mgae.data import MessageGraph, load_graph
from mgae.data.splits import split_links
from mgae.evaluation.links import evaluate_links
from mgae.evaluation.metrics import auc
from mgae.runs.presets import paper_config

GRAPHS = ("cora", "citeseer")


def until_best(
    step: Callable[[], None], score: Callable[[], float], epochs: int
) -> dict[str, float]:
    """Seconds and epochs until the best score of a training, and of all its epochs."""
    best, best_epoch, at_best, start = -math.inf, 0, 0.0, time.perf_counter()
    for epoch in range(1, epochs + 1):
        step()
        reached = score()
        if reached > best:
            best, best_epoch, at_best = reached, epoch, time.perf_counter() - start
    whole = time.perf_counter() - start
    return {"best_auc": 100 * best, "best_epoch": best_epoch, "to_best_s": at_best, "all_s": whole}


def measure(name: str) -> dict[str, float]:
    """Both on one split and with one model, without stopping early."""
    graph = load_graph(name)
    config = paper_config(graph=name, protocol="paper", encoder={"feature_dropout": 0.0})
    chance = torch.Generator().manual_seed(0)
    ratios = config.split.val_ratio, config.split.test_ratio
    split = split_links(MessageGraph.of(graph), *ratios, chance)
    ours = OurTraining(config, split.message)
    visible = Data(x=graph.x, edge_index=split.message.edge_index, num_nodes=graph.num_nodes)
    assert config.encoder and config.decoder
    widths = config.encoder.hidden_channels, config.decoder.hidden_channels
    plain = PlainTraining(visible, *widths)
    results = {
        "ours": until_best(
            ours.step,
            lambda: evaluate_links(ours.method, split, "val", {"auc": auc})["auc"] / 100,
            config.train.epochs,
        ),
        "plain": until_best(
            plain.next_step, lambda: auc(*plain.score(*split.pairs("val"))), config.train.epochs
        ),
    }
    figures = {
        f"{who}_{key}": value for who, result in results.items() for key, value in result.items()
    }
    figures["all_epochs_plain_over_ours"] = results["plain"]["all_s"] / results["ours"]["all_s"]
    return figures


def measure_all() -> dict[str, dict[str, float]]:
    return {name: measure(name) for name in GRAPHS}
