"""Curves of scores, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mgae.evaluation import metrics
from mgae.reporting.scorecurves import Scored, histogram, precision_recall, reliability, roc

SCORED = Scored(np.array([3.0, 1.0]), np.array([2.0, 0.0]))


def test_roc() -> None:
    # From the top: 3 is an edge, 2 is none, 1 is an edge, 0 is none.
    curve = roc(SCORED)
    points = list(zip(curve.x.tolist(), curve.y.tolist(), strict=True))
    assert points == [(0, 0), (0, 0.5), (0.5, 0.5), (0.5, 1), (1, 1)]


def test_precision_and_recall() -> None:
    curve = precision_recall(SCORED)
    points = list(zip(curve.x.tolist(), curve.y.tolist(), strict=True))
    assert points == [(0, 1), (0.5, 1), (0.5, 0.5), (1, pytest.approx(2 / 3)), (1, 0.5)]


def test_a_thinned_curve_keeps_its_ends_and_its_area() -> None:
    generator = np.random.default_rng(0)
    scored = Scored(generator.normal(1, 1, 5000), generator.normal(0, 1, 5000))
    curve = roc(scored)
    assert len(curve.x) <= 300
    assert (curve.x[0], curve.y[0], curve.x[-1], curve.y[-1]) == (0, 0, 1, 1)
    expected = metrics.auc(scored.positive, scored.negative)
    assert np.trapezoid(curve.y, curve.x) == pytest.approx(expected, abs=2e-3)


def test_equal_probabilities_share_a_bin() -> None:
    probability = np.array([0.2] * 8 + [0.9, 0.9])
    curve = reliability(probability, np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1]), bins=10)
    assert curve.x.tolist() == pytest.approx([0.2, 0.9])
    assert curve.y.tolist() == [0.25, 1.0]


def test_a_histogram_holds_every_score() -> None:
    scored = Scored(np.array([1.0, 2.0, 1000.0]), np.array([-1.0, 0.0]))
    borders, edges, others = histogram(scored)
    assert len(borders) == len(edges) + 1
    assert edges.sum() == pytest.approx(1)
    assert others.sum() == pytest.approx(1)


def test_scores_that_are_all_the_same_have_a_histogram() -> None:
    _, edges, others = histogram(Scored(np.ones(3), np.ones(2)))
    assert edges[0] == others[0] == 1
