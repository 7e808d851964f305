from __future__ import annotations

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from mgae.core.errors import GraphError
from mgae.core.graph import MessageGraph
from mgae.core.negatives import NegativeSampler
from mgae.data import checked
from tests.conftest import toy_graph

PROPERTY = settings(deadline=None, max_examples=40)
seeds = st.integers(0, 2**20)
graphs = st.builds(
    toy_graph,
    num_nodes=st.integers(4, 15),
    num_edges=st.integers(1, 70),
    seed=seeds,
    num_features=st.none(),
    directed=st.booleans(),
)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def undirected(pairs: Tensor, num_nodes: int) -> MessageGraph:
    edge_index = torch.cat([pairs, pairs.flip(0)], dim=1)
    return MessageGraph.of(checked(Data(edge_index=edge_index, num_nodes=num_nodes)))


def complete(num_nodes: int, missing: int = 0) -> MessageGraph:
    """All pairs but the last ``missing``."""
    pairs = torch.combinations(torch.arange(num_nodes), 2).t()
    return undirected(pairs[:, : pairs.size(1) - missing], num_nodes)


def star(num_nodes: int) -> MessageGraph:
    """Node 0 is joined to all others."""
    leaves = torch.arange(1, num_nodes)
    return undirected(torch.stack([torch.zeros_like(leaves), leaves]), num_nodes)


def ordered(pairs: Tensor) -> list[tuple[int, int]]:
    return [(u, v) for u, v in pairs.t().tolist()]


def free_pairs(graph: MessageGraph) -> set[tuple[int, int]]:
    """The slow, obvious twin: every ordered pair that is no edge and no self-loop."""
    edges = set(ordered(graph.edge_index))
    nodes = range(graph.num_nodes)
    return {(u, v) for u in nodes for v in nodes if u != v and (u, v) not in edges}


def free_both_ways(graph: MessageGraph) -> set[tuple[int, int]]:
    free = free_pairs(graph)
    return {(u, v) for u, v in free if u < v and (v, u) in free}


def deviations(pairs: Tensor, possible: set[tuple[int, int]], draws: int) -> float:
    """The largest distance of a pair's count from the uniform one, in standard deviations."""
    counts = dict.fromkeys(possible, 0)
    for pair in ordered(pairs):
        counts[pair] += 1
    share = 1 / len(possible)
    sigma = (draws * share * (1 - share)) ** 0.5
    return max(abs(count - draws * share) for count in counts.values()) / sigma


def test_is_taken_by_hand() -> None:
    # 0 → 1 and 2 → 1 on three nodes.
    edge_index = torch.tensor([[0, 2], [1, 1]])
    graph = MessageGraph.of(checked(Data(edge_index=edge_index, num_nodes=3)))
    pairs = torch.tensor([[0, 1, 2, 1, 0, 2], [1, 0, 1, 2, 2, 2]])
    taken = NegativeSampler.of(graph).is_taken(pairs)
    assert taken.tolist() == [True, False, True, False, False, True]


def test_without_edges_only_self_loops_are_taken() -> None:
    sampler = NegativeSampler(torch.empty(0, dtype=torch.long), 3)
    assert sampler.is_taken(torch.tensor([[0, 1, 2], [0, 2, 2]])).tolist() == [True, False, True]


def test_all_free_by_hand() -> None:
    graph = undirected(torch.tensor([[0, 1], [1, 2]]), 3)
    assert set(ordered(NegativeSampler.of(graph).all_free())) == {(0, 2), (2, 0)}


@PROPERTY
@given(graph=graphs)
def test_is_taken_equals_the_slow_twin_on_every_pair(graph: MessageGraph) -> None:
    everything = torch.cartesian_prod(*[torch.arange(graph.num_nodes)] * 2).t()
    taken = NegativeSampler.of(graph).is_taken(everything)
    assert set(ordered(everything[:, ~taken])) == free_pairs(graph)


@PROPERTY
@given(graph=graphs)
def test_all_free_equals_the_slow_twin(graph: MessageGraph) -> None:
    expected = free_pairs(graph)
    assume(expected)
    drawn = ordered(NegativeSampler.of(graph).all_free())
    assert len(drawn) == len(expected)
    assert set(drawn) == expected


@PROPERTY
@given(graph=graphs, count=st.integers(0, 50), seed=seeds)
def test_samples_are_free_and_as_many_as_asked_for(
    graph: MessageGraph, count: int, seed: int
) -> None:
    free = free_pairs(graph)
    assume(free)
    pairs = NegativeSampler.of(graph).sample(count, seeded(seed))
    assert pairs.shape == (2, count)
    assert free.issuperset(ordered(pairs))


def test_the_one_free_pair_of_a_large_dense_graph_is_found() -> None:
    pairs = NegativeSampler.of(complete(60, missing=1)).sample(500, seeded())
    assert set(ordered(pairs)) == {(58, 59), (59, 58)}


@pytest.mark.parametrize("missing", [40, 3])
def test_samples_are_uniform_over_all_free_pairs(missing: int) -> None:
    # With three pairs missing the rejections run out, and the rest comes from the list.
    graph, draws = complete(10 if missing == 40 else 60, missing), 20_000
    pairs = NegativeSampler.of(graph).sample(draws, seeded(1))
    assert deviations(pairs, free_pairs(graph), draws) < 5


def test_a_complete_graph_has_nothing_to_sample() -> None:
    with pytest.raises(GraphError, match="every pair of nodes is an edge"):
        NegativeSampler.of(complete(5)).sample(3, seeded())


def test_a_sampler_knows_only_the_edges_that_it_was_given() -> None:
    # Held-out edges must be drawn like any other pair, or training would learn which they are.
    graph = complete(5, missing=1)
    held_out = graph.pair_of_edge == 0
    pairs = NegativeSampler.of(graph.only(~held_out)).sample(400, seeded())
    assert set(ordered(pairs)) == {(0, 1), (1, 0), (3, 4), (4, 3)}


@PROPERTY
@given(graph=graphs, seed=seeds, data=st.data())
def test_distinct_samples_are_distinct_ascending_and_free_both_ways(
    graph: MessageGraph, seed: int, data: st.DataObject
) -> None:
    free = free_both_ways(graph)
    assume(free)
    count = data.draw(st.integers(0, len(free)))
    drawn = ordered(NegativeSampler.of(graph).sample_distinct(count, seeded(seed)))
    assert len(drawn) == count
    assert len(set(drawn)) == count
    assert free.issuperset(drawn)


def test_distinct_samples_of_a_sparse_graph_are_distinct_too() -> None:
    # 780 pairs, of which 240 edges and negatives are less than a third: drawn, not listed.
    graph = toy_graph(num_nodes=40, num_edges=30)
    drawn = ordered(NegativeSampler.of(graph).sample_distinct(180, seeded()))
    assert len(set(drawn)) == 180
    assert free_both_ways(graph).issuperset(drawn)


@pytest.mark.parametrize("num_nodes", [30, 8])
def test_the_first_of_the_distinct_samples_is_uniform(num_nodes: int) -> None:
    # 30 nodes are drawn by chance, 8 from the list; the first ones go to validation.
    graph, draws = toy_graph(num_nodes=num_nodes, num_edges=10), 3000
    sampler, generator = NegativeSampler.of(graph), seeded(2)
    first = [sampler.sample_distinct(5, generator)[:, 0] for _ in range(draws)]
    assert deviations(torch.stack(first, dim=1), free_both_ways(graph), draws) < 5


@PROPERTY
@given(graph=graphs, seed=seeds)
def test_one_more_than_there_are_is_refused_with_the_settings_to_lower(
    graph: MessageGraph, seed: int
) -> None:
    free = free_both_ways(graph)
    assume(free)
    with pytest.raises(GraphError, match=r"lower split\.val_ratio and split\.test_ratio"):
        NegativeSampler.of(graph).sample_distinct(len(free) + 1, seeded(seed))


@PROPERTY
@given(graph=graphs, count=st.integers(1, 4), seed=seeds)
def test_tails_are_free_or_absent(graph: MessageGraph, count: int, seed: int) -> None:
    heads = torch.arange(graph.num_nodes).repeat(2)
    tails = NegativeSampler.of(graph).sample_tails(heads, count, seeded(seed))
    assert tails.shape == (heads.numel(), count)
    drawn = torch.stack([heads.unsqueeze(1).expand_as(tails).flatten(), tails.flatten()])
    free = free_pairs(graph)
    assert free.issuperset(ordered(drawn[:, drawn[1] >= 0]))
    without = set(range(graph.num_nodes)) - {head for head, _ in free}
    assert set(drawn[0, drawn[1] < 0].tolist()) == without


def test_a_node_joined_to_all_others_has_no_free_tail() -> None:
    tails = NegativeSampler.of(star(6)).sample_tails(torch.tensor([0, 1]), 8, seeded())
    assert tails[0].tolist() == [-1] * 8
    assert set(tails[1].tolist()) <= {2, 3, 4, 5}


def test_tails_are_uniform_over_the_free_ones() -> None:
    draws = 20_000
    tails = NegativeSampler.of(star(6)).sample_tails(torch.tensor([1]), draws, seeded(3))
    pairs = torch.stack([torch.ones_like(tails[0]), tails[0]])
    assert deviations(pairs, {(1, 2), (1, 3), (1, 4), (1, 5)}, draws) < 5


def test_tails_respect_the_direction_of_an_arrow() -> None:
    # 0 → 1 and 0 → 2: node 1 may still point at 0.
    edge_index = torch.tensor([[0, 0], [1, 2]])
    graph = MessageGraph.of(checked(Data(edge_index=edge_index, num_nodes=3)))
    tails = NegativeSampler.of(graph).sample_tails(torch.tensor([0, 1]), 100, seeded())
    assert set(tails[0].tolist()) == {-1}
    assert set(tails[1].tolist()) == {0, 2}


def test_the_same_seed_draws_the_same_pairs() -> None:
    sampler, heads = NegativeSampler.of(toy_graph()), torch.arange(20)
    for draw in (
        lambda seed: sampler.sample(50, seeded(seed)),
        lambda seed: sampler.sample_distinct(50, seeded(seed)),
        lambda seed: sampler.sample_tails(heads, 3, seeded(seed)),
    ):
        assert torch.equal(draw(4), draw(4))
        assert not torch.equal(draw(4), draw(5))
