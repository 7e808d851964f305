from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from mgae.core.graph import MessageGraph
from mgae.core.ops.sparse import Adjacency
from tests.conftest import toy_graph

PROPERTY = settings(deadline=None, max_examples=40)
KINDS = [(weighted, directed) for weighted in (False, True) for directed in (False, True)]
graphs = st.builds(
    toy_graph,
    num_nodes=st.integers(2, 15),
    num_edges=st.integers(1, 40),
    seed=st.integers(0, 2**20),
    num_features=st.none(),
    weighted=st.booleans(),
    directed=st.booleans(),
)


def dense(adjacency: Adjacency) -> Tensor:
    """The slow, obvious twin: row receives, column sends, one edge after the other."""
    matrix = torch.zeros(adjacency.num_nodes, adjacency.num_nodes, dtype=torch.float64)
    for edge, (source, target) in enumerate(adjacency.edge_index.t().tolist()):
        weight = adjacency.edge_weight
        matrix[target, source] = 1.0 if weight is None else float(weight[edge])
    return matrix


def random_matrix(rows: int, columns: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, columns, generator=generator, dtype=torch.float64)


@pytest.fixture
def arrows() -> Adjacency:
    """0 → 1 with weight 2, 2 → 1 with weight 3, 1 → 2 with weight 5; sorted by target."""
    edge_index = torch.tensor([[0, 2, 1], [1, 1, 2]])
    return Adjacency(edge_index, 3, torch.tensor([2.0, 3.0, 5.0]))


def test_sums_are_the_ones_worked_by_hand(arrows: Adjacency) -> None:
    h = torch.tensor([[1.0], [10.0], [100.0]])
    assert arrows.sum_neighbors(h).tolist() == [[0.0], [302.0], [50.0]]


def test_gradient_is_the_one_worked_by_hand(arrows: Adjacency) -> None:
    h = torch.zeros(3, 1, requires_grad=True)
    arrows.sum_neighbors(h).backward(torch.tensor([[1.0], [10.0], [100.0]]))
    assert h.grad is not None
    assert h.grad.tolist() == [[20.0], [500.0], [30.0]]


def test_degree_is_the_weight_that_comes_in(arrows: Adjacency) -> None:
    assert arrows.degree.tolist() == [0.0, 5.0, 5.0]


def test_degree_without_weights_counts_the_edges_that_come_in() -> None:
    adjacency = Adjacency(torch.tensor([[0, 2, 1], [1, 1, 2]]), 4)
    assert adjacency.degree.tolist() == [0.0, 2.0, 1.0, 0.0]
    assert adjacency.degree.dtype == torch.float32


def test_an_undirected_path_by_hand() -> None:
    path = Adjacency(torch.tensor([[1, 0, 2, 1], [0, 1, 1, 2]]), 3, symmetric=True)
    assert path.sum_neighbors(torch.tensor([[1.0], [10.0], [100.0]])).tolist() == [
        [10.0],
        [101.0],
        [10.0],
    ]


@PROPERTY
@given(graph=graphs, width=st.integers(1, 4))
def test_sum_and_gradient_equal_the_dense_twin(graph: MessageGraph, width: int) -> None:
    h, upstream = (random_matrix(graph.num_nodes, width, seed) for seed in (0, 1))
    fast, slow = h.clone().requires_grad_(), h.clone().requires_grad_()
    result = graph.adjacency.sum_neighbors(fast)
    expected = dense(graph.adjacency) @ slow
    torch.testing.assert_close(result, expected)
    result.backward(upstream)
    expected.backward(upstream)
    torch.testing.assert_close(fast.grad, slow.grad)


@PROPERTY
@given(graph=graphs)
def test_degree_equals_the_row_sums_of_the_dense_twin(graph: MessageGraph) -> None:
    degree = graph.adjacency.degree.double()
    torch.testing.assert_close(degree, dense(graph.adjacency).sum(dim=1), rtol=1e-5, atol=1e-6)


@PROPERTY
@given(graph=graphs.filter(lambda graph: graph.undirected))
def test_the_symmetric_shortcut_changes_nothing(graph: MessageGraph) -> None:
    results = []
    for symmetric in (False, True):
        adjacency = Adjacency(graph.edge_index, graph.num_nodes, graph.edge_weight, symmetric)
        h = random_matrix(graph.num_nodes, 3).requires_grad_()
        result = adjacency.sum_neighbors(h)
        (gradient,) = torch.autograd.grad(result.pow(2).sum(), h)
        results.append((result, gradient))
    torch.testing.assert_close(results[0], results[1])


@pytest.mark.parametrize(("weighted", "directed"), KINDS)
def test_gradcheck(weighted: bool, directed: bool) -> None:
    graph = toy_graph(num_nodes=6, num_edges=9, weighted=weighted, directed=directed)
    h = random_matrix(6, 2).requires_grad_()
    assert torch.autograd.gradcheck(graph.adjacency.sum_neighbors, (h,))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_result_has_the_type_of_the_features(weighted: bool, dtype: torch.dtype) -> None:
    adjacency = toy_graph(weighted=weighted).adjacency
    assert adjacency.sum_neighbors(torch.ones(20, 2, dtype=dtype)).dtype == dtype


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_without_edges_every_sum_degree_and_gradient_is_zero(
    symmetric: bool, weighted: bool
) -> None:
    weight = torch.empty(0) if weighted else None
    adjacency = Adjacency(torch.empty(2, 0, dtype=torch.long), 3, weight, symmetric)
    h = torch.ones(3, 2, requires_grad=True)
    adjacency.sum_neighbors(h).sum().backward()
    assert torch.equal(adjacency.sum_neighbors(h), torch.zeros(3, 2))
    assert adjacency.degree.tolist() == [0.0, 0.0, 0.0]
    assert h.grad is not None
    assert torch.equal(h.grad, torch.zeros(3, 2))
