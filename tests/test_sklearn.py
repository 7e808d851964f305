"""MGAE as scikit-learn, data frames and PyG see it."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

import mgae
from mgae.core.errors import ConfigError
from tests.conftest import toy_data

QUICK: dict[str, Any] = {
    "method": "mgae",
    "encoder__hidden_channels": 4,
    "train__epochs": 2,
    "features__use": "always",
}
# Those that need no table of numbers as X, which is a graph here.
CHECKS = [
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_mixin_order",
]
PAIRS = [("ann", "bob"), ("bob", "cat"), ("cat", "ann"), ("cat", "dan"), ("dan", "eve")]


@pytest.mark.parametrize("name", CHECKS)
def test_scikit_learn_s_own_checks(name: str) -> None:
    getattr(estimator_checks, name)("MGAE", mgae.MGAE())


def test_the_checks_with_a_graph_as_x() -> None:
    """Those of check_estimator that would give a table: the same, with a graph."""
    model, graph = mgae.MGAE(**QUICK), toy_data()
    before = dict(vars(model))
    first = model.fit(graph).transform(graph)
    assert {name: vars(model)[name] for name in before} == before  # check_dict_unchanged
    new = set(vars(model)) - set(before)
    assert all(name.endswith("_") for name in new)  # check_dont_overwrite_attributes
    np.testing.assert_array_equal(model.fit(graph).transform(graph), first)  # check_fit_idempotent
    np.testing.assert_array_equal(model.fit_transform(graph), first)  # check_transformer_general
    again = pickle.loads(pickle.dumps(model))  # check_estimators_pickle
    np.testing.assert_array_equal(again.transform(graph), first)
    assert len(model.get_feature_names_out()) == first.shape[1] == 8
    for method in (model.fit, model.fit_transform, model.score):  # check_fit_score_takes_y
        assert list(inspect.signature(method).parameters)[:2] == ["X", "y"]


def test_a_pipeline_with_a_classifier() -> None:
    graph = toy_data()
    y = graph.y.numpy()
    pipeline = make_pipeline(mgae.MGAE(**QUICK), LogisticRegression())
    pipeline.set_params(mgae__encoder__hidden_channels=3)
    assert pipeline.fit(graph, y).predict(graph).shape == y.shape
    assert pipeline[0].embed().shape == (20, 6)
    assert 0.3 <= pipeline.score(graph, y) <= 1


def test_settings_are_searched_over_the_rows_of_edges() -> None:
    edges = toy_data(num_nodes=12, num_edges=40, num_features=None).edge_index.t().numpy()
    edges = edges[edges[:, 0] < edges[:, 1]]
    search = GridSearchCV(mgae.MGAE(**QUICK), {"train__epochs": [1, 2]}, cv=2, error_score="raise")
    search.fit(edges)
    assert search.best_params_["train__epochs"] in (1, 2)
    assert 0 <= search.best_score_ <= 1


def test_parameters_go_by_the_paths_of_the_configuration() -> None:
    model = mgae.MGAE(encoder="sage", encoder__hidden_channels=8, train={"epochs": 7}, seed=2)
    config = model.config
    assert (config.encoder.kind, config.encoder.hidden_channels) == ("sage", 8)  # type: ignore[union-attr, attr-defined]
    assert (config.train.epochs, config.seed, config.split.seed) == (7, 2, 2)
    assert model.get_params(deep=False)["encoder__hidden_channels"] == 8
    deep = model.get_params()
    assert deep["train__epochs"] == 7 and deep["mask__ratio"] == 0.5
    other = clone(model).set_params(train__epochs=9, encoder="gcn")
    assert (other.config.train.epochs, other.config.encoder.kind) == (9, "gcn")  # type: ignore[union-attr]
    shown = "MGAE(encoder='gcn', encoder__hidden_channels=8, seed=2, train={'epochs': 7}, "
    assert " ".join(repr(other).split()) == shown + "train__epochs=9)"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"encodr": "sage"}, r"unknown parameter encodr .*\(did you mean encoder\?\)"),
        ({"encoder__hidden_chanels": 3}, "did you mean encoder__hidden_channels"),
        ({"graph": "cora"}, "unknown parameter graph"),
        ({"val_ratio": 0.1}, "did you mean split__val_ratio"),
    ],
)
def test_unknown_parameters_are_refused_in_one_line(wrong: dict[str, Any], message: str) -> None:
    for use in (lambda: mgae.MGAE(**wrong), lambda: mgae.MGAE().set_params(**wrong)):
        with pytest.raises(ConfigError, match=message):
            use()


def test_wrong_values_are_refused_by_fit() -> None:
    with pytest.raises(ConfigError, match=r"train\.epochs must be an integer ≥ 1, got -1"):
        mgae.MGAE(train__epochs=-1).fit(PAIRS)
