"""Link evaluation: counted on paper with a method whose scores are given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from mgae.core.errors import MGAEError, UnknownName
from mgae.core.methods import Method
from mgae.data import MessageGraph
from mgae.data.splits import LinkSplit, split_links
from mgae.evaluation.links import evaluate_links, link_metrics, validator
from tests.conftest import toy_graph
from tests.core.methods.small import masked, seeded


class Given(Method):
    """Scores pairs by a table, and remembers the graphs that it was shown."""

    def __init__(self, table: dict[tuple[int, int], float]) -> None:
        super().__init__()
        self.table, self.shown = table, []

    def encode(self, graph: MessageGraph) -> Any:
        self.shown.append(graph)
        return graph

    def score_links(self, encoded: Any, pairs: Tensor) -> Tensor:
        return torch.tensor([self.table[u, v] for u, v in pairs.t().tolist()])


VAL = {(0, 1): 0.9, (2, 3): 0.4}
VAL_NEGATIVES = {(0, 2): 0.4, (1, 3): 0.1}
TEST = {(4, 5): 0.3, (4, 6): 0.7}
TEST_NEGATIVES = {(5, 6): 0.5, (0, 6): 0.6, (0, 7): 0.2}


def pairs_of(table: dict[tuple[int, int], float]) -> Tensor:
    return torch.tensor(list(table)).t()


def by_hand() -> tuple[Given, LinkSplit]:
    split = LinkSplit(
        toy_graph(), *(pairs_of(part) for part in (VAL, TEST, VAL_NEGATIVES, TEST_NEGATIVES))
    )
    return Given(VAL | VAL_NEGATIVES | TEST | TEST_NEGATIVES), split


def wanted(*hits: int) -> dict[str, Any]:
    return link_metrics(hits)


def test_validation_figures_by_hand_in_percent() -> None:
    method, split = by_hand()
    figures = evaluate_links(method, split, "val", wanted(1, 2, 3))
    # 0.9, 0.4 against 0.4, 0.1: AUC 3.5/4; ranks 1 and 1.5; above 0.4 one, above 0.1 both.
    assert figures == pytest.approx(
        {
            "auc": 87.5,
            "ap": 100 * (1 + 2 / 3) / 2,
            "mrr": 100 * (1 + 1 / 1.5) / 2,
            "hits@1": 50.0,
            "hits@2": 100.0,
            "hits@3": 100.0,
        }
    )


def test_test_figures_by_hand_in_percent() -> None:
    method, split = by_hand()
    figures = evaluate_links(method, split, "test", wanted(1))
    # 0.7 beats all three, 0.3 only 0.2: AUC 4/6, AP (1 + 2/4)/2, ranks 1 and 3.
    assert figures == pytest.approx(
        {"auc": 100 * 4 / 6, "ap": 75.0, "mrr": 100 * (1 + 1 / 3) / 2, "hits@1": 50.0}
    )


def test_links_are_scored_from_the_training_edges() -> None:
    method, split = by_hand()
    evaluate_links(method, split, "test", wanted())
    assert method.shown == [split.message]


@pytest.mark.parametrize(("part", "sees_val"), [("val", False), ("test", True)])
def test_validation_edges_are_input_of_the_test_only(part: str, sees_val: bool) -> None:
    graph = toy_graph()
    split = split_links(graph, 0.05, 0.1, seeded())
    pairs = torch.cat([*split.pairs("val"), *split.pairs("test")], dim=1)
    method = Given(dict.fromkeys(map(tuple, pairs.t().tolist()), 0.0))
    evaluate_links(method, split, part, wanted(), val_edges_as_input=True)
    visible = set(map(tuple, method.shown[0].edge_index.t().tolist()))
    val, test = (set(map(tuple, part.t().tolist())) for part in (split.val, split.test))
    assert (val <= visible) is sees_val
    assert (val & visible == set()) is not sees_val
    assert not test & visible


def test_each_k_of_the_settings_is_a_metric() -> None:
    assert list(wanted(5, 10)) == ["auc", "ap", "mrr", "hits@5", "hits@10"]


@pytest.mark.parametrize(("monitor", "expected"), [("auc", 87.5), ("hits@2", 100.0)])
def test_the_validator_gives_one_metric_of_the_validation_edges(
    monitor: str, expected: float
) -> None:
    method, split = by_hand()
    validate = validator(method, split, monitor, hits_at=(2,))
    assert validate is not None
    assert validate() == pytest.approx(expected)


def test_the_validator_encodes_anew_each_time() -> None:
    method, split = by_hand()
    validate = validator(method, split, "auc")
    assert validate is not None
    assert method.shown == []
    validate()
    validate()
    assert len(method.shown) == 2


def test_an_unknown_monitor_is_refused_with_the_known_ones() -> None:
    method, split = by_hand()
    with pytest.raises(UnknownName, match=r"train\.monitor 'acu': known are .*did you mean auc"):
        validator(method, split, "acu")


def test_the_mean_of_several_hits_may_pick_the_epoch() -> None:
    split = split_links(toy_graph(), 0.2, 0.1, seeded())
    chances = torch.rand(split.val.size(1) + split.val_negatives.size(1), generator=seeded())
    pairs = torch.cat([split.val, split.val_negatives], dim=1).t().tolist()
    method = Given(dict(zip(map(tuple, pairs), chances.tolist(), strict=True)))
    each = [validator(method, split, f"hits@{k}", (1, 2)) for k in (1, 2)]
    both = validator(method, split, "hits@1+2", (1, 2))
    assert both is not None
    assert both() == pytest.approx(sum(one() for one in each if one) / 2)
    with pytest.raises(UnknownName, match=r"train\.monitor 'hits@1\+3'"):
        validator(method, split, "hits@1+3", (1, 2))


def test_a_method_that_knows_the_answer_gets_a_hundred_and_its_opposite_nothing() -> None:
    split = split_links(toy_graph(), 0.05, 0.1, seeded())
    right = dict.fromkeys(map(tuple, split.test.t().tolist()), 1.0)
    wrong = dict.fromkeys(map(tuple, split.test_negatives.t().tolist()), 0.0)
    assert evaluate_links(Given(right | wrong), split, "test", wanted(1))["auc"] == 100.0
    opposite = {pair: 1 - score for pair, score in (right | wrong).items()}
    figures = evaluate_links(Given(opposite), split, "test", wanted(1))
    assert (figures["auc"], figures["hits@1"]) == (0.0, 0.0)


def test_evaluation_leaves_no_trace_in_the_method() -> None:
    graph = toy_graph()
    split = split_links(graph, 0.05, 0.1, seeded())
    method = masked(split.message, encoder={"norm": "batch"})
    before = {name: value.clone() for name, value in method.state_dict().items()}
    first = evaluate_links(method, split, "val", wanted(1))
    assert evaluate_links(method, split, "val", wanted(1)) == first
    after = method.state_dict()
    assert all(torch.equal(after[name], before[name]) for name in before)


def test_a_part_without_edges_is_refused_in_words() -> None:
    split = split_links(toy_graph(), 0.0, 0.1, seeded())
    method = masked(split.message)
    with pytest.raises(MGAEError, match=r"no val edges to measure on: raise split\.val_ratio"):
        evaluate_links(method, split, "val", wanted(1))


def test_hard_negatives_of_each_test_edge_by_hand() -> None:
    method, split = by_hand()
    # 0.3 is behind 0.5 and 0.6: rank 3. 0.7 is before 0.6, and its second negative is missing.
    hard = torch.tensor([[[5, 0], [0, -1]], [[6, 6], [6, -1]]])
    figures = evaluate_links(method, replace(split, test_hard_negatives=hard), "test", {})
    assert figures["hard_mrr"] == pytest.approx(100 * (1 / 3 + 1) / 2)
    assert (figures["hard_hits@1"], figures["hard_hits@10"]) == (50.0, 100.0)
    assert evaluate_links(method, replace(split, test_hard_negatives=hard), "val", {}) == {}
    other = evaluate_links(method, replace(split, val_hard_negatives=hard), "val", {})
    assert other.keys() == figures.keys()
