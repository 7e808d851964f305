"""Metrics counted on paper, against scikit-learn, and by counting every pair."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from mgae.evaluation import metrics

# Few different values, so that ties are many.
SCORES = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=12)


# By hand


@pytest.mark.parametrize(
    ("positive", "negative", "expected"),
    [
        ([0.9, 0.8], [0.2, 0.1], 1.0),
        ([0.1, 0.2], [0.8, 0.9], 0.0),
        ([0.9, 0.3], [0.5, 0.1], 3 / 4),  # 0.3 < 0.5 is the one wrong pair of four
        ([0.9, 0.4], [0.4, 0.1], 3.5 / 4),  # 0.4 and 0.4: half a pair
        ([0.5, 0.5], [0.5], 0.5),
        ([0.6, 0.4, 0.2], [0.5, 0.3], 3 / 6),  # 0.6 beats both, 0.4 one, 0.2 none
    ],
)
def test_auc_by_hand(positive: list[float], negative: list[float], expected: float) -> None:
    assert metrics.auc(positive, negative) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("positive", "negative", "expected"),
    [
        ([0.9, 0.8], [0.2], 1.0),
        # From above: P N P N P; the precision at the positives is 1, 2/3, 3/5.
        ([0.9, 0.5, 0.3], [0.6, 0.4], (1 + 2 / 3 + 3 / 5) / 3),
        ([0.5], [0.5], 0.5),  # a tie is one threshold: one of the two above it is right
        # 0.9 first; then 0.5 three times, two of them right: 3 of 4 for both.
        ([0.9, 0.5, 0.5], [0.5], (1 + 3 / 4 + 3 / 4) / 3),
    ],
)
def test_average_precision_by_hand(
    positive: list[float], negative: list[float], expected: float
) -> None:
    assert metrics.average_precision(positive, negative) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (1, 1 / 4),  # above 0.6: 0.9
        (2, 2 / 4),  # above 0.4: 0.9 and 0.5; the positive 0.4 is a tie and no hit
        (3, 3 / 4),  # above 0.1: 0.9, 0.5 and 0.4; 0.1 is a tie
        (4, 1.0),  # three negatives only
    ],
)
def test_hits_at_k_by_hand(k: int, expected: float) -> None:
    assert metrics.hits_at(k, [0.9, 0.5, 0.4, 0.1], [0.6, 0.4, 0.1]) == expected


def test_hits_with_fewer_than_k_negatives_are_certain() -> None:
    assert metrics.hits_at(3, [0.0], [0.9, 0.8]) == 1.0
    assert metrics.hits_at(2, [0.0], [0.9, 0.8]) == 0.0


def test_hits_count_repeated_negatives_one_by_one() -> None:
    # The second best of 0.6, 0.6, 0.1 is 0.6 again.
    assert metrics.hits_at(2, [0.5, 0.7], [0.6, 0.6, 0.1]) == 0.5


@pytest.mark.parametrize(
    ("positive", "negative", "expected"),
    [
        ([0.9], [0.5, 0.1], 1.0),
        ([0.3], [0.5, 0.1], 1 / 2),
        ([0.0], [0.5, 0.1], 1 / 3),
        ([0.5], [0.5], 1 / 1.5),  # rank 1 or 2: the mean
        ([0.9, 0.5], [0.6, 0.5], (1 + 1 / 2.5) / 2),  # 0.5: rank 2 or 3
        ([0.5], [0.5, 0.5, 0.5], 1 / 2.5),  # rank 1 to 4
    ],
)
def test_mean_reciprocal_rank_by_hand(
    positive: list[float], negative: list[float], expected: float
) -> None:
    assert metrics.mean_reciprocal_rank(positive, negative) == pytest.approx(expected)


def test_mean_reciprocal_rank_with_negatives_of_ones_own() -> None:
    # 0.5 is second of three; 0.2 ties with one and beats one: rank 1.5.
    result = metrics.mean_reciprocal_rank([0.5, 0.2], [[0.9, 0.1], [0.2, 0.1]])
    assert result == pytest.approx((1 / 2 + 1 / 1.5) / 2)


def test_classification_by_hand() -> None:
    # Class 0: 2 of 3 found, none wrongly: F1 = 2·2/(2·2 + 1) = 4/5. Class 1: 1 found, 1 wrongly:
    # F1 = 2/3. Class 2: 1 of 1: F1 = 1.
    result = metrics.classification([0, 0, 0, 1, 2], [0, 0, 1, 1, 2])
    assert result == pytest.approx(
        {"accuracy": 4 / 5, "macro_f1": (4 / 5 + 2 / 3 + 1) / 3, "micro_f1": 4 / 5}
    )


def test_multilabel_auc_by_hand() -> None:
    y = [[1, 0], [0, 1], [1, 1], [0, 0]]
    scores = [[0.9, 0.5], [0.4, 0.8], [0.4, 0.3], [0.1, 0.1]]
    # First label: 0.9, 0.4 against 0.4, 0.1: 3.5/4. Second: 0.8, 0.3 against 0.5, 0.1: 3/4.
    assert metrics.multilabel_auc(y, scores) == pytest.approx((3.5 / 4 + 3 / 4) / 2)


def test_multilabel_auc_looks_at_scores_and_not_at_their_sign() -> None:
    y = np.array([[1], [1], [0], [0]])
    scores = np.array([[-0.1], [-0.2], [-0.3], [-0.4]])
    assert metrics.multilabel_auc(y, scores) == 1.0
    assert metrics.multilabel_auc(y, scores > 0) == 0.5


def test_multilabel_auc_leaves_out_labels_with_one_class() -> None:
    y = [[1, 0, 1], [0, 0, 1]]
    scores = [[0.1, 0.9, 0.5], [0.8, 0.1, 0.3]]
    assert metrics.multilabel_auc(y, scores) == 0.0


def test_tensors_are_as_good_as_lists() -> None:
    positive, negative = torch.tensor([0.9, 0.4]), torch.tensor([0.4, 0.1])
    assert metrics.auc(positive, negative) == metrics.auc([0.9, 0.4], [0.4, 0.1])
    assert metrics.mean_reciprocal_rank(positive, negative) == pytest.approx((1 + 1 / 1.5) / 2)


# Against scikit-learn


@pytest.mark.parametrize("seed", range(3))
def test_auc_and_average_precision_are_scikit_learns(seed: int) -> None:
    random = np.random.default_rng(seed)
    positive, negative = random.normal(0.5, 1, 40).round(1), random.normal(0, 1, 60).round(1)
    labels, scores = np.r_[np.ones(40), np.zeros(60)], np.r_[positive, negative]
    assert metrics.auc(positive, negative) == pytest.approx(roc_auc_score(labels, scores))
    assert metrics.average_precision(positive, negative) == pytest.approx(
        average_precision_score(labels, scores)
    )


def test_multilabel_auc_is_scikit_learns_macro_average() -> None:
    random = np.random.default_rng(0)
    y, scores = random.integers(0, 2, (50, 4)), random.normal(size=(50, 4))
    expected = roc_auc_score(y, scores, average="macro")
    assert metrics.multilabel_auc(y, scores) == pytest.approx(expected)


def test_classification_is_scikit_learns() -> None:
    random = np.random.default_rng(0)
    y, predicted = random.integers(0, 4, 100), random.integers(0, 4, 100)
    result = metrics.classification(y, predicted)
    assert result["macro_f1"] == pytest.approx(f1_score(y, predicted, average="macro"))
    assert result["micro_f1"] == pytest.approx(result["accuracy"])


# By counting


@settings(deadline=None, max_examples=30)
@given(positive=SCORES, negative=SCORES)
def test_auc_counts_pairs(positive: list[float], negative: list[float]) -> None:
    right = sum((p > n) + 0.5 * (p == n) for p in positive for n in negative)
    expected = right / (len(positive) * len(negative))
    assert metrics.auc(positive, negative) == pytest.approx(expected)


@settings(deadline=None, max_examples=30)
@given(positive=SCORES, negative=SCORES)
def test_average_precision_counts_what_stands_as_high(
    positive: list[float], negative: list[float]
) -> None:
    def precision(score: float) -> float:
        right = sum(p >= score for p in positive)
        return right / (right + sum(n >= score for n in negative))

    expected = sum(map(precision, positive)) / len(positive)
    assert metrics.average_precision(positive, negative) == pytest.approx(expected)


@settings(deadline=None, max_examples=30)
@given(positive=SCORES, negative=SCORES, k=st.integers(1, 15))
def test_a_hit_has_fewer_than_k_negatives_as_high(
    positive: list[float], negative: list[float], k: int
) -> None:
    hits = sum(sum(n >= p for n in negative) < k for p in positive)
    assert metrics.hits_at(k, positive, negative) == pytest.approx(hits / len(positive))


@settings(deadline=None, max_examples=30)
@given(positive=SCORES, negative=SCORES)
def test_reciprocal_ranks_count_the_negatives_above(
    positive: list[float], negative: list[float]
) -> None:
    ranks = [1 + sum((n > p) + 0.5 * (n == p) for n in negative) for p in positive]
    expected = sum(1 / rank for rank in ranks) / len(ranks)
    assert metrics.mean_reciprocal_rank(positive, negative) == pytest.approx(expected)
    own = [negative] * len(positive)
    assert metrics.mean_reciprocal_rank(positive, own) == pytest.approx(expected)


@settings(deadline=None, max_examples=30)
@given(positive=SCORES, negative=SCORES, shift=st.integers(-3, 3), scale=st.integers(1, 4))
def test_only_the_order_of_scores_matters(
    positive: list[float], negative: list[float], shift: int, scale: int
) -> None:
    def moved(scores: list[float]) -> list[float]:
        return [scale * score + shift for score in scores]

    for metric in (metrics.auc, metrics.average_precision, metrics.mean_reciprocal_rank):
        assert metric(moved(positive), moved(negative)) == metric(positive, negative)


def test_hits_and_mrr_are_ogbs_own() -> None:
    evaluation = pytest.importorskip("ogb.linkproppred", reason="the package ogb is not installed")
    generator = np.random.default_rng(0)
    positive, negative = generator.normal(1, 1, 300), generator.normal(0, 1, 400)
    ddi = evaluation.Evaluator("ogbl-ddi")
    for k in (1, 20, 50):
        ddi.K = k
        theirs = ddi.eval({"y_pred_pos": positive, "y_pred_neg": negative})[f"hits@{k}"]
        assert metrics.hits_at(k, positive, negative) == pytest.approx(theirs)
    own = generator.normal(0, 1, (300, 40)).round(1)  # rounded, so that there are ties
    theirs = evaluation.Evaluator("ogbl-citation2").eval(
        {
            "y_pred_pos": torch.from_numpy(positive.round(1)),
            "y_pred_neg": torch.from_numpy(own),
        }
    )
    expected = float(theirs["mrr_list"].mean())
    assert metrics.mean_reciprocal_rank(positive.round(1), own) == pytest.approx(expected, rel=1e-6)


def test_ranks_beside_own_negatives_by_hand() -> None:
    # 0.9 is second of 3; 0.5 ties with one below another: ranks 2 and 3, so 2.5.
    positive, negative = [0.9, 0.5], [[0.95, 0.1], [0.7, 0.5]]
    assert metrics.ranks(positive, negative).tolist() == [2.0, 2.5]
    assert metrics.mean_reciprocal_rank(positive, negative) == pytest.approx((1 / 2 + 1 / 2.5) / 2)
    assert metrics.ranks([0.0], [[-math.inf, -1.0]]).tolist() == [1.0]
