from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from mgae.data import MessageGraph
from mgae.data.checks import checked
from mgae.data.splits import hard
from mgae.data.splits.hard import hard_negatives, too_costly, with_hard_negatives
from mgae.data.splits.links import LinkSplit, joined, split_links
from tests.conftest import toy_graph

# 0 - 1 - 3 - 4 - 5 and 0 - 2 - 3; the test edge is 0 - 5.
TRAINED = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5)]
TEST = torch.tensor([[0], [5]])


def graph_of(edges: list[tuple[int, int]], x: torch.Tensor | None = None) -> MessageGraph:
    return MessageGraph.of(checked(Data(edge_index=torch.tensor(edges).t(), num_nodes=6, x=x)))


def chosen(count: int, order: list[int], x: torch.Tensor | None = None) -> list[tuple[int, int]]:
    message = graph_of(TRAINED, x)
    pairs = hard_negatives(joined(message, TEST), message, TEST, count, torch.tensor(order))
    assert pairs.shape == (2, 1, count)
    return [tuple(pair) for pair in pairs[:, 0].t().tolist()]


def test_by_hand_each_end_keeps_its_likeliest_strangers() -> None:
    # 3 shares 1 and 2 with 0: RA 1/2 + 1/2; then 4 by PageRank. 3 shares 4 with 5: RA 1/2.
    # 1 and 2 are the same to 5: the given order decides.
    assert chosen(4, [0, 1, 2, 3, 4, 5]) == [(0, 3), (0, 4), (3, 5), (1, 5)]
    assert chosen(4, [5, 4, 3, 2, 1, 0]) == [(0, 3), (0, 4), (3, 5), (2, 5)]
    assert chosen(3, [0, 1, 2, 3, 4, 5]) == [(0, 3), (0, 4), (3, 5)]


def test_where_there_are_fewer_the_rest_is_missing() -> None:
    # 0 has two strangers (3, 4), 5 has three (1, 2, 3).
    pairs = chosen(8, [0, 1, 2, 3, 4, 5])
    assert pairs[:4] == [(0, 3), (0, 4), (-1, -1), (-1, -1)]
    assert pairs[4:] == [(3, 5), (1, 5), (2, 5), (-1, -1)]


def test_equal_features_make_a_negative_hard_too() -> None:
    # By the edges 5's first is 3; by the features 2 is its equal, and both ranks count as first.
    x = torch.eye(6)
    x[5] = x[2]
    assert chosen(2, [0, 1, 2, 3, 4, 5], x)[1] == (2, 5)
    assert chosen(4, [3, 2, 0, 1, 4, 5], x)[2:] == [(3, 5), (2, 5)]


def test_held_out_edges_do_not_rank_the_candidates() -> None:
    # With 1 - 4 in sight, 1 would share 4 with 5 and always come before 2. By the training edges
    # 1 and 2 are the same to 5: the random order decides.
    none = torch.empty(2, 0, dtype=torch.long)
    split = LinkSplit(graph_of(TRAINED), torch.tensor([[1], [4]]), TEST, none, none)
    winners = set()
    for seed in range(8):
        order = torch.randperm(6, generator=torch.Generator().manual_seed(seed)).tolist()
        winner = min((1, 2), key=order.index)
        generator = torch.Generator().manual_seed(seed)
        pairs = with_hard_negatives(split, 4, generator).hard_negatives("test")
        assert pairs is not None
        expected = [[0, 3], [0, 4], [3, 5], [winner, 5]]
        assert pairs[:, 0].t().tolist() == expected
        winners.add(winner)
    assert winners == {1, 2}


def drawn(seed: int, nodes: int = 40, edges: int = 120) -> LinkSplit:
    generator = torch.Generator().manual_seed(seed)
    return split_links(toy_graph(num_nodes=nodes, num_edges=edges), 0.1, 0.2, generator)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(1, 60),
    density=st.sampled_from([60, 500]),
    part=st.sampled_from(["val", "test"]),
)
def test_never_a_true_edge_never_twice_always_one_end_of_the_edge(
    seed: int, count: int, density: int, part: str
) -> None:
    split = drawn(seed, edges=density)
    generator = torch.Generator().manual_seed(seed)
    pairs = with_hard_negatives(split, count, generator, (part,)).hard_negatives(part)
    assert pairs is not None
    whole = joined(joined(split.message, split.val), split.test)
    true = {frozenset(edge) for edge in whole.edge_index.t().tolist()}
    for index, (u, v) in enumerate(split.pairs(part)[0].t().tolist()):
        own = pairs[:, index].t().tolist()
        there = [frozenset(pair) for pair in own if pair != [-1, -1]]
        assert len(set(there)) == len(there)
        assert not true & set(there)
        assert all(len(pair) == 2 and pair & {u, v} for pair in there)
        assert all(min(pair) >= 0 for pair in own if pair != [-1, -1])


def test_the_same_again_and_kept_with_the_split(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (
        with_hard_negatives(drawn(3), 10, torch.Generator().manual_seed(1)) for _ in range(2)
    )
    assert first.test_hard_negatives is second.test_hard_negatives, (
        "asked for twice, worked out once"
    )
    monkeypatch.setattr(hard, "_ENDS_AT_ONCE", 3)
    hard._answer.cache_clear()
    third = with_hard_negatives(drawn(3), 10, torch.Generator().manual_seed(1))
    assert torch.equal(first.test_hard_negatives, third.test_hard_negatives)
    whole = joined(joined(first.message, first.val), first.test)
    back = LinkSplit.from_tensors(whole, first.tensors())
    assert torch.equal(back.test_hard_negatives, first.test_hard_negatives)


@given(
    scores=st.lists(st.lists(st.integers(0, 3), min_size=9, max_size=9), min_size=1, max_size=4),
    count=st.integers(1, 12),
)
def test_ranks_are_those_of_a_stable_sort_at_the_cut_too(
    scores: list[list[int]], count: int
) -> None:
    for ranked, row in zip(hard._ranks(np.array(scores, float), count), scores, strict=True):
        best = sorted(range(9), key=lambda node: -row[node])[:count]
        ranks = [best.index(node) if node in best and row[node] else 9 for node in range(9)]
        assert ranked.tolist() == ranks


def test_out_of_reach_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = toy_graph(num_nodes=40, num_edges=120)
    assert too_costly(graph, 10, 100) is None
    assert "lower evaluation.hard_negatives" in str(too_costly(graph, 10, 1_000_000))
    monkeypatch.setattr("mgae.data.splits.hard._MOST_PRODUCTS", 100)
    assert "no hard negatives: to rank the candidates of 20 nodes" in str(too_costly(graph, 10, 5))
    assert too_costly(graph, 10, 0) is None


def test_both_held_out_parts_of_a_graph_as_large_as_pubmed_are_in_reach() -> None:
    edges = torch.randint(19_717, (2, 44_324), generator=torch.Generator().manual_seed(0))
    x = torch.ones(19_717, 1).expand(-1, 500)
    graph = MessageGraph.of(checked(Data(edge_index=edges, x=x, num_nodes=19_717)))
    assert too_costly(graph, num_positives=2_216 + 4_432, count=500) is None
