"""Features of the columns that people really have help, or at least do no harm."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mgae.core.errors import GraphError
from mgae.data.opening import open_graph
from mgae.runs.config import RunConfig
from mgae.runs.featureworth import FeatureWorth, after_check, worth_of_features
from mgae.runs.pipeline import run
from tests.conftest import toy_data
from tests.runs.customers import customers

SHORT = {"epochs": 60, "patience": 30}


def config(folder: Path, seed: int, given: dict[str, Any], **other: Any) -> RunConfig:
    evaluation = {"heuristics": (), "hard_negatives": 0}
    settings = {"method": "evidence", "train": SHORT, "evaluation": evaluation, **other}
    settings = {key: value for key, value in settings.items() if value is not None}
    return RunConfig(graph=str(folder / "edges.csv"), seed=seed, input=given, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("other", [{}, {"method": None, "train": None}], ids=["evidence", "usual"])
def test_a_raw_table_does_no_harm_and_helps_if_a_column_carries_signal(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    gains: dict[bool, list[float]] = {False: [], True: []}
    for seed in range(5):
        customers(tmp_path, seed, signal=False)
        bare = run(config(tmp_path, seed, {}, **other)).test["auc"].mean
        for signal, gain in gains.items():
            given = customers(tmp_path, seed, signal).model_dump(exclude_none=True)
            gain.append(run(config(tmp_path, seed, given, **other)).test["auc"].mean - bare)
    assert np.mean(gains[False]) >= -1
    assert np.mean(gains[True]) > 1


def test_what_features_are_worth_is_measured_and_said(tmp_path: Path) -> None:
    given = customers(tmp_path, 0, signal=True)
    settings = config(
        tmp_path,
        0,
        given.model_dump(exclude_none=True),
        split={"val_ratio": 0.2},
        method={"kind": "evidence", "folds": 3},
        train={"epochs": 15},
    )
    worth = worth_of_features(settings, open_graph(settings.graph, given))
    assert worth.gain > 0 and worth.edges > 50


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ((90.0, 80.0), "the features help: validation AUC 90.0 with the features and 80.0 without"),
        ((70.0, 80.0), "the features do harm: .*; train without them"),
        ((81.0, 80.0), r"no difference beyond chance \(±4.0\)"),
    ],
)
def test_the_words_follow_the_scores_and_the_number_of_edges(
    scores: tuple[float, float], words: str
) -> None:
    assert re.search(words, str(FeatureWorth("auc", *scores, edges=100)))


def test_the_check_takes_half_of_the_time_budget() -> None:
    limited = RunConfig(graph="toy", method="mgae", train={"budget": 60.0})
    assert after_check(limited).train.budget == 30
    assert after_check(RunConfig(graph="toy", method="mgae")).train.budget is None


def test_a_graph_without_features_has_none_to_check() -> None:
    with pytest.raises(GraphError, match="no features to check: leave --check-features out"):
        worth_of_features(RunConfig(graph="toy"), toy_data(num_features=None))
