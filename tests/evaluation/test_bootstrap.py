"""Intervals by hand, against the metrics themselves, and how often they hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgae.evaluation import metrics
from mgae.evaluation.bootstrap import (
    DRAWS,
    Difference,
    deviations,
    difference,
    interval,
    over_runs,
    pair_figures,
)
from mgae.evaluation.certainty import Certainty, pooled
from mgae.evaluation.links import link_metrics
from mgae.evaluation.measured import Measured

NAMES = ["auc", "ap", "mrr", "hits@2"]
scores = st.lists(st.integers(0, 4), min_size=2, max_size=12)


def column(*weights: float) -> np.ndarray:
    return np.array(weights, np.float32).reshape(-1, 1)


def test_a_draw_by_hand() -> None:
    """Edges 3 and 1, the first drawn twice; negatives 2 and 0, the second drawn not at all.

    Two of three edges are above the only negative, so AUC 2/3; the precision at them is 1, at the
    last 3/4; the ranks are 1, 1 and 2.
    """
    drawn = pair_figures(
        ["auc", "ap", "mrr", "hits@1"],
        np.array([1.0, 3.0]),
        np.array([0.0, 2.0]),
        column(1, 2),
        column(0, 1),
    )
    expected = {
        "auc": 2 / 3,
        "ap": (1 + 1 + 3 / 4) / 3,
        "mrr": (1 + 1 + 1 / 2) / 3,
        "hits@1": 2 / 3,
    }
    assert {name: float(values[0]) for name, values in drawn.items()} == pytest.approx(expected)


@given(scores, scores, st.data())
def test_a_draw_is_the_metric_of_the_edges_as_often_as_they_are_drawn(
    positive: list[int], negative: list[int], data: st.DataObject
) -> None:
    times = st.integers(0, 3)
    often = [
        data.draw(st.lists(times, min_size=len(part), max_size=len(part)).filter(any))
        for part in (positive, negative)
    ]
    drawn = pair_figures(
        NAMES, np.array(positive), np.array(negative), column(*often[0]), column(*often[1])
    )
    repeated = [
        np.repeat(part, times) for part, times in zip((positive, negative), often, strict=True)
    ]
    known = link_metrics([2])
    if len(repeated[1]) >= 2:  # with fewer negatives than K every edge is a hit, drawn or not
        for name in NAMES:
            assert float(drawn[name][0]) == pytest.approx(known[name](*repeated), abs=1e-6), name


def test_two_edges_are_drawn_both_or_one_of_them_twice() -> None:
    moved = deviations(Measured({"recall@1": 50.0}, {"recall@1": np.array([0.0, 100.0])}))
    assert set(moved["recall@1"].tolist()) == {-50.0, 0.0, 50.0}
    assert np.mean(moved["recall@1"] == 0) == pytest.approx(1 / 2, abs=0.1)
    assert interval(50.0, moved["recall@1"], 2) == (0.0, 100.0)


def test_a_certain_figure_has_the_doubt_of_its_few_edges() -> None:
    """Of 50 edges that all hit: 0.025^(1/50)."""
    low, high = interval(100.0, np.zeros(DRAWS), 50)
    assert (low, high) == (pytest.approx(100 * 0.025 ** (1 / 50)), 100.0)


def test_a_difference_is_surer_than_either_figure_where_both_fail_on_the_same_edges() -> None:
    ours = np.repeat([0.0, 100.0], [90, 110])
    other = np.where(np.arange(200) == 150, 0.0, ours)
    one, two = (Measured({"a": part.mean()}, {"a": part}) for part in (ours, other))
    apart = difference((55.0, deviations(one)["a"]), (54.5, deviations(two)["a"]))
    assert apart.mean == 0.5
    assert apart.low >= 0 and apart.high < 2
    low, high = interval(55.0, deviations(one)["a"], 200)
    assert high - low > 10


def test_the_interval_holds_the_truth_about_19_times_in_20() -> None:
    """True AUC of N(1, 1) against N(0, 1) is Φ(1/√2) = 76.02; the true recall is 30."""
    generator, covered = np.random.default_rng(0), {"auc": 0, "recall@10": 0}
    for _ in range(200):
        edges, others = generator.normal(1, 1, 120), generator.normal(0, 1, 120)
        hits = 100.0 * (generator.random(120) < 0.3)
        figures = {"auc": 100 * metrics.auc(edges, others), "recall@10": hits.mean()}
        measured = Measured(figures, {"recall@10": hits}, (edges, others))
        for name, moved in deviations(measured).items():
            low, high = interval(figures[name], moved, 120)
            covered[name] += low <= {"auc": 76.025, "recall@10": 30.0}[name] <= high
    assert all(180 <= count <= 199 for count in covered.values()), covered


def test_of_very_many_edges_a_sample_gives_the_same_width(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    measured = Measured(
        dict.fromkeys(["auc", "hits@50"], 0.0),
        {"recall@10": 100 * generator.random(4000)},
        (generator.normal(1, 1, 4000), generator.normal(0, 1, 4000)),
    )
    whole = {name: moved.std() for name, moved in deviations(measured).items()}
    monkeypatch.setattr("mgae.evaluation.bootstrap.MOST_UNITS", 1000)
    sampled = {name: moved.std() for name, moved in deviations(measured).items()}
    assert sampled == pytest.approx(whole, rel=0.25)


def test_runs_on_the_same_edges_keep_the_doubt_about_these() -> None:
    runs = [Difference(1.0, 0.0, 2.0, 0.5), Difference(3.0, 2.0, 4.0, 0.5)]
    same, own = (over_runs(runs, same_edges) for same_edges in (True, False))
    # Between the runs: variance 2, of their mean 1; within one: 0.25.
    assert (same.mean, same.error) == (2.0, pytest.approx(1.25**0.5))
    assert (own.mean, own.error) == (2.0, pytest.approx(1.0))
    agreeing = [Difference(1.0, 0.0, 2.0, 0.5)] * 4
    assert over_runs(agreeing, same_edges=True).error == pytest.approx(0.5)
    assert over_runs(agreeing, same_edges=False).error == pytest.approx(0.25)


def test_the_certainty_of_runs_is_counted_once_where_they_share_their_edges() -> None:
    values = np.repeat([0.0, 100.0], [20, 60])
    ours = Measured({"a": 75.0}, {"a": values}, chance={"a": 50.0})
    theirs = Measured({"a": 25.0}, {"a": 100 - values})
    one = Certainty.of(ours, {"other": theirs})
    assert one.units == 80
    assert one.differences["other"]["a"].mean == 50.0
    runs, figures = [one, one], [{"a": 75.0}, {"a": 75.0}]
    same, own = (pooled(runs, figures, same_edges) for same_edges in (True, False))
    assert (same.units, own.units) == (80, 160)
    assert own.differences["other"]["a"].error < same.differences["other"]["a"].error
    assert same.intervals["a"] == pytest.approx(one.intervals["a"], abs=1.5)


def test_influences_of_nodes_are_derivatives_of_the_figure() -> None:
    """Counting a node a little more moves macro F1 by its influence over n."""
    y = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    predicted = np.array([0, 0, 1, 1, 2, 2, 2, 0])
    influence = metrics.macro_f1_influence(y, predicted)
    assert influence.mean() == pytest.approx(0)
    times = 10_000
    for node in (0, 2, 4):
        often = np.full(8, times)
        often[node] += 1
        figures = [
            metrics.classification(np.repeat(y, counts), np.repeat(predicted, counts))["macro_f1"]
            for counts in (np.full(8, times), often)
        ]
        moved = (figures[1] - figures[0]) * 8 * times
        assert moved == pytest.approx(influence[node], abs=1e-2)


def test_influences_on_the_auc_of_labels_are_derivatives_of_the_figure() -> None:
    y = np.array([[1, 0], [1, 1], [0, 1], [0, 0], [0, 1]])
    decided = np.array([[3.0, 1], [1, 2], [2, 0], [0, 1], [1, 3]])
    influence = metrics.multilabel_auc_influence(y, decided)
    assert influence.mean() == pytest.approx(0)
    often = np.full(5, 500)
    often[1] += 1
    figures = [
        metrics.multilabel_auc(np.repeat(y, counts, axis=0), np.repeat(decided, counts, axis=0))
        for counts in (np.full(5, 500), often)
    ]
    assert (figures[1] - figures[0]) * 5 * 500 == pytest.approx(influence[1], abs=1e-2)
