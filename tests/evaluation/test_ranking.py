"""Recall@K among all nodes: counted on paper, then against a slow twin."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from mgae.core.errors import ConfigError
from mgae.core.methods import Method
from mgae.core.methods.base import Likely
from mgae.core.seeding import Generators
from mgae.data import MessageGraph
from mgae.data.splits import LinkSplit, split_links
from mgae.evaluation.links import evaluate_links, validator
from mgae.evaluation.ranking import ranking_figures, recall_at, recalls_at
from mgae.runs.config import RunConfig
from tests.conftest import toy_graph
from tests.core.methods.small import masked


class Table(Method):
    """Scores a pair by a matrix."""

    def __init__(self, scores: Tensor) -> None:
        super().__init__()
        self.scores = scores

    def encode(self, graph: MessageGraph) -> Any:
        return graph

    def score_links(self, encoded: Any, pairs: Tensor) -> Tensor:
        return self.scores[pairs[0], pairs[1]]


def undirected(*pairs: tuple[int, int], num_nodes: int) -> MessageGraph:
    once = torch.tensor(pairs).t()
    return MessageGraph(torch.cat([once, once.flip(0)], dim=1), num_nodes)


def test_by_hand() -> None:
    # Node 0 knows 1. For 0 the order is 1 (known), 2, 3, for 3 it is 1, 2, 0, itself left out.
    scores = torch.tensor(
        [[9.0, 5, 4, 3], [0, 0, 0, 0], [0, 0, 0, 0], [1, 3, 2, 9]],
    )
    graph, edge = undirected((0, 1), num_nodes=4), torch.tensor([[0], [3]])
    recalls = [recall_at(k, Table(scores), graph, graph, edge) for k in (1, 2, 3)]
    assert recalls == [0.0, 0.5, 1.0]  # 3 is the second best of 0, and 0 the third best of 3


def means(values: dict[str, Any]) -> dict[str, float]:
    return {name: float(one.mean()) for name, one in values.items()}


def test_either_end_may_find_the_other() -> None:
    # 0 has 3 for its best and 3 has 0 for its worst; 1 and 2 do not find each other.
    scores = torch.tensor([[0.0, 1, 1, 9], [9, 0, 1, 9], [9, 1, 0, 9], [0, 9, 9, 0]])
    edges = torch.tensor([[0, 1], [3, 2]])
    nothing = torch.empty(2, 0, dtype=torch.long)
    graph = MessageGraph(nothing, 4)
    shares = means(recalls_at([1, 3], Table(scores), graph, graph, edges))
    assert shares == {
        "recall@1": 0.25,
        "recall@3": 1.0,
        "recall_either@1": 0.5,
        "recall_either@3": 1.0,
    }
    arrows = MessageGraph(nothing, 4, undirected=False)
    assert means(recalls_at([1], Table(scores), arrows, arrows, edges)) == {"recall@1": 0.5}


class Listed(Table):
    """Proposes to each head the next two nodes, and no others."""

    shortlists = True

    def shortlist(self, encoded: Any, heads: Tensor) -> Likely:
        head = torch.arange(heads.numel()).repeat_interleave(2)
        tail = (heads[head] + torch.tensor([1, 2]).repeat(heads.numel())) % len(self.scores)
        return Likely(head, tail, self.scores[heads[head], tail])


def test_a_tail_off_the_shortlist_is_a_miss() -> None:
    """However well it would score: of 0's list 1 and 2, the second is better; 3 is not on it."""
    scores = torch.tensor([[0.0, 1, 2, 9, 0], *[[0.0] * 5] * 4])
    graph = MessageGraph(torch.empty(2, 0, dtype=torch.long), 5)
    edges = {tail: torch.tensor([[0], [tail]]) for tail in (1, 2, 3)}
    ranked = {
        tail: list(means(recalls_at([1, 2, 5], Listed(scores), graph, graph, edge)).values())
        for tail, edge in edges.items()
    }
    # From the other end: 1's list is 2, 3; 2's is 3, 4; 3's is 4, 0, and both tie there.
    assert ranked[1] == [0, 0.5, 0.5, 0, 1, 1]
    assert ranked[2] == [0.5, 0.5, 0.5, 1, 1, 1]
    assert ranked[3] == [0, 0.5, 0.5, 0, 1, 1]


def test_of_many_edges_the_same_sample_is_looked_for() -> None:
    split = split_links(toy_graph(), 0.1, 0.1, Generators(0)["split"])
    graph, nodes = split.message, split.message.num_nodes
    scores = torch.rand(nodes, nodes, generator=torch.Generator().manual_seed(1))
    first, again = (
        means(recalls_at([5], Table(scores), graph, graph, split.val, most_edges=3))
        for _ in range(2)
    )
    assert first == again
    assert first["recall_either@5"] in (0, 1 / 3, 2 / 3, 1)


def test_a_tie_takes_the_mean_rank() -> None:
    graph, edge = undirected((0, 1), num_nodes=4), torch.tensor([[2], [3]])
    same = Table(torch.zeros(4, 4))  # three nodes tie: rank 2
    assert [recall_at(k, same, graph, graph, edge) for k in (1, 2)] == [0.0, 1.0]


def slow_recall(k: int, scores: Tensor, graph: MessageGraph, edges: Tensor) -> float:
    known = set(map(tuple, graph.edge_index.t().tolist()))
    hits = []
    for u, v in [*edges.t().tolist(), *edges.flip(0).t().tolist()]:
        others = [w for w in range(graph.num_nodes) if w not in (u, v) and (u, w) not in known]
        hits.append(sum(float(scores[u, w]) > float(scores[u, v]) for w in others) < k)
    return sum(hits) / len(hits)


@pytest.mark.parametrize("chunk", [1, 100, 1 << 22])
def test_the_same_as_the_slow_twin(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mgae.evaluation.ranking._SCORES", chunk)
    split = split_links(toy_graph(), 0.05, 0.1, Generators(0)["split"])
    nodes = split.message.num_nodes
    scores = torch.rand(nodes, nodes, generator=torch.Generator().manual_seed(1))
    graph = split.message
    for k in (1, 5, 20):
        expected = slow_recall(k, scores, graph, split.val)
        assert recall_at(k, Table(scores), graph, graph, split.val) == pytest.approx(expected)


def test_it_is_measured_where_it_is_asked_for() -> None:
    split = split_links(toy_graph(), 0.05, 0.1, Generators(0)["split"])
    method = masked(split.message)
    recalls = evaluate_links(method, split, "test", {}, recalls=(3, 5))
    assert list(recalls) == ["recall@3", "recall@5", "recall_either@3", "recall_either@5"]
    assert 0 <= recalls["recall@3"] <= recalls["recall@5"] <= 100


def test_it_may_pick_the_epoch() -> None:
    split = split_links(toy_graph(), 0.05, 0.1, Generators(0)["split"])
    config = RunConfig(train={"monitor": "recall@3"}, evaluation={"recall": (1,)})
    assert config.recalls == (1, 3)
    method = masked(split.message)
    validate = validator(method, split, config.train.monitor)
    assert validate is not None
    expected = recall_at(3, method, method.encode(split.message), split.message, split.val)
    assert validate() == pytest.approx(100 * expected)


def test_validation_edges_that_the_test_may_see_are_not_offered_again() -> None:
    # For 0 the validation edge's end, 2, is before the test edge's, 3; for 3 it is 0.
    scores = torch.tensor([[0.0, 0, 9, 5], [0, 0, 0, 0], [9, 0, 0, 0], [5, 0, 0, 0]])
    val, test, other = (torch.tensor([[u], [v]]) for u, v in ((0, 2), (0, 3), (1, 2)))
    split = LinkSplit(undirected((0, 1), num_nodes=4), val, test, other, other)
    for val_as_input, expected in ((False, 50.0), (True, 100.0)):
        given_ = {"val_edges_as_input": val_as_input, "recalls": (1,)}
        recalls = evaluate_links(Table(scores), split, "test", {}, **given_)
        assert recalls == {"recall@1": expected, "recall_either@1": 100.0}


def test_per_user_by_hand() -> None:
    # Users 0 and 1, items 2 to 5; user 0 has chosen 2 in training and 3 for validation.
    once = torch.tensor([[0, 1], [2, 2]])
    side = torch.tensor([0, 0, 1, 1, 1, 1], dtype=torch.int8)
    graph = MessageGraph(torch.cat([once, once.flip(0)], dim=1), 6, side=side)
    scores = torch.zeros(6, 6)
    scores[0, 2:] = torch.tensor([9.0, 8, 1, 2])  # 5 first, then 4
    scores[1, 2:] = torch.tensor([9.0, 1, 2, 3])  # 5, 4, 3
    scores[0, 1] = scores[1, 0] = 99.0  # another user is never offered
    edges = torch.tensor([[4, 1, 3], [0, 5, 1]])  # 0 – 4, 1 – 5 and 1 – 3
    val = torch.tensor([[3], [0]])
    result = means(ranking_figures((1, 2), Table(scores), graph, graph, edges, val))
    # At 1: nothing of 0, one of two of 1. At 2: 4 at rank 2; 5 at rank 1.
    second = 1 / math.log2(3)
    assert result == pytest.approx(
        {
            "recall@1": 0.25,
            "ndcg@1": 0.5,
            "recall@2": 0.75,
            "ndcg@2": (second + 1 / (1 + second)) / 2,
        }
    )
    only_first = means(ranking_figures((2,), Table(scores), graph, graph, edges, val, max_users=1))
    assert only_first["recall@2"] == 1.0


def test_ndcg_may_pick_the_epoch_of_a_bipartite_graph_alone() -> None:
    split = split_links(toy_graph(), 0.1, 0.1, torch.Generator().manual_seed(0))
    with pytest.raises(ConfigError, match=r"ndcg@5, which is measured in a bipartite graph only"):
        validator(Table(torch.zeros(20, 20)), split, "ndcg@5")
    assert RunConfig(train={"monitor": "ndcg@5"}).recalls == (5,)
