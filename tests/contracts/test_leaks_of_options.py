"""No option lets a held-out edge in: sides, times, weights, sketches, instant, the final fit.

Each compares a training with one whose graph never had the held-out edges: the same weights and
scores, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from mgae.core.graph import MessageGraph
from mgae.data import checked
from mgae.data.splits.links import LinkSplit
from mgae.evaluation.links import held_out_scores
from mgae.runs.config import RunConfig
from mgae.runs.pipeline import run
from mgae.runs.trial import Trial, draw_split
from tests.conftest import QUICK, toy_data
from tests.reliability import Tally

SMALL: dict[str, Any] = {
    "graph": "toy",
    "method": QUICK,
    "encoder": {"kind": "gcn", "hidden_channels": 4},
    "decoder": {"hidden_channels": 4},
    "train": {"epochs": 2},
    "evaluation": {"heuristics": (), "hard_negatives": 3},
}
SKETCHES = {"encoder": {"kind": "gcn", "hidden_channels": 4, "inputs": "sketches"}}


def timed() -> Data:
    graph = toy_data(24, 80)
    low, high = graph.edge_index.sort(dim=0).values
    graph.edge_time = ((low * 7 + high * 11) % 29).double()
    return checked(graph)


def two_sided() -> Data:
    generator = torch.Generator().manual_seed(0)
    cells = torch.randperm(10 * 14, generator=generator)[:70]
    pairs = torch.stack([cells % 10, 10 + cells // 10])
    side = torch.tensor([0] * 10 + [1] * 14, dtype=torch.int8)
    x = torch.rand(24, 5, generator=generator)
    edges = torch.cat([pairs, pairs.flip(0)], dim=1)
    return checked(Data(x=x, edge_index=edges, num_nodes=24, side=side))


def bare() -> Data:
    return toy_data(24, 80, num_features=None)


# What stands in the way of a leak: the graph, and the settings that could open it.
CASES: dict[str, tuple[Callable[[], Data], dict[str, Any]]] = {
    "evidence and blend": (lambda: toy_data(24, 80), {}),
    "sketches of the visible edges": (bare, SKETCHES),
    "inductive inputs": (bare, {"encoder": {**SKETCHES["encoder"], "inputs": "inductive"}}),
    "two sides": (two_sided, {}),
    "two sides, sketches": (two_sided, SKETCHES),
    "the last edges of time": (timed, {"split": {"by": "time"}}),
    "times, and random edges": (timed, {"split": {"by": "random"}}),
    "weights": (lambda: toy_data(24, 80, weighted=True), {}),
    "directions": (lambda: toy_data(24, 80, directed=True), {}),
    "the instant answer": (lambda: toy_data(24, 80), {"method": {"kind": "instant"}}),
}


def without(graph: Data, split: LinkSplit) -> Data:
    """Return the graph as it would be if nobody had ever seen the held-out edges."""
    never = graph.clone()
    kept = set(map(tuple, split.message.edge_index.t().tolist()))
    mask = torch.tensor([pair in kept for pair in map(tuple, graph.edge_index.t().tolist())])
    for name in ("edge_index", "edge_weight", "edge_time"):
        if never.get(name) is not None:
            never[name] = never[name][..., mask]
    return checked(never)


def outcome(config: RunConfig, graph: Data, split: LinkSplit) -> dict[str, torch.Tensor]:
    """Return the trained weights, and the scores of all held-out pairs."""
    trial = Trial(config, graph, MessageGraph.of(graph), split)
    trial.fit()
    scores = [held_out_scores(trial.method, split, part, False) for part in ("val", "test")]
    flat = {f"scores {k}": side for k, side in enumerate(s for pair in scores for s in pair)}
    return {**trial.method.state_dict(), **flat}


@pytest.mark.parametrize("case", CASES)
def test_no_option_lets_a_held_out_edge_in(case: str, tally: Tally) -> None:
    make, changed = CASES[case]
    sections = {**SMALL, **changed}
    if "method" in changed:
        sections = {name: sections[name] for name in ("graph", "method", "evaluation")}
    config, graph = RunConfig(**sections), make()
    split = draw_split(config, graph, MessageGraph.of(graph))
    # Hard negatives are drawn of the whole graph on purpose: none may be an edge.
    split = Trial(config, graph, MessageGraph.of(graph), split).split
    known, unknown = (outcome(config, one, split) for one in (graph, without(graph, split)))
    tally.add("leak_checks")
    assert known.keys() == unknown.keys()
    for key, value in known.items():
        assert torch.equal(value, unknown[key]), f"{case}: {key} knows of held-out edges"


def test_the_final_fit_changes_no_figure(tmp_path: Path) -> None:
    """Others measure the model that was trained on the edges that it is measured on."""
    results = []
    for final in (False, True):
        train = {**SMALL["train"], "final_fit": final}
        config = RunConfig(**{**SMALL, "train": train})
        results.append(run(config, toy_data(24, 80), tmp_path / str(final)))
    first, second = (result.seeds[0] for result in results)
    assert first.test == second.test
    assert first.val == second.val
    weights = [
        (tmp_path / str(final) / "model.safetensors").read_bytes() for final in (False, True)
    ]
    assert weights[0] == weights[1]
    assert (tmp_path / "True" / "final.safetensors").read_bytes() != weights[1]
