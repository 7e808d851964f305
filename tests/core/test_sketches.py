"""Sketches as inputs: of the visible edges alone, and the same whoever else is there."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from mgae.core import Generators, MaskedGraphAutoencoder, MessageGraph, Sketches, Undirected
from mgae.core.encoders.base import _ROWS, _random_rows
from mgae.core.masks import HiddenEdges, MaskedEdges
from tests.conftest import toy_graph
from tests.core.methods.small import edge_set, masked


def dense(graph: MessageGraph) -> Tensor:
    matrix = torch.zeros(graph.num_nodes, graph.num_nodes)
    matrix[tuple(graph.edge_index)] = 1
    return matrix


def test_they_are_the_powers_of_the_normalized_adjacency() -> None:
    graph = toy_graph(num_features=None)
    a = dense(graph)
    root = a.sum(dim=1).clamp(min=1).rsqrt()
    step, x = root.unsqueeze(1) * a * root, Sketches(8, hops=2).whole(graph)
    hops = [step @ _random_rows(20, 8), step @ step @ _random_rows(20, 8)]
    expected = [8**0.5 * normalize(hop) for hop in hops]
    degree = torch.log1p(a.sum(dim=1, keepdim=True))
    torch.testing.assert_close(x, torch.cat([*expected, degree], dim=1))


@pytest.mark.parametrize("count", [1, 7, _ROWS, _ROWS + 1, 2 * _ROWS + 3])
def test_a_row_does_not_depend_on_how_many_follow(count: int) -> None:
    longer = _random_rows(3 * _ROWS, 4)
    assert torch.equal(_random_rows(count, 4), longer[:count])
    assert len(torch.unique(longer, dim=0)) == len(longer), "a block comes twice"


def test_nodes_that_come_later_leave_the_others_as_they_are() -> None:
    graph = toy_graph(num_features=None)
    later = MessageGraph(graph.edge_index, 33)
    inputs = Sketches(8)
    assert torch.equal(inputs.whole(later)[:20], inputs.whole(graph))
    assert not bool(inputs.whole(later)[20:].any()), "nothing is known of a node without edges"
    joined = torch.tensor([[0, 20], [20, 0]])
    edges = torch.cat([graph.edge_index, joined], dim=1)
    with_edge = MessageGraph(edges[:, (edges[1] * 33 + edges[0]).argsort()], 33)
    assert bool(inputs.whole(with_edge)[20].any())


def test_two_threads_do_not_mix_up_their_graphs() -> None:
    inputs = Sketches(4)
    graphs = [toy_graph(seed=seed, num_features=None) for seed in range(8)]
    expected = [Sketches(4).whole(graph) for graph in graphs]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(inputs.whole, graphs * 20))
    assert all(torch.equal(x, expected[i % 8]) for i, x in enumerate(results))


class Watched(Undirected):
    """Keeps what it hides."""

    hidden: Tensor

    def __call__(self, graph: MessageGraph, generator: torch.Generator) -> MaskedEdges:
        edges = super().__call__(graph, generator)
        self.hidden = edges.masked
        return edges

    def hide(self, graph: MessageGraph, generator: torch.Generator) -> HiddenEdges:
        edges = super().hide(graph, generator)
        everyone = torch.arange(graph.edge_index.size(1))
        self.hidden = graph.edge_index[:, edges.is_hidden(everyone)]
        return edges


def trained_on(graph: MessageGraph, fanouts: tuple[int, ...] | None) -> tuple[Tensor, Tensor]:
    """Run an epoch: the edges that are hidden, and those that the sketches are computed from."""
    inputs, mask, read = Sketches(4), Watched(0.5), []
    whole = inputs.whole

    def watched(visible: MessageGraph) -> object:
        read.append(visible)
        return whole(visible)

    inputs.whole = watched  # type: ignore[assignment, method-assign]
    options = {"encoder": {"inputs": inputs}, "step_size": 6, "fanouts": fanouts}
    method: MaskedGraphAutoencoder = masked(graph, mask=mask, **options)  # type: ignore[arg-type]
    assert len(list(method.losses(graph, Generators(0)))) > 1
    assert read
    assert all(
        one is read[0] or edge_set(one.edge_index) == edge_set(read[0].edge_index) for one in read
    )
    return mask.hidden, read[0].edge_index


@pytest.mark.parametrize("fanouts", [None, (3, 3)], ids=["whole", "sampled"])
@pytest.mark.parametrize("directed", [False, True])
def test_no_target_is_in_the_sketches(fanouts: tuple[int, ...] | None, directed: bool) -> None:
    graph = toy_graph(num_features=None, directed=directed)
    hidden, read = trained_on(graph, fanouts)
    both = edge_set(hidden) | edge_set(hidden.flip(0))
    assert hidden.size(1) >= 20
    assert not both & edge_set(read)
    assert both & edge_set(graph.edge_index) | edge_set(read) == edge_set(graph.edge_index)
