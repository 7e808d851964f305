"""The parts that CONTRIBUTING.md shows work as they stand there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mgae import DATASETS, DECODERS, ENCODERS, MASKS, METHODS, RunConfig, run

PAGE = Path(__file__).parents[1] / "CONTRIBUTING.md"
SMALL: dict[str, Any] = {
    "graph": "ladder",
    "train": {"epochs": 2},
    "evaluation": {"heuristics": (), "hard_negatives": 0},
}


@pytest.fixture(scope="module", autouse=True)
def parts() -> Any:
    """Run every block of the page; forget the parts afterwards."""
    registries = (DATASETS, DECODERS, ENCODERS, MASKS, METHODS)
    before = [registry.names() for registry in registries]
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(block, {"__name__": "contributed"})
    yield
    for registry, names in zip(registries, before, strict=True):
        for name in set(registry.names()) - set(names):
            del registry._entries[name]


@pytest.mark.parametrize(
    "changes",
    [
        {"decoder": "bilinear"},
        {"mask": "leaves"},
        {"encoder": {"kind": "gatv2", "hidden_channels": 8}},
        {"method": "hubs"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_part_of_the_page_trains_on_its_dataset(changes: dict[str, Any]) -> None:
    result = run(RunConfig(**{**SMALL, **changes}))
    assert 0 <= result.test["auc"].mean <= 100


def test_nodes_with_few_edges_lose_theirs_first() -> None:
    import torch

    from mgae.core import MessageGraph
    from mgae.data import load_graph

    graph = MessageGraph.of(load_graph("ladder"))
    edges = MASKS["leaves"].build(0.03)(graph, torch.Generator().manual_seed(0))
    corners = graph.adjacency.degree[edges.masked].amin(dim=0)
    assert edges.masked.size(1) == round(0.03 * graph.pairs.size(1))
    assert bool((corners == 2).all())
