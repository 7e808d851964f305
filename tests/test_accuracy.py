"""Whole trainings on Cora, held against what they must reach; `make test-slow`."""

from __future__ import annotations

from typing import Any

import pytest

from mgae.runs.pipeline import run
from mgae.runs.presets import paper_config


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "least"),
    [
        ({"encoder": "gcn"}, {"auc": 93.2, "ap": 94.1}),
        ({"encoder": "sage"}, {"auc": 94.5, "ap": 94.2}),
        ({"task": "nodes"}, {"accuracy": 86.2}),
    ],
)
def test_cora_reaches_the_papers_figures_over_ten_runs(
    settings: dict[str, Any], least: dict[str, float]
) -> None:
    result = run(paper_config(**settings, runs=10, evaluation={"heuristics": []}))
    assert {
        name: result.test[name].mean >= value for name, value in least.items()
    } == dict.fromkeys(least, True), result.test


@pytest.mark.slow
@pytest.mark.usefixtures("shared_data")
def test_sampled_neighborhoods_lose_less_than_a_point_on_pubmed() -> None:
    def auc(**train: Any) -> float:
        settings = {"epochs": 60, "step_size": 4096, **train}
        config = paper_config(graph="pubmed", train=settings, evaluation={"heuristics": []})
        return run(config).test["auc"].mean

    assert auc(fanouts=(15, 15)) > auc() - 1
