from __future__ import annotations

from typing import cast

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit
from torch import Tensor

from mgae.core.methods.base import Method
from mgae.data import MessageGraph
from mgae.data.splits import split_links
from mgae.data.splits.links import without
from mgae.evaluation.calibration import Calibrating, Calibration
from tests.conftest import toy_graph


def test_one_edge_and_one_other_pair_by_hand() -> None:
    # Platt's targets are 2/3 and 1/3, and two points leave a curve through both.
    result = Calibration.fit(np.array([3.0]), np.array([1.0]))
    assert result.probability(np.array([3.0, 1.0, 2.0])) == pytest.approx([2 / 3, 1 / 3, 1 / 2])
    assert result.slope == pytest.approx(np.log(2))


def test_it_finds_the_curve_that_the_labels_were_drawn_from() -> None:
    random = np.random.default_rng(0)
    scores = random.normal(size=40_000)
    edge = random.random(40_000) < expit(2 * scores)  # as many edges as others
    result = Calibration.fit(scores[edge], scores[~edge])
    assert (result.slope, result.intercept) == pytest.approx((2, 0), abs=0.06)


def test_how_many_there_are_of_each_does_not_matter() -> None:
    random = np.random.default_rng(1)
    edges, others = random.normal(1, 1, 4000), random.normal(-1, 1, 4000)
    same, few = Calibration.fit(edges, others), Calibration.fit(edges[:1000], others)
    assert few.probability(np.array([0.5])) == pytest.approx(
        same.probability(np.array([0.5])), abs=0.03
    )


def test_sides_far_apart_have_a_finite_slope() -> None:
    result = Calibration.fit(np.full(10, 1000.0), np.full(10, -1000.0))
    assert result.probability(np.array([1000.0, -1000.0])) == pytest.approx([11 / 12, 1 / 12])


def test_scores_that_are_worse_than_chance_say_nothing() -> None:
    result = Calibration.fit(np.array([-1.0, -2.0]), np.array([1.0, 2.0]))
    assert result.slope == 0
    assert result.probability(np.array([-5.0, 5.0])) == pytest.approx([0.5, 0.5])


def test_equal_scores_are_even() -> None:
    assert Calibration.fit(np.ones(3), np.ones(3)).probability(np.ones(1)) == pytest.approx([0.5])


@given(
    st.lists(st.floats(-50, 50), min_size=1, max_size=20),
    st.lists(st.floats(-50, 50), min_size=1, max_size=20),
    st.lists(st.floats(-50, 50), min_size=2),
)
def test_the_order_of_the_scores_is_kept(
    edges: list[float], others: list[float], asked: list[float]
) -> None:
    result = Calibration.fit(np.array(edges), np.array(others))
    values = result.probability(np.sort(asked))
    assert (np.diff(values) >= 0).all()
    assert ((values >= 0) & (values <= 1)).all()
    assert np.isfinite(logit(np.clip(values, 1e-12, 1 - 1e-12))).all()


class Watched:
    """Remembers the graphs it was given; scores edges above other pairs."""

    typed = shortlists = False

    def __init__(self, edges: Tensor) -> None:
        self.edges = edges
        self.encoded: list[MessageGraph] = []

    def encode(self, graph: MessageGraph) -> MessageGraph:
        self.encoded.append(graph)
        return graph

    def score_links(self, encoded: MessageGraph, pairs: Tensor) -> Tensor:
        return torch.full((pairs.size(1),), 1.0 if pairs is self.edges else -1.0)

    def score_tails(self, encoded: MessageGraph, heads: Tensor, tails: Tensor) -> Tensor:
        return (heads.unsqueeze(1) * tails).float()


def test_it_is_fitted_on_validation_pairs_without_the_edges_that_are_asked_about() -> None:
    whole = toy_graph(num_edges=60)
    split = split_links(whole, 0.2, 0.1, torch.Generator().manual_seed(0))
    visible = without(whole, split.val)
    method = Watched(split.val)
    measured = Calibrating.of(cast(Method, method), split, visible)
    # Of pairs as the test has them; what is recommended comes from all edges but these.
    assert method.encoded[0] is split.message
    assert method.encoded[1] is visible
    assert measured is not None
    likely, unlikely = measured.calibrations.links.probability(np.array([1.0, -1.0]))
    assert likely > 2 / 3
    assert unlikely < 1 / 3
    assert not measured.offers.are_among(whole.edge_index, whole)[
        ~measured.offers.are_among(split.val, whole)
    ].any()
