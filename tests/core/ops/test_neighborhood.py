from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from mgae.core.graph import MessageGraph
from mgae.core.ops.neighborhood import Neighborhood, NeighborSampler
from tests.conftest import toy_graph

graphs = st.builds(
    toy_graph,
    num_nodes=st.integers(3, 25),
    num_edges=st.integers(1, 80),
    seed=st.integers(0, 1000),
    num_features=st.none(),
    weighted=st.booleans(),
    directed=st.booleans(),
)


def sampled(
    graph: MessageGraph,
    seeds: list[int],
    fanouts: tuple[int, ...],
    hidden: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> Neighborhood:
    hidden = torch.zeros(graph.edge_index.size(1)).bool() if hidden is None else hidden
    sampler = NeighborSampler(
        graph.edge_index.contiguous(),
        graph.edge_weight,
        graph.adjacency.degree,
        lambda edges: hidden[edges],
        1 - float(hidden.float().mean()),
    )
    generator = generator or torch.Generator().manual_seed(0)
    return sampler.sample(torch.tensor(seeds), fanouts, generator)


def walked(
    graph: MessageGraph, seeds: list[int], hops: int, hidden: Tensor
) -> tuple[list[set[int]], set[tuple[int, int]]]:
    """Breadth first, edge by edge: each hop's nodes, and the edges into all but the last."""
    edges = [
        (u, v) for (u, v), h in zip(graph.edge_index.t().tolist(), hidden, strict=True) if not h
    ]
    layers, used = [set(seeds)], set()
    for _ in range(hops):
        into = {(u, v) for u, v in edges if v in layers[-1]}
        used |= into
        layers.append({u for u, _ in into} - set().union(*layers))
    return layers, used


@settings(deadline=None, max_examples=60)
@given(graph=graphs, hops=st.integers(1, 3), ratio=st.floats(0, 1), seed=st.integers(0, 100))
def test_with_fanouts_beyond_every_degree_it_is_the_breadth_first_walk(
    graph: MessageGraph, hops: int, ratio: float, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.rand(graph.edge_index.size(1), generator=generator) < ratio
    seeds = torch.randperm(graph.num_nodes, generator=generator)[:3].tolist()
    sample = sampled(graph, seeds, (99,) * hops, hidden)
    layers, used = walked(graph, seeds, hops, hidden)
    starts = [0, *sample.ends]
    result = [sample.nodes[a:b].tolist() for a, b in zip(starts, sample.ends, strict=False)]
    assert result[0] == seeds
    assert [set(part) for part in result] == layers
    assert len(sample.nodes) == sum(map(len, layers))
    assert set(map(tuple, sample.nodes[sample.edge_index].t().tolist())) == used
    assert sample.edge_index.size(1) == len(used)


@settings(deadline=None, max_examples=60)
@given(graph=graphs, fanouts=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_no_node_has_more_than_its_fanout_and_edges_are_sorted(
    graph: MessageGraph, fanouts: list[int]
) -> None:
    sample = sampled(graph, [0, 2], tuple(fanouts))
    source, target = sample.edge_index
    keys = target * len(sample.nodes) + source
    assert bool((keys[1:] > keys[:-1]).all())
    true_edges = set(map(tuple, graph.edge_index.t().tolist()))
    assert set(map(tuple, sample.nodes[sample.edge_index].t().tolist())) <= true_edges
    counts, start = torch.bincount(target, minlength=len(sample.nodes)), 0
    for fanout, end in zip([*fanouts, 0], sample.ends, strict=True):
        assert bool((counts[start:end] <= fanout).all())
        start = end


def test_the_edges_of_a_layer_are_those_into_the_nodes_it_must_form() -> None:
    sample = sampled(toy_graph(), [3, 7], (3, 2, 2))
    for hops in range(3):
        adjacency = sample.adjacency(hops)
        kept = sample.edge_index[1] < sample.ends[hops]
        assert torch.equal(adjacency.edge_index, sample.edge_index[:, kept])
        assert adjacency.num_nodes == sample.ends[hops + 1] == len(adjacency.degree)
        assert int(adjacency.edge_index.max()) < adjacency.num_nodes


@pytest.mark.parametrize("weighted", [False, True])
def test_whole_rows_keep_their_weights_and_degrees(weighted: bool) -> None:
    graph = toy_graph(weighted=weighted)
    sample = sampled(graph, [3, 7], (99, 99))
    torch.testing.assert_close(sample.degree, graph.adjacency.degree[sample.nodes])
    weights = dict(
        zip(
            map(tuple, graph.edge_index.t().tolist()),
            [1.0] * graph.edge_index.size(1) if not weighted else graph.edge_weight.tolist(),
            strict=True,
        )
    )
    result = map(tuple, sample.nodes[sample.edge_index].t().tolist())
    torch.testing.assert_close(sample.edge_weight, torch.tensor([weights[edge] for edge in result]))


def test_a_hand_worked_star() -> None:
    # Nodes 1 to 4 send to 0, one of them hidden; two are kept, and stand for 3/4 of 4 = 3 edges.
    graph = MessageGraph(torch.tensor([[1, 2, 3, 4], [0, 0, 0, 0]]), 5, undirected=False)
    sample = sampled(graph, [0], (2,), torch.tensor([True, False, False, False]))
    assert sample.ends == (1, 3)
    assert set(sample.nodes[1:].tolist()) < {2, 3, 4}
    assert sample.edge_index.tolist() == [[1, 2], [0, 0]]
    assert sample.edge_weight.tolist() == [1.5, 1.5]
    assert sample.degree.tolist() == [3.0, 0.0, 0.0]


def test_a_sum_over_some_neighbors_is_the_sum_over_all_on_the_average() -> None:
    graph = toy_graph(num_nodes=12, num_edges=50)
    h = torch.rand(12, 3, generator=torch.Generator().manual_seed(1))
    generator = torch.Generator().manual_seed(0)
    total, rounds = torch.zeros(12, 3), 1000
    for _ in range(rounds):
        sample = sampled(graph, list(range(12)), (3,), generator=generator)
        total += sample.adjacency(0).sum_neighbors(h[sample.nodes])
    expected = graph.adjacency.sum_neighbors(h)
    torch.testing.assert_close(total / rounds, expected, rtol=0.03, atol=0.0)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_kept_edges_weigh_as_much_as_all(weighted: bool) -> None:
    graph = toy_graph(num_nodes=12, num_edges=50, weighted=weighted)
    sample = sampled(graph, list(range(12)), (3,))
    sums = sample.adjacency(0).sum_neighbors(torch.ones(12, 1)).squeeze(1)
    torch.testing.assert_close(sums, graph.adjacency.degree)


def test_weights_of_zero_do_no_harm() -> None:
    edge_index = torch.tensor([[1, 2, 3], [0, 0, 0]])
    graph = MessageGraph(edge_index, 4, edge_weight=torch.zeros(3), undirected=False)
    sample = sampled(graph, [0], (2,))
    assert sample.edge_weight.tolist() == [0.0, 0.0]
    assert sample.degree.tolist() == [0.0, 0.0, 0.0]
