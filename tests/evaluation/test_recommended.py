"""What recommended links are worth, by hand and on graphs whose missing edges are known."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from mgae.core.methods.base import Method
from mgae.data import MessageGraph
from mgae.data.splits.links import without
from mgae.evaluation.recommended import Offers, RecommendedWorth, RisingCurve

Scores = st.lists(st.floats(-20, 20), min_size=1, max_size=60)


class Blocks:
    """Scores a pair by which block of ten nodes both belong to: 0, 1, 2, …, and -1 across."""

    typed = shortlists = False

    def encode(self, graph: MessageGraph) -> None:
        return None

    def score_tails(self, encoded: None, heads: Tensor, tails: Tensor) -> Tensor:
        same = heads.unsqueeze(1) // 10 == tails // 10
        return torch.where(same, heads.unsqueeze(1) // 10, -1).float()


def graph_of(pairs: Tensor, num_nodes: int) -> MessageGraph:
    edges = torch.cat([pairs, pairs.flip(0)], dim=1)
    order = torch.argsort(edges[1] * num_nodes + edges[0])
    return MessageGraph(edges[:, order], num_nodes)


def test_what_is_counted_by_hand() -> None:
    # Two blocks of ten, each with 45 pairs: hidden are 4 of the first and 8 of the second.
    one = torch.combinations(torch.arange(10)).t()
    visible = graph_of(torch.cat([one[:, :20], one[:, :20] + 10], dim=1), 20)
    hidden = torch.cat([one[:, 20:24], one[:, 20:28] + 10], dim=1)
    offers = Offers.of(cast(Method, Blocks()), visible)
    first = offers.scores == 0
    assert (offers.scores == 1).sum() == first.sum() == 50  # 25 pairs that are no edge, from both
    is_hit = offers.are_among(hidden, visible)
    assert (is_hit[first].sum(), is_hit[~first].sum()) == (8, 16)
    worth = RecommendedWorth.of(offers, visible, hidden)
    assert worth.num_hits == 24 and worth.num_heads == 20
    # 52 edges are served, and a tenth of all is 52 / 9; 12 were hidden.
    assert worth.missing == pytest.approx(52 / 9 / 12)
    # By the hits for each other link inside the blocks: 8 of 42 and 16 of 34.
    inside = offers.scores >= 0
    curve = RisingCurve.fit(offers.scores[is_hit], offers.scores[~is_hit & inside])
    expected = np.array([8 / 42, 16 / 34]) * worth.missing
    result = curve.probability(np.array([0.0, 1.0]), worth.missing)
    assert result == pytest.approx(expected, rel=0.12)
    ranked = is_hit[offers.rank == 1]
    share = worth.missing * ranked.sum() / (~ranked).sum()
    assert worth.precision[0] == pytest.approx(share)


def test_the_share_of_missing_edges_is_found_where_it_is_known() -> None:
    # In block b of 60 a pair is an edge with a chance that rises with b. A tenth is taken away,
    # and of the rest a twentieth is hidden to measure with.
    generator = torch.Generator().manual_seed(0)
    chance = torch.linspace(0.2, 0.9, 60)
    base = torch.combinations(torch.arange(10)).t()
    pairs = torch.cat([base + 10 * block for block in range(60)], dim=1)
    edges = pairs[:, torch.rand(pairs.size(1), generator=generator) < chance[pairs[0] // 10]]
    part = torch.rand(edges.size(1), generator=generator)
    missing, hidden = edges[:, part < 0.1], edges[:, (part >= 0.1) & (part < 0.145)]
    given_ = graph_of(edges[:, part >= 0.1], 600)
    method = cast(Method, Blocks())
    visible = without(given_, hidden)
    worth = RecommendedWorth.of(Offers.of(method, visible), visible, hidden)
    offers = Offers.of(method, given_)
    real, printed = offers.are_among(missing, given_), worth.probability(offers.scores)
    some = offers.scores >= 0
    for low, high in ((0, 20), (20, 40), (40, 60)):
        here = some & (offers.scores >= low) & (offers.scores < high)
        assert printed[here].mean() == pytest.approx(real[here].mean(), abs=0.1)
    assert (
        printed[some & (offers.scores > 50)].mean()
        > 3 * printed[some & (offers.scores < 10)].mean()
    )


@given(Scores, Scores, st.lists(st.floats(-40, 40), min_size=2), st.floats(0.1, 10))
def test_probabilities_rise_and_stay_below_what_the_hits_support(
    hits: list[float], others: list[float], asked: list[float], missing: float
) -> None:
    curve = RisingCurve.fit(np.array(hits), np.array(others))
    values = curve.probability(np.sort(asked), missing)
    assert (np.diff(values) >= 0).all()
    assert ((values >= 0) & (values <= (len(hits) + 1) / (len(hits) + 2))).all()


def test_without_a_hit_nothing_is_likely() -> None:
    curve = RisingCurve.fit(np.array([]), np.linspace(0, 1, 98))
    assert curve.probability(np.array([0.0, 100.0]), 1.0) == pytest.approx([1 / 99] * 2, rel=0.02)


def test_scores_of_another_scale_are_worth_the_same() -> None:
    random = np.random.default_rng(0)
    scores = random.normal(size=4000)
    hit = random.random(4000) < 0.4 / (1 + np.exp(-3 * scores))
    curve = RisingCurve.fit(scores[hit], scores[~hit])
    moved = curve.moved(scores, 5 * scores - 3)
    middle = np.linspace(-1, 1.5, 9)
    assert moved.probability(5 * middle - 3, 1.0) == pytest.approx(
        curve.probability(middle, 1.0), abs=0.01
    )
