"""The mask of sampled mode: as many edges as the stored one hides, and no leak."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from mgae.core import Directed, Mask, Undirected
from mgae.core.graph import MessageGraph
from mgae.core.masks import HiddenEdges
from mgae.data import checked
from tests.conftest import toy_graph
from tests.core.methods.small import edge_set, seeded


def digraph(num_nodes: int, num_edges: int, seed: int) -> MessageGraph:
    """Random arrows, some of them with their reverse."""
    edges = torch.randint(num_nodes, (2, num_edges), generator=seeded(seed))
    edges = torch.cat([edges, torch.tensor([[0], [1]])], dim=1)
    return MessageGraph.of(checked(Data(edge_index=edges, num_nodes=num_nodes)))


graphs = st.one_of(
    st.builds(toy_graph, num_nodes=st.integers(3, 20), seed=st.integers(0, 999)),
    st.builds(
        digraph,
        num_nodes=st.integers(3, 12),
        num_edges=st.integers(1, 60),
        seed=st.integers(0, 999),
    ),
)
PROPERTY = settings(deadline=None, max_examples=60)
masks = st.builds(
    lambda kind, ratio: kind(ratio),
    kind=st.sampled_from([Undirected, Directed]),
    ratio=st.floats(0, 0.99),
)


def drawn(graph: MessageGraph, mask: Mask, seed: int = 0) -> HiddenEdges:
    return mask.hide(graph, seeded(seed))


def all_targets(hidden: HiddenEdges, step: int) -> list[tuple[int, int]]:
    generator = torch.Generator().manual_seed(1)
    starts = range(0, hidden.count, step)
    parts = [range(start, min(start + step, hidden.count)) for start in starts]
    return [pair for part in parts for pair in ordered(hidden.targets(part, generator))]


def ordered(pairs: Tensor) -> list[tuple[int, int]]:
    return [(u, v) for u, v in pairs.t().tolist()]


@PROPERTY
@given(graph=graphs, mask=masks, step=st.integers(1, 30))
def test_every_hidden_edge_is_a_target_once_and_no_other_is(
    graph: MessageGraph, mask: Mask, step: int
) -> None:
    hidden = drawn(graph, mask)
    flags = hidden.is_hidden(torch.arange(graph.edge_index.size(1)))
    targets, hidden_edges = all_targets(hidden, step), edge_set(graph.edge_index[:, flags])
    assert len(set(targets)) == len(targets)
    if hidden.in_pairs and graph.undirected:
        assert {tuple(sorted(pair)) for pair in targets} == {tuple(sorted(p)) for p in hidden_edges}
        assert 2 * len(targets) == len(hidden_edges)
    else:
        assert set(targets) == hidden_edges


@PROPERTY
@given(graph=graphs, mask=masks)
def test_as_many_are_hidden_as_by_the_stored_mask(graph: MessageGraph, mask: Mask) -> None:
    hidden = drawn(graph, mask)
    flags = hidden.is_hidden(torch.arange(graph.edge_index.size(1)))
    stored = mask(graph, torch.Generator().manual_seed(0))
    things = graph.pair_of_edge if hidden.in_pairs else torch.arange(graph.edge_index.size(1))
    assert things[flags].unique().numel() == hidden.count == round(mask.ratio * hidden.order.size)
    if graph.undirected or not hidden.in_pairs:
        assert int((~flags).sum()) == stored.visible.edge_index.size(1)
    assert hidden.neighbor_sampler().visible_ratio == 1 - hidden.count / hidden.order.size


@PROPERTY
@given(graph=graphs, seed=st.integers(0, 99))
def test_hidden_in_pairs_is_hidden_in_both_directions(graph: MessageGraph, seed: int) -> None:
    hidden = drawn(graph, Undirected(0.5), seed)
    flags = hidden.is_hidden(torch.arange(graph.edge_index.size(1)))
    visible = edge_set(graph.edge_index[:, ~flags])
    hidden_edges = edge_set(graph.edge_index[:, flags])
    assert not visible & (hidden_edges | {(v, u) for u, v in hidden_edges})


def test_a_direction_on_its_own_may_leave_its_reverse() -> None:
    graph = toy_graph()
    hidden = drawn(graph, Directed(0.5))
    flags = hidden.is_hidden(torch.arange(graph.edge_index.size(1)))
    hidden_edges = edge_set(graph.edge_index[:, flags])
    assert {(v, u) for u, v in hidden_edges} & edge_set(graph.edge_index[:, ~flags])


def test_the_orientation_of_an_undirected_target_is_a_coin_s() -> None:
    graph = toy_graph(num_nodes=60, num_edges=1000)
    targets = torch.tensor(all_targets(drawn(graph, Undirected(0.9)), 100))
    assert float((targets[:, 0] < targets[:, 1]).float().mean()) == pytest.approx(0.5, abs=0.06)


def test_each_edge_is_hidden_equally_often() -> None:
    graph = toy_graph(num_nodes=10, num_edges=20)
    generator, mask = torch.Generator().manual_seed(0), Undirected(0.7)
    everything = torch.arange(40)
    times = torch.zeros(40)
    for _ in range(1000):
        times += mask.hide(graph, generator).is_hidden(everything)
    # The standard deviation of a share is √(0.7 · 0.3 / 1000) = 0.0145.
    torch.testing.assert_close(times / 1000, torch.full((40,), 0.7), atol=0.06, rtol=0.0)
