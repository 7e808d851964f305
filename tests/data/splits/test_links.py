from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from mgae.core.errors import GraphError
from mgae.core.graph import random_orientation
from mgae.data import MessageGraph, checked, load_graph
from mgae.data.splits import LinkSplit, split_links
from mgae.data.splits.links import without
from tests.conftest import toy_graph

PROPERTY = settings(deadline=None, max_examples=50)
PARTS = ("val", "test")
TENSORS = ("val", "test", "val_negatives", "test_negatives")
ratios = st.floats(0, 0.45)
seeds = st.integers(0, 2**20)
graphs = st.builds(
    toy_graph,
    num_nodes=st.integers(5, 20),
    num_edges=st.integers(4, 60),
    seed=seeds,
    num_features=st.none(),
    weighted=st.booleans(),
)


def digraph(num_nodes: int, num_edges: int, seed: int) -> MessageGraph:
    """Random arrows, some of them with their reverse."""
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(num_nodes, (2, num_edges), generator=generator)
    edge_index = torch.cat([edge_index, torch.tensor([[0], [1]])], dim=1)
    return MessageGraph.of(checked(Data(edge_index=edge_index, num_nodes=num_nodes)))


directed_graphs = st.builds(
    digraph,
    num_nodes=st.integers(6, 20),
    num_edges=st.integers(4, 60),
    seed=seeds,
)


def complete(num_nodes: int, missing: int = 0) -> MessageGraph:
    """All pairs but the last ``missing``."""
    pairs = torch.combinations(torch.arange(num_nodes), 2).t()
    pairs = pairs[:, : pairs.size(1) - missing]
    edge_index = torch.cat([pairs, pairs.flip(0)], dim=1)
    return MessageGraph.of(checked(Data(edge_index=edge_index, num_nodes=num_nodes)))


def split(graph: MessageGraph, val: float = 0.2, test: float = 0.2, seed: int = 0) -> LinkSplit:
    generator = torch.Generator().manual_seed(seed)
    return split_links(graph, val, test, generator)


def ordered(pairs: Tensor) -> list[tuple[int, int]]:
    return [(u, v) for u, v in pairs.t().tolist()]


def unordered(pairs: Tensor) -> list[frozenset[int]]:
    return [frozenset(pair) for pair in ordered(pairs)]


def can_be_split(graph: MessageGraph, val: float, test: float) -> bool:
    num_pairs = graph.pairs.size(1)
    num_held_out = sum(max(1, int(ratio * num_pairs)) for ratio in (val, test) if ratio)
    free = graph.num_nodes * (graph.num_nodes - 1) // 2 - num_pairs
    # Both arrows of a directed pair may be held out, each with a negative of its own.
    num_negatives = num_held_out if graph.undirected else 2 * num_held_out
    return num_held_out < num_pairs and num_negatives <= free and free > 0


def in_any_part(part: LinkSplit) -> list[frozenset[int]]:
    return [*unordered(part.message.pairs), *unordered(part.val), *unordered(part.test)]


def test_counts_are_rounded_down_as_in_kipfs_code() -> None:
    # 5,278 edges: 5% are 263.9 and 10% are 527.8.
    cora = MessageGraph.of(load_graph("cora"))
    part = split(cora, 0.05, 0.10)
    assert [getattr(part, name).size(1) for name in TENSORS] == [263, 527, 263, 527]
    assert part.message.pairs.size(1) == 4488
    assert part.message.edge_index.size(1) == 2 * 4488


def test_a_part_has_at_least_one_edge_unless_its_ratio_is_zero() -> None:
    graph = toy_graph(num_nodes=20, num_edges=10)
    part = split(graph, 0.05, 0.0)
    assert [getattr(part, name).size(1) for name in TENSORS] == [1, 0, 1, 0]
    assert part.message.pairs.size(1) == 9


def test_without_held_out_edges_the_message_graph_is_the_whole() -> None:
    graph = toy_graph(weighted=True)
    part = split(graph, 0.0, 0.0)
    assert torch.equal(part.message.edge_index, graph.edge_index)
    assert [getattr(part, name).shape for name in TENSORS] == [(2, 0)] * 4


def test_without_takes_both_directions_of_an_undirected_edge() -> None:
    # A square 0-1-2-3 less its side 1-2, given backwards.
    pairs = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    edge_index = torch.cat([pairs, pairs.flip(0)], dim=1)
    square = MessageGraph.of(checked(Data(edge_index=edge_index, num_nodes=4)))
    left = without(square, torch.tensor([[2], [1]]))
    assert ordered(left.edge_index) == [(1, 0), (3, 0), (0, 1), (3, 2), (0, 3), (2, 3)]
    assert left.undirected


def test_without_takes_only_the_given_direction_of_a_directed_edge() -> None:
    edge_index = torch.tensor([[1, 0, 1], [0, 1, 2]])
    graph = MessageGraph.of(checked(Data(edge_index=edge_index, num_nodes=3)))
    left = without(graph, torch.tensor([[0], [1]]))
    assert ordered(left.edge_index) == [(1, 0), (1, 2)]


def test_pairs_gives_positives_and_negatives_of_a_part() -> None:
    part = split(toy_graph())
    assert part.pairs("val") == (part.val, part.val_negatives)
    assert part.pairs("test") == (part.test, part.test_negatives)


def test_a_split_cannot_be_changed() -> None:
    part = split(toy_graph())
    with pytest.raises(FrozenInstanceError):
        part.val = part.test  # type: ignore[misc]


@PROPERTY
@given(graph=graphs, val=ratios, test=ratios, seed=seeds)
def test_each_undirected_edge_is_in_exactly_one_part(
    graph: MessageGraph, val: float, test: float, seed: int
) -> None:
    assume(can_be_split(graph, val, test))
    pairs = in_any_part(split(graph, val, test, seed))
    assert len(pairs) == graph.pairs.size(1)
    assert set(pairs) == set(unordered(graph.pairs))


@PROPERTY
@given(graph=graphs, val=ratios, test=ratios, seed=seeds)
def test_held_out_edges_are_no_message_edges_in_either_direction(
    graph: MessageGraph, val: float, test: float, seed: int
) -> None:
    assume(can_be_split(graph, val, test))
    part = split(graph, val, test, seed)
    held_out = set(ordered(part.val)) | set(ordered(part.test))
    both_ways = held_out | {(v, u) for u, v in held_out}
    assert both_ways.isdisjoint(ordered(part.message.edge_index))


@PROPERTY
@given(graph=graphs, val=ratios, test=ratios, seed=seeds)
def test_message_edges_keep_their_order_weights_and_both_directions(
    graph: MessageGraph, val: float, test: float, seed: int
) -> None:
    assume(can_be_split(graph, val, test))
    message = split(graph, val, test, seed).message
    assert bool((message.edge_keys.diff() > 0).all())
    assert message.undirected
    assert message.edge_index.size(1) == 2 * message.pairs.size(1)
    if graph.edge_weight is not None:
        assert message.edge_weight is not None
        weight = dict(zip(ordered(graph.edge_index), graph.edge_weight.tolist(), strict=True))
        expected = [weight[edge] for edge in ordered(message.edge_index)]
        assert message.edge_weight.tolist() == expected


@PROPERTY
@given(graph=st.one_of(graphs, directed_graphs), val=ratios, test=ratios, seed=seeds)
def test_negatives_are_distinct_over_the_parts_and_never_an_edge(
    graph: MessageGraph, val: float, test: float, seed: int
) -> None:
    assume(can_be_split(graph, val, test))
    part = split(graph, val, test, seed)
    negatives = unordered(part.val_negatives) + unordered(part.test_negatives)
    assert len(set(negatives)) == len(negatives)
    assert all(len(pair) == 2 for pair in negatives)
    assert set(negatives).isdisjoint(unordered(graph.edge_index))


@PROPERTY
@given(graph=st.one_of(graphs, directed_graphs), val=ratios, test=ratios, seed=seeds)
def test_each_part_has_as_many_negatives_as_positives(
    graph: MessageGraph, val: float, test: float, seed: int
) -> None:
    assume(can_be_split(graph, val, test))
    part = split(graph, val, test, seed)
    for name, ratio in zip(PARTS, (val, test), strict=True):
        positives, negatives = part.pairs(name)
        pairs = {frozenset(pair) for pair in positives.t().tolist()}
        assert len(pairs) == (max(1, int(ratio * graph.pairs.size(1))) if ratio else 0)
        assert negatives.shape == positives.shape


@PROPERTY
@given(graph=directed_graphs, val=ratios, test=ratios, seed=seeds)
def test_each_directed_edge_keeps_its_direction_in_exactly_one_part(
    graph: MessageGraph, val: float, test: float, seed: int
) -> None:
    assume(not graph.undirected and can_be_split(graph, val, test))
    part = split(graph, val, test, seed)
    edges = [*ordered(part.message.edge_index), *ordered(part.val), *ordered(part.test)]
    assert sorted(edges) == sorted(ordered(graph.edge_index))
    # The reverse of a held-out arrow would give it away.
    visible = set(ordered(part.message.edge_index))
    assert not visible & {(v, u) for u, v in [*ordered(part.val), *ordered(part.test)]}


@PROPERTY
@given(graph=graphs, val=ratios, test=ratios, seed=seeds)
def test_a_split_is_refused_exactly_where_there_is_none(
    graph: MessageGraph, val: float, test: float, seed: int
) -> None:
    assume(val or test)
    if can_be_split(graph, val, test):
        assert split(graph, val, test, seed).message.pairs.size(1) > 0
    else:
        with pytest.raises(GraphError):
            split(graph, val, test, seed)


@PROPERTY
@given(graph=graphs, val=ratios, test=ratios, seed=seeds)
def test_the_same_seed_gives_the_same_split(
    graph: MessageGraph, val: float, test: float, seed: int
) -> None:
    assume(can_be_split(graph, val, test))
    first, second = (split(graph, val, test, seed) for _ in range(2))
    assert all(torch.equal(getattr(first, name), getattr(second, name)) for name in TENSORS)
    assert torch.equal(first.message.edge_index, second.message.edge_index)


def test_another_seed_gives_another_split() -> None:
    graph = toy_graph(num_nodes=60, num_edges=200)
    first, second = split(graph, seed=0), split(graph, seed=1)
    for name in TENSORS:
        assert set(unordered(getattr(first, name))) != set(unordered(getattr(second, name)))


def test_the_global_generator_is_left_alone() -> None:
    before = torch.get_rng_state()
    split(toy_graph())
    assert torch.equal(torch.get_rng_state(), before)


@PROPERTY
@given(graph=graphs, val=ratios, test=ratios, seed=seeds)
def test_its_tensors_give_the_split_back(
    graph: MessageGraph, val: float, test: float, seed: int
) -> None:
    assume(can_be_split(graph, val, test))
    part = split(graph, val, test, seed)
    tensors = part.tensors()
    assert all(tensor.is_contiguous() for tensor in tensors.values())
    again = LinkSplit.from_tensors(graph, tensors)
    assert torch.equal(again.message.edge_index, part.message.edge_index)
    assert all(torch.equal(getattr(again, name), getattr(part, name)) for name in TENSORS)


# 1,500 nodes leave room to draw negatives by chance; 400 do not, and they are listed.
@pytest.mark.parametrize("num_nodes", [1500, 400])
def test_about_half_of_the_pairs_of_an_undirected_graph_ascend(num_nodes: int) -> None:
    graph = toy_graph(num_nodes=num_nodes, num_edges=20_000, num_features=None)
    for name, pairs in split(graph, 0.2, 0.2).tensors().items():
        share = float((pairs[0] < pairs[1]).double().mean())
        assert abs(share - 0.5) < 5 * (0.25 / 4000) ** 0.5, name


def test_each_edge_is_held_out_equally_often() -> None:
    graph = toy_graph(num_nodes=12, num_edges=10)
    draws, times = 1000, torch.zeros(12, 12)
    for seed in range(draws):
        low, high = split(graph, 0.2, 0.3, seed).test.sort(dim=0).values
        times[low, high] += 1
    counts = times[graph.pairs[0], graph.pairs[1]]
    assert int(counts.sum()) == 3 * draws
    assert float((counts - 300).abs().max()) < 5 * (draws * 0.3 * 0.7) ** 0.5


def test_orientation_turns_pairs_but_keeps_them_in_place(generator: torch.Generator) -> None:
    pairs = torch.stack([torch.arange(1000), torch.arange(1000) + 1000])
    turned = random_orientation(pairs, generator)
    assert torch.equal(turned.sort(dim=0).values, pairs)
    assert abs(int((turned[0] >= 1000).sum()) - 500) < 5 * 250**0.5


def test_a_dense_graph_gives_its_last_free_pairs() -> None:
    # 45 pairs, 5 of them free: as many as 40 edges need at 5% and 7.5%.
    graph = complete(10, missing=5)
    part = split(graph, 0.05, 0.075)
    negatives = unordered(part.val_negatives) + unordered(part.test_negatives)
    assert set(negatives) == {frozenset(pair) for pair in [(6, 8), (6, 9), (7, 8), (7, 9), (8, 9)]}


def test_too_dense_a_graph_is_refused_with_the_settings_to_lower() -> None:
    with pytest.raises(
        GraphError,
        match=r"5 pairs without an edge and 6 are needed.*split\.val_ratio and split\.test_ratio",
    ):
        split(complete(10, missing=5), 0.05, 0.10)


def test_a_complete_graph_is_refused() -> None:
    with pytest.raises(GraphError, match="every pair of nodes is an edge"):
        split(complete(6))


def test_a_complete_graph_needs_no_negatives_where_nothing_is_held_out() -> None:
    part = split(complete(6), 0.0, 0.0)
    assert part.message.pairs.size(1) == 15


def test_ratios_that_leave_no_edge_are_refused_by_name() -> None:
    with pytest.raises(
        GraphError,
        match=r"split\.val_ratio 0\.6 and split\.test_ratio 0\.4 leave none of 40 edges",
    ):
        split(toy_graph(), 0.6, 0.4)


def test_a_graph_of_two_edges_has_none_left_for_training() -> None:
    with pytest.raises(GraphError, match=r"split\.val_ratio .* leave none of 2 edges"):
        split(toy_graph(num_edges=2), 0.05, 0.10)
