from __future__ import annotations

import torch

from mgae.data import MessageGraph
from mgae.data.splits.links import LinkSplit, joined
from tests.conftest import toy_data, toy_graph

NAMES = ("val_edges", "test_edges", "val_negatives", "test_negatives")


def pairs_of(edges: torch.Tensor) -> set[frozenset[int]]:
    return {frozenset(pair) for pair in edges.t().tolist()}


def test_the_published_pairs_are_kept_and_turned_at_random() -> None:
    graph = toy_data(num_nodes=400, num_edges=50)
    for number, name in enumerate(NAMES):
        low = torch.arange(0, 398, 2)
        graph[name] = torch.stack([low, low + 1 + (number % 2)])
    generator = torch.Generator().manual_seed(0)
    split = LinkSplit.official(graph, MessageGraph.of(graph), generator)
    for name, pairs in zip(NAMES, split.tensors().values(), strict=False):
        assert pairs.shape == graph[name].shape
    assert pairs_of(split.val) == pairs_of(graph.val_edges)
    assert pairs_of(split.test_negatives) == pairs_of(graph.test_negatives)
    assert 0.3 < float((split.val[0] < split.val[1]).float().mean()) < 0.7
    assert torch.equal(split.message.edge_index, graph.edge_index)


def test_read_back_it_keeps_a_training_edge_that_is_held_out_as_well() -> None:
    graph = toy_data(num_nodes=40, num_edges=50)
    for name in NAMES:
        graph[name] = graph.edge_index[:, :1]
    message = MessageGraph.of(graph)
    split = LinkSplit.official(graph, message, torch.Generator().manual_seed(0))
    back = LinkSplit.from_tensors(message, split.tensors(), official=True)
    assert torch.equal(back.message.edge_index, graph.edge_index)
    assert torch.equal(back.val, split.val)


def test_joining_adds_both_directions_once_and_keeps_the_order() -> None:
    graph = toy_graph(num_nodes=6, num_edges=4, weighted=True)
    known = graph.pairs[:, :1]
    free = next(
        (u, v)
        for u in range(6)
        for v in range(u + 1, 6)
        if frozenset((u, v)) not in pairs_of(graph.pairs)
    )
    more = joined(graph, torch.cat([known, torch.tensor([free]).t()], dim=1))
    assert more.edge_index.size(1) == graph.edge_index.size(1) + 2
    assert bool((more.edge_keys[1:] > more.edge_keys[:-1]).all())
    weights = dict(zip(map(tuple, more.edge_index.t().tolist()), more.edge_weight, strict=True))
    before = dict(zip(map(tuple, graph.edge_index.t().tolist()), graph.edge_weight, strict=True))
    assert weights[free] == weights[free[::-1]] == 1.0
    assert all(weights[edge] == weight for edge, weight in before.items())
