"""Searches: what is tried, on which seeds, and what is kept of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from mgae.core.errors import ConfigError
from mgae.paper.plan import table
from mgae.paper.running import Request
from mgae.paper.searching import chosen, search, search_page, searches, trial_config
from mgae.runs.observer import Observer
from mgae.runs.presets import Search

TINY = {
    "train": {"epochs": 1},
    "encoder": {"hidden_channels": 2},
    "decoder": {"hidden_channels": 2},
}


def scored(row: str, trial: str, seed: int, auc: float) -> dict[str, Any]:
    about = {"table": "links-planetoid", "row": row, "dataset": "cora", "trial": trial}
    return {**about, "seed": seed, "metric": "auc", "val": {"auc": auc}, "seconds": 2.0}


def test_every_trial_is_a_valid_configuration_with_settings_of_its_own() -> None:
    for name in ("links-planetoid", "links-ogb", "nodes"):
        spec = table(name)
        for row, dataset, wanted in searches(spec):
            configs = [
                trial_config(row, dataset, spec.task, wanted, trial, wanted.seeds[0])
                for trial in wanted.trials
            ]
            assert min(wanted.seeds) >= 100
            assert all(configs.count(config) == 1 for config in configs)


def test_seeds_of_the_tables_are_refused() -> None:
    with pytest.raises(ValidationError, match="seeds below 100 are those of the tables"):
        Search(graphs=("cora",), seeds=(0, 100), metric="auc", trials={"a": {}})


def test_the_best_mean_wins_among_trials_with_all_their_seeds() -> None:
    trials = [
        scored("MGAE+", "a", 100, 90.0),
        scored("MGAE+", "a", 101, 92.0),
        scored("MGAE+", "b", 100, 99.0),  # its other seed is not there yet
        scored("MGAE+", "c", 100, 91.0),
        scored("MGAE+", "c", 101, 92.0),
        scored("GAE", "a", 100, 99.0),
    ]
    assert chosen(trials, "MGAE+", "cora") == "c"
    assert chosen(trials, "MGAE+", "pubmed") is None
    page = search_page(trials)
    assert "| **c** | 91.50 | 2 | 2 |" in page
    assert "| a | 91.00 | 2 | 2 |" in page


def test_what_was_tried_is_kept_with_its_settings_and_no_test_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = {"a": TINY, "b": {**TINY, "mask": {"ratio": 0.3}}}
    two = Search(graphs=("cora",), seeds=(100,), metric="auc", trials=trials)
    monkeypatch.setattr("mgae.paper.searching.search_of", lambda recipe, task: two)
    request = Request("links-planetoid", datasets=["cora"], methods=["MGAE+"], out=tmp_path)
    tried = search(request, Observer())
    assert [one["trial"] for one in tried] == ["a", "b"]
    assert tried[1]["settings"]["mask"]["ratio"] == 0.3
    assert "test" not in json.loads((tmp_path / "search.json").read_text())["trials"][0]
    assert search(request, Observer()) == tried, "read again, and not run again"
    monkeypatch.setattr("mgae.paper.searching.search_of", lambda recipe, task: None)
    with pytest.raises(ConfigError, match="no row has settings to try"):
        search(request, Observer())
