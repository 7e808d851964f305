"""Features that tell nothing of the edges are left out, and the run says and remembers it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mgae.core.graph import MessageGraph
from mgae.core.methods.featuresignal import FeatureSignal
from mgae.core.seeding import Generators
from mgae.data.opening import open_graph
from mgae.runs.config import RunConfig
from mgae.runs.featureuse import choose_features, message_graph
from mgae.runs.pipeline import Observer, evaluate, resume, run
from mgae.runs.rundirectory import RunDirectory
from mgae.serving import Predictor
from tests.conftest import toy_graph
from tests.runs.customers import customers

QUICK = {
    "method": {"kind": "combined", "folds": 3, "evidence_epochs": 2},
    "train": {"epochs": 2},
    "evaluation": {"heuristics": (), "hard_negatives": 0},
}


class Notes(Observer):
    def __init__(self) -> None:
        self.texts: list[str] = []

    def on_note(self, text: str) -> None:
        self.texts.append(text)


def config(folder: Path, signal: bool, **changes: Any) -> RunConfig:
    given = customers(folder, 101, signal).model_dump(exclude_none=True)
    return RunConfig(graph=str(folder / "edges.csv"), input=given, **{**QUICK, **changes})


@pytest.mark.parametrize("signal", [False, True])
def test_a_column_of_the_groups_is_told_from_noise(tmp_path: Path, signal: bool) -> None:
    settings = config(tmp_path, signal)
    graph = open_graph(settings.graph, settings.input)
    outcome = FeatureSignal.of(MessageGraph.of(graph), Generators(0).fresh("features"))
    assert outcome.helps is signal
    chosen, note = choose_features(settings, graph)
    assert chosen.features.use == ("auto" if signal else "never")
    assert (note is None) is signal


def test_a_few_edges_decide_nothing() -> None:
    assert FeatureSignal.of(toy_graph(num_nodes=12, num_edges=20), Generators(0)["split"]).helps


@pytest.mark.parametrize(
    "changes",
    [
        {"features": {"use": "always"}},
        {"encoder": {"inputs": "features"}},
        {"method": "mgae"},
        {"task": "nodes"},
    ],
)
def test_features_that_are_asked_for_stay(tmp_path: Path, changes: dict[str, Any]) -> None:
    settings = config(tmp_path, False, **changes)
    graph = open_graph(settings.graph, settings.input)
    assert choose_features(settings, graph) == (settings, None)
    assert message_graph(settings, graph).num_features > 0


def test_a_run_without_its_features_is_that_of_the_bare_graph(tmp_path: Path) -> None:
    settings, notes = config(tmp_path, False), Notes()
    result = run(settings, out=tmp_path / "run", observer=notes)
    assert any("features.use=always keeps them" in text for text in notes.texts)
    bare = open_graph(settings.graph, settings.input)
    bare.x = bare.preparation = bare.feature_names = bare.checksum = None
    assert result.test["auc"].mean == run(settings.changed(input={}), bare).test["auc"].mean
    # The run remembers, whoever opens it again.
    assert RunDirectory.open(tmp_path / "run").config.features.use == "never"
    assert evaluate(tmp_path / "run").test["auc"].mean == result.test["auc"].mean
    (tmp_path / "run" / "metrics.json").unlink()
    assert resume(tmp_path / "run").test["auc"].mean == result.test["auc"].mean
    # New nodes come with features as before, and by their edges alone they are embedded.
    predictor = Predictor.load(tmp_path / "run")
    rest = {"income": 20_000.0, "note": "likes books"}
    people = {
        "new": {"age": 31, "city": "Ulm", **rest},
        "other": {"age": 80, "city": "Bern", **rest},
    }
    edges = [("new", "c0"), ("other", "c0")]
    embedded = predictor.embed_new(people, edges)
    assert np.isfinite(embedded).all() and embedded.any()
    width = predictor.graph.x.size(1)
    others = {"new": np.zeros(width), "other": np.ones(width)}
    np.testing.assert_array_equal(predictor.embed_new(others, edges), embedded)
