from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from mgae.core.errors import GraphError
from mgae.data import checked

PROPERTY = settings(deadline=None, max_examples=50)
NUM_NODES = 6
node = st.integers(0, NUM_NODES - 1)
raw_edges = st.lists(st.tuples(node, node), min_size=1, max_size=30).filter(
    lambda edges: any(u != v for u, v in edges)
)


def graph_of(edges: list[tuple[int, int]], **fields: object) -> Data:
    edge_index = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).t()
    return Data(edge_index=edge_index, **{"num_nodes": NUM_NODES, **fields})


def edges_of(graph: Data) -> list[tuple[int, int]]:
    return [(u, v) for u, v in graph.edge_index.t().tolist()]


def test_duplicates_and_self_loops_go_and_the_rest_is_sorted_by_target_then_source() -> None:
    graph = checked(graph_of([(3, 1), (0, 2), (2, 2), (0, 1), (0, 2)]))
    assert edges_of(graph) == [(0, 1), (3, 1), (0, 2)]


def test_weights_of_duplicates_are_added_and_follow_their_edges() -> None:
    weight = torch.tensor([1.0, 2.0, 4.0, 8.0, 16.0])
    graph = checked(graph_of([(3, 1), (0, 2), (2, 2), (0, 1), (0, 2)], edge_weight=weight))
    assert edges_of(graph) == [(0, 1), (3, 1), (0, 2)]
    assert graph.edge_weight.tolist() == [8.0, 1.0, 18.0]


def test_both_directions_of_every_edge_make_an_undirected_graph() -> None:
    assert checked(graph_of([(0, 1), (1, 0), (1, 2), (2, 1)])).undirected is True
    assert checked(graph_of([(0, 1), (1, 0), (1, 2)])).undirected is False


def test_directions_of_different_weight_make_a_directed_graph() -> None:
    edges = [(0, 1), (1, 0)]
    assert checked(graph_of(edges, edge_weight=torch.tensor([2.0, 2.0]))).undirected is True
    assert checked(graph_of(edges, edge_weight=torch.tensor([2.0, 3.0]))).undirected is False


def test_the_input_stays_as_it_is() -> None:
    data = graph_of([(3, 1), (0, 2), (2, 2), (0, 2)], x=torch.ones(NUM_NODES, 2).double())
    checked(data)
    assert edges_of(data) == [(3, 1), (0, 2), (2, 2), (0, 2)]
    assert data.x is not None
    assert data.x.dtype == torch.float64
    assert "undirected" not in data
    assert "node_ids" not in data


def test_features_become_single_floats() -> None:
    graph = checked(graph_of([(0, 1)], x=torch.eye(NUM_NODES).bool()))
    assert graph.x.dtype == torch.float32
    assert torch.equal(graph.x, torch.eye(NUM_NODES))


def test_nodes_without_edges_are_kept() -> None:
    assert checked(graph_of([(0, 1)])).num_nodes == NUM_NODES


def test_nodes_are_numbered_unless_they_have_ids() -> None:
    assert checked(graph_of([(0, 1)])).node_ids == [0, 1, 2, 3, 4, 5]
    assert checked(graph_of([(0, 1)], node_ids=list("abcdef"))).node_ids == list("abcdef")


def test_ids_in_a_tensor_or_an_array_are_plain_ones() -> None:
    for ids in (torch.arange(6) + 100, np.arange(6) + 100):
        result = checked(graph_of([(0, 1)], node_ids=ids)).node_ids
        assert result == [100, 101, 102, 103, 104, 105]
        assert {type(node) for node in result} == {int}


def test_edge_features_are_sorted_with_their_edges_and_averaged_over_duplicates() -> None:
    features = torch.tensor([[1.0], [3.0], [5.0], [9.0]])
    graph = checked(graph_of([(1, 2), (0, 1), (0, 1), (1, 1)], edge_attr=features))
    assert graph.edge_index.tolist() == [[0, 1], [1, 2]]
    assert graph.edge_attr.tolist() == [[4.0], [1.0]]
    with pytest.raises(GraphError, match="edge_attr must have the shape"):
        checked(graph_of([(0, 1)], edge_attr=torch.ones(2, 3)))


def test_labels_and_masks_stay() -> None:
    y, mask = torch.arange(NUM_NODES), torch.arange(NUM_NODES) < 2
    graph = checked(graph_of([(0, 1)], y=y, train_mask=mask))
    assert torch.equal(graph.y, y)
    assert torch.equal(graph.train_mask, mask)


INFINITE = torch.zeros(NUM_NODES, 2)
INFINITE[3, 1] = torch.inf
REFUSED = {
    "too large an id": (graph_of([(0, 6)]), r"edge_index must be in \[0, 6\), got 6"),
    "a negative id": (graph_of([(0, 1), (-2, 0)]), r"edge_index must be in \[0, 6\), got -2"),
    "no edges": (graph_of([]), "the graph has no edges"),
    "only self-loops": (graph_of([(1, 1), (2, 2)]), "self-loops do not count"),
    "no edge_index": (Data(num_nodes=3), r"edge_index must have the shape \[2, edges\], got None"),
    "edges as rows": (Data(edge_index=torch.ones(3, 3).long(), num_nodes=4), r"got \(3, 3\)"),
    "a flat edge_index": (Data(edge_index=torch.ones(2).long(), num_nodes=4), r"got \(2,\)"),
    "one node": (graph_of([(0, 0)], num_nodes=1), "at least two nodes, got 1"),
    "too few features": (graph_of([(0, 1)], x=torch.ones(5, 2)), r"x must .*\[6, .*got \(5, 2\)"),
    "flat features": (graph_of([(0, 1)], x=torch.ones(6)), r"x must .*got \(6,\)"),
    "infinite features": (graph_of([(0, 1)], x=INFINITE), r"x must be finite, got inf at \[3, 1\]"),
    "overflowing features": (
        graph_of([(0, 1)], x=torch.full((6, 1), 1e300, dtype=torch.float64)),
        r"x must be finite, got inf at \[0, 0\]",
    ),
    "too few ids": (graph_of([(0, 1)], node_ids=[7, 8]), "node_ids must name 6 nodes, got 2"),
    "too few labels": (
        graph_of([(0, 1)], y=torch.ones(5)),
        r"y must have 6 rows, got the shape \(5,\)",
    ),
    "too many weights": (
        graph_of([(0, 1)], edge_weight=torch.ones(2)),
        r"edge_weight must have the shape \[edges\], got \(2,\)",
    ),
    "a negative weight": (
        graph_of([(0, 1), (1, 2)], edge_weight=torch.tensor([1.0, -1.0])),
        "edge_weight must be finite and not negative",
    ),
    "a weight that is no number": (
        graph_of([(0, 1), (1, 2)], edge_weight=torch.tensor([1.0, torch.nan])),
        "edge_weight must be finite and not negative",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_a_message_that_names_the_field(case: str) -> None:
    data, message = REFUSED[case]
    with pytest.raises(GraphError, match=message):
        checked(data)


def test_weights_that_overflow_when_added_are_refused() -> None:
    weight = torch.tensor([3e38, 3e38])
    with pytest.raises(GraphError, match="edge_weight must be finite"):
        checked(graph_of([(0, 1), (0, 1)], edge_weight=weight))


def test_duplicates_that_add_up_to_the_same_weight_make_an_undirected_graph() -> None:
    # 2²⁴ + 1 is 2²⁴ in single floats, but 1 + 1 + 2²⁴ is 2²⁴ + 2.
    edges = [(0, 1)] * 3 + [(1, 0)] * 3
    weight = torch.tensor([2.0**24, 1.0, 1.0, 1.0, 1.0, 2.0**24])
    assert checked(graph_of(edges, edge_weight=weight)).undirected is True


def test_a_single_label_is_refused() -> None:
    with pytest.raises(GraphError, match="y must have 6 rows"):
        checked(graph_of([(0, 1)], y=torch.tensor(1)))


@PROPERTY
@given(edges=raw_edges)
def test_the_edges_are_the_distinct_ones_without_self_loops_in_order(
    edges: list[tuple[int, int]],
) -> None:
    expected = sorted({(u, v) for u, v in edges if u != v}, key=lambda edge: (edge[1], edge[0]))
    assert edges_of(checked(graph_of(edges))) == expected


@PROPERTY
@given(edges=raw_edges)
def test_undirected_says_whether_every_edge_has_its_reverse(edges: list[tuple[int, int]]) -> None:
    result = set(edges_of(checked(graph_of(edges))))
    assert checked(graph_of(edges)).undirected is all((v, u) in result for u, v in result)
    both_ways = edges + [(v, u) for u, v in edges]
    assert checked(graph_of(both_ways)).undirected is True


@PROPERTY
@given(edges=raw_edges, seed=st.integers(0, 2**20))
def test_each_weight_is_the_sum_over_its_duplicates(
    edges: list[tuple[int, int]], seed: int
) -> None:
    # Whole numbers, so that the order of adding does not matter.
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randint(10, (len(edges),), generator=generator).float()
    sums: dict[tuple[int, int], float] = defaultdict(float)
    for edge, value in zip(edges, weight.tolist(), strict=True):
        sums[edge] += value
    graph = checked(graph_of(edges, edge_weight=weight))
    assert graph.edge_weight.tolist() == [sums[edge] for edge in edges_of(graph)]


@PROPERTY
@given(edges=raw_edges, weighted=st.booleans())
def test_checking_twice_changes_nothing(edges: list[tuple[int, int]], weighted: bool) -> None:
    weight = torch.arange(len(edges)).float() if weighted else None
    once = checked(graph_of(edges, edge_weight=weight))
    twice = checked(once)
    assert torch.equal(twice.edge_index, once.edge_index)
    assert twice.undirected == once.undirected
    assert twice.node_ids == once.node_ids
    if weighted:
        assert torch.equal(twice.edge_weight, once.edge_weight)
