from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from mgae.core.graph import MessageGraph
from mgae.core.ops.sparse import SparseMatrix
from mgae.data import checked
from tests.conftest import toy_data, toy_graph

PROPERTY = settings(deadline=None, max_examples=40)
graphs = st.builds(
    toy_graph,
    num_nodes=st.integers(2, 15),
    num_edges=st.integers(1, 40),
    seed=st.integers(0, 2**20),
    num_features=st.none(),
    weighted=st.booleans(),
    directed=st.booleans(),
)


@pytest.fixture
def triangle_and_tail() -> MessageGraph:
    """0-1, 0-2, 1-2 and 2-3, with 1, 2, 4 and 8 as their weights."""
    pairs = torch.tensor([[0, 0, 1, 2], [1, 2, 2, 3]])
    weight = torch.tensor([1.0, 2.0, 4.0, 8.0])
    edge_index = torch.cat([pairs, pairs.flip(0)], dim=1)
    return MessageGraph.of(
        checked(Data(edge_index=edge_index, edge_weight=weight.repeat(2), num_nodes=4))
    )


def test_edges_pairs_and_keys_by_hand(triangle_and_tail: MessageGraph) -> None:
    graph = triangle_and_tail
    assert graph.edge_index.tolist() == [[1, 2, 0, 2, 0, 1, 3, 2], [0, 0, 1, 1, 2, 2, 2, 3]]
    assert graph.edge_weight is not None
    assert graph.edge_weight.tolist() == [1.0, 2.0, 1.0, 4.0, 2.0, 4.0, 8.0, 8.0]
    assert graph.edge_keys.tolist() == [1, 2, 4, 6, 8, 9, 11, 14]
    assert graph.pairs.tolist() == [[0, 0, 1, 2], [1, 2, 2, 3]]
    assert graph.pair_of_edge.tolist() == [0, 1, 0, 2, 1, 2, 3, 3]


def test_only_takes_edges_with_their_weights(triangle_and_tail: MessageGraph) -> None:
    graph = triangle_and_tail.only(triangle_and_tail.pair_of_edge == 2)
    assert graph.edge_index.tolist() == [[2, 1], [1, 2]]
    assert graph.edge_weight is not None
    assert graph.edge_weight.tolist() == [4.0, 4.0]
    assert graph.num_nodes == 4
    assert graph.undirected


def test_only_forgets_what_was_derived_from_the_edges(triangle_and_tail: MessageGraph) -> None:
    graph = triangle_and_tail
    before = (graph.pairs, graph.edge_keys, graph.pair_of_edge, graph.adjacency.degree)
    smaller = graph.only(graph.pair_of_edge == 3)
    assert smaller.pairs.tolist() == [[2], [3]]
    assert smaller.edge_keys.tolist() == [11, 14]
    assert smaller.pair_of_edge.tolist() == [0, 0]
    assert smaller.adjacency.degree.tolist() == [0.0, 0.0, 8.0, 8.0]
    assert before[0] is graph.pairs


def test_an_edge_without_its_reverse_ends_the_symmetry(triangle_and_tail: MessageGraph) -> None:
    kept = torch.tensor([True] + [False] * 7)
    graph = triangle_and_tail.only(kept, undirected=False)
    assert not graph.undirected
    assert not graph.adjacency.symmetric
    h = torch.zeros(4, 1, requires_grad=True)
    graph.adjacency.sum_neighbors(h)[0].sum().backward()
    assert h.grad is not None
    assert h.grad.flatten().tolist() == [0.0, 1.0, 0.0, 0.0]


def test_a_graph_cannot_be_changed(triangle_and_tail: MessageGraph) -> None:
    with pytest.raises(FrozenInstanceError):
        triangle_and_tail.num_nodes = 5  # type: ignore[misc]


def test_of_takes_over_what_was_checked() -> None:
    data = toy_data(weighted=True, directed=True)
    graph = MessageGraph.of(data)
    assert graph.edge_index is data.edge_index
    assert graph.edge_weight is data.edge_weight
    assert graph.num_nodes == 20
    assert not graph.undirected
    assert not graph.adjacency.symmetric


def unchecked(
    num_nodes: int, edges: list[tuple[int, int]], both_ways: bool, weighted: bool, seed: int
) -> Data:
    """These edges in any order, with their reverses or not, as PyG would take them."""
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.tensor(edges).t() % num_nodes
    # Quarters: sums of them are exact in any order.
    weight = torch.randint(1, 9, (len(edges),), generator=generator) / 4 if weighted else None
    if both_ways:
        edge_index = torch.cat([edge_index, edge_index.flip(0)], dim=1)
        weight = None if weight is None else weight.repeat(2)
    order = torch.randperm(edge_index.size(1), generator=generator)
    weight = None if weight is None else weight[order]
    x = torch.rand(num_nodes, 3, generator=generator)
    return Data(x=x, edge_index=edge_index[:, order], edge_weight=weight, num_nodes=num_nodes)


def assert_same(graph: MessageGraph, other: MessageGraph) -> None:
    assert torch.equal(graph.edge_index, other.edge_index)
    assert (graph.num_nodes, graph.undirected) == (other.num_nodes, other.undirected)
    assert torch.equal(graph.x, other.x)
    assert (graph.edge_weight is None) == (other.edge_weight is None)
    if graph.edge_weight is not None:
        assert graph.edge_weight.dtype == other.edge_weight.dtype
        assert torch.equal(graph.edge_weight, other.edge_weight)


@settings(deadline=None, max_examples=150)
@given(
    num_nodes=st.integers(2, 6),
    edges=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=20),
    both_ways=st.booleans(),
    weighted=st.booleans(),
    seed=st.integers(0, 2**20),
)
def test_of_an_unchecked_graph_is_that_of_the_checked_one(
    num_nodes: int, edges: list[tuple[int, int]], both_ways: bool, weighted: bool, seed: int
) -> None:
    edges = [*edges, (0, 1)]  # the checks want an edge that is no self-loop
    data = unchecked(num_nodes, edges, both_ways, weighted, seed)
    before = data.clone()
    assert_same(MessageGraph.of(data), MessageGraph.of(checked(data)))
    assert torch.equal(data.edge_index, before.edge_index)
    assert not weighted or torch.equal(data.edge_weight, before.edge_weight)


def test_of_an_unchecked_graph_by_hand() -> None:
    # 2 → 0 twice, 0 → 2, a self-loop at 1, and 1 → 2: not sorted, and not undirected.
    edge_index = torch.tensor([[2, 1, 0, 2, 1], [0, 2, 2, 0, 1]])
    weight = torch.tensor([1.0, 5.0, 3.0, 2.0, 7.0])
    graph = MessageGraph.of(Data(edge_index=edge_index, edge_weight=weight, num_nodes=4))
    assert graph.edge_index.tolist() == [[2, 0, 1], [0, 2, 2]]
    assert graph.edge_weight is not None
    assert graph.edge_weight.tolist() == [3.0, 3.0, 5.0]
    assert graph.num_nodes == 4
    assert not graph.undirected
    # Without 1 → 2 the duplicates add up to the weight of the reverse.
    kept = torch.tensor([0, 2, 3, 4])
    data = Data(edge_index=edge_index[:, kept], edge_weight=weight[kept], num_nodes=4)
    assert MessageGraph.of(data).undirected
    data.edge_weight[0] = 4.0
    assert not MessageGraph.of(data).undirected


def test_of_a_graph_of_self_loops_has_no_edge() -> None:
    graph = MessageGraph.of(Data(edge_index=torch.tensor([[1, 0], [1, 0]]), num_nodes=2))
    assert graph.edge_index.shape == (2, 0)
    assert graph.adjacency.degree.tolist() == [0.0, 0.0]


def test_without_features_there_are_none() -> None:
    graph = toy_graph(num_features=None)
    assert graph.x is None
    assert graph.num_features == 0


@pytest.mark.parametrize(("non_zeros", "kind"), [(20, SparseMatrix), (21, torch.Tensor)])
def test_features_are_sparse_up_to_a_fifth_of_non_zeros(non_zeros: int, kind: type) -> None:
    x = torch.zeros(10, 10)
    x.view(-1)[:non_zeros] = 3.0
    graph = MessageGraph.of(checked(Data(x=x, edge_index=torch.tensor([[0], [1]]))))
    assert isinstance(graph.x, kind)
    assert graph.num_features == 10
    assert torch.equal(graph.x @ torch.eye(10), x)


@PROPERTY
@given(graph=graphs)
def test_each_edge_finds_its_pair(graph: MessageGraph) -> None:
    pairs = graph.pairs[:, graph.pair_of_edge]
    assert torch.equal(pairs, graph.edge_index.sort(dim=0).values)


@PROPERTY
@given(graph=graphs)
def test_pairs_are_the_distinct_ones_with_the_smaller_id_first(graph: MessageGraph) -> None:
    expected = {(min(u, v), max(u, v)) for u, v in graph.edge_index.t().tolist()}
    assert [tuple(pair) for pair in graph.pairs.t().tolist()] == sorted(expected)


@PROPERTY
@given(graph=graphs)
def test_keys_are_sorted_and_tell_edges_apart(graph: MessageGraph) -> None:
    assert bool((graph.edge_keys.diff() > 0).all())
    source, target = graph.edge_keys % graph.num_nodes, graph.edge_keys // graph.num_nodes
    assert torch.equal(torch.stack([source, target]), graph.edge_index)


@PROPERTY
@given(graph=graphs, seed=st.integers(0, 2**20))
def test_only_and_its_complement_share_out_the_edges(graph: MessageGraph, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    kept = torch.rand(graph.edge_index.size(1), generator=generator) < 0.5
    parts = [graph.only(part, undirected=False) for part in (kept, ~kept)]
    keys = torch.cat([part.edge_keys for part in parts])
    assert torch.equal(keys.sort().values, graph.edge_keys)
    if graph.edge_weight is not None:
        weight = torch.cat([part.edge_weight for part in parts if part.edge_weight is not None])
        assert torch.equal(weight[keys.argsort()], graph.edge_weight)


@PROPERTY
@given(graph=graphs, seed=st.integers(0, 2**20))
def test_what_is_kept_of_a_direction_is_at_hand_sorted_by_source(
    graph: MessageGraph, seed: int
) -> None:
    chance = torch.Generator().manual_seed(seed)
    kept = torch.rand(graph.edge_index.size(1), generator=chance) < 0.5
    some = graph.only(kept, undirected=False)
    assert some.by_source is not None
    edges, weight = some.by_source
    order = torch.argsort(some.edge_index[0], stable=True)
    assert torch.equal(edges, some.edge_index[:, order])
    if some.edge_weight is not None:
        assert weight is not None
        assert torch.equal(weight, some.edge_weight[order])


@pytest.mark.parametrize("sparse", [False, True])
def test_row_normalized_features_add_up_to_one_in_magnitude(sparse: bool) -> None:
    x = torch.tensor([[1.0, -3.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 5.0]])
    graph = MessageGraph(torch.tensor([[0, 1], [1, 0]]), 3, SparseMatrix.from_dense(x))
    if not sparse:
        graph = MessageGraph(graph.edge_index, 3, x)
    normalized = graph.row_normalized_x
    assert isinstance(normalized, SparseMatrix) == sparse
    dense = normalized.csr().to_dense() if isinstance(normalized, SparseMatrix) else normalized
    assert dense is not None
    assert dense.tolist() == [[0.25, -0.75, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    assert MessageGraph(graph.edge_index, 3).row_normalized_x is None
