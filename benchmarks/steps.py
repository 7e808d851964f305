"""(a) An epoch on Planetoid and a step on ogbl-ddi: ours, plain PyG, and the floor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch_geometric.data import Data

from benchmarks.reference import PlainTraining
from benchmarks.timing import alternating
from mgae.config import RunConfig
from mgae.errors import GraphError
from mgae.evaluation.links import evaluate_links, link_metrics
from mgae.evaluation.metrics import auc, average_precision
from mgae.graphs import MessageGraph, load_graph
from mgae.methods import build_method
from mgae.reproduction import paper_config
from mgae.seeding import Generators
from mgae.splits import LinkSplit, split_links
from mgae.training.loop import Stepper

REPEATS = {"cora": 30, "citeseer": 30, "pubmed": 8, "ogbl-ddi": 5}


class OurTraining:
    """The package's own steps, taken one at a time."""

    def __init__(self, config: RunConfig, message: MessageGraph) -> None:
        self.message, self.generators = message, Generators(0)
        self.method = build_method(config, message, self.generators["init"])
        self.stepper = Stepper(self.method, config.train)
        self.losses: Iterator[Any] = iter(())

    def step(self) -> None:
        """The next step, of a new epoch where the last one is over."""
        self.method.train()
        following = next(self.losses, None)
        if following is None:
            self.losses = self.method.losses(self.message, self.generators)
            following = next(self.losses)
        self.stepper.step(*following)


def floor(config: RunConfig, pairs: int) -> Callable[[], None]:
    """The three matrix products that no implementation of the decoder can do without."""
    assert config.encoder and config.decoder
    width, chunk = 4 * config.encoder.hidden_channels, 4096
    weight = torch.randn(width, config.decoder.hidden_channels)
    crossed, upstream = torch.randn(chunk, width), torch.randn(chunk, weight.size(1))

    def products() -> None:
        for start in range(0, pairs, chunk):
            count = min(chunk, pairs - start)
            left, right = crossed[:count], upstream[:count]
            left @ weight, right @ weight.t(), left.t() @ right

    return products


def measure(name: str) -> dict[str, float]:
    """Milliseconds and ratios of one graph, with and without evaluation."""
    graph = load_graph(name)
    config = paper_config(graph=name, protocol="paper", encoder={"feature_dropout": 0.0})
    whole = MessageGraph.of(graph)
    chance = torch.Generator().manual_seed(0)
    official = graph.get("val_edges") is not None
    split = (
        LinkSplit.official(graph, whole, chance)
        if official
        else split_links(whole, config.split, chance)
    )
    return _measured(name, graph, config, split)


def _measured(name: str, graph: Data, config: RunConfig, split: LinkSplit) -> dict[str, float]:
    assert config.encoder and config.decoder
    seen = Data(x=graph.x, edge_index=split.message.edge_index, num_nodes=graph.num_nodes)
    directed, step_size = config.mask.kind == "directed", config.train.step_size
    ours = OurTraining(config, split.message)
    plain = PlainTraining(
        seen,
        config.encoder.hidden_channels,
        config.decoder.hidden_channels,
        directed,
        step_size,
    )
    pairs = 2 * (step_size or round(0.7 * plain.edges.size(1)))
    figures = alternating(
        {
            "plain": plain.next_step,
            "ours": ours.step,
            "floor": floor(config, pairs),
        },
        REPEATS[name],
    )
    result = {f"{key}_ms": 1000 * value for key, value in figures.items()}
    result["plain_over_ours"] = figures["plain"] / figures["ours"]
    result["ours_over_floor"] = figures["ours"] / figures["floor"]
    return {**result, **_with_evaluation(name, ours, plain, split)}


def _with_evaluation(
    name: str, ours: OurTraining, plain: PlainTraining, split: LinkSplit
) -> dict[str, float]:
    """A step and a validation in both; then the authors' habit of scoring all three parts."""
    wanted = {
        key: value
        for key, value in link_metrics(ours.method.config.evaluation).items()
        if key in ("auc", "ap")
    }
    train_part = plain.edges[:, : split.test.size(1)]

    def plain_scores(*parts: torch.Tensor) -> None:
        plain.next_step()
        scores = plain.score(*parts)
        for positive, negative in zip(scores[::2], scores[1::2], strict=True):
            auc(positive, negative), average_precision(positive, negative)

    def ours_scores() -> None:
        ours.step()
        evaluate_links(ours.method, split, "val", wanted)

    habit = partial(
        plain_scores, train_part, split.test_negatives, *split.pairs("val"), *split.pairs("test")
    )
    figures = alternating(
        {"plain": partial(plain_scores, *split.pairs("val")), "habit": habit, "ours": ours_scores},
        max(3, REPEATS[name] // 2),
    )
    return {
        "with_validation_plain_over_ours": figures["plain"] / figures["ours"],
        "authors_habit_over_ours": figures["habit"] / figures["ours"],
    }


def measure_all() -> dict[str, dict[str, float]]:
    """Every graph that is at hand."""
    found: dict[str, dict[str, float]] = {}
    for name in REPEATS:
        try:
            found[name] = measure(name)
        except GraphError as error:
            print(f"  {name}: left out, {error}")
    return found
