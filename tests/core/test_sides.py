"""Every pair that is drawn in a bipartite graph joins its two sides."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from mgae.core.errors import UnsupportedError
from mgae.core.evidence.folds import uniform_pairs
from mgae.core.graph import MessageGraph
from mgae.core.losses import BCE, BPR, FullSoftmax
from mgae.core.methods.heuristics import CommonNeighbors
from mgae.core.negatives import NegativeSampler
from mgae.data import checked
from mgae.data.mapped import in_files
from mgae.data.splits.hard import with_hard_negatives
from mgae.data.splits.links import split_links


def two_sided(users: int, items: int, num_edges: int, seed: int = 0) -> MessageGraph:
    """Random edges between users and items whose numbers are mixed, and one node of no side."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(users + items, generator=generator)
    cells = torch.randperm(users * items, generator=generator)[:num_edges]
    pairs = torch.stack([order[cells % users], order[users + cells // users]])
    side = torch.full((users + items + 1,), -1, dtype=torch.int8)
    side[order[:users]], side[order[users:]] = 0, 1
    data = Data(edge_index=torch.cat([pairs, pairs.flip(0)], dim=1), num_nodes=len(side), side=side)
    return MessageGraph.of(checked(data))


def crosses(graph: MessageGraph, pairs: Tensor) -> bool:
    assert graph.side is not None
    ends = graph.side[pairs[:, pairs[1] >= 0]]
    return bool((ends.sort(dim=0).values == torch.tensor([[0], [1]])).all())


def edge_set(pairs: Tensor) -> set[tuple[int, int]]:
    return {(min(pair), max(pair)) for pair in pairs.t().tolist()}


@settings(deadline=None, max_examples=30)
@given(st.integers(4, 9), st.integers(4, 9), st.integers(8, 13), st.integers(0, 2**16))
def test_every_way_of_drawing_crosses_the_sides(
    users: int, items: int, edges: int, seed: int
) -> None:
    graph, generator = two_sided(users, items, edges, seed), torch.Generator().manual_seed(seed)
    sampler = NegativeSampler.of(graph)
    drawn = [
        sampler.sample(40, generator),
        sampler.sample_distinct(3, generator),
        sampler.all_free(),
        uniform_pairs(graph, 40, generator),
        BCE(2).draw(graph.pairs, sampler, generator).flatten(1),
        BPR(2).draw(graph.pairs, sampler, generator).flatten(1),
    ]
    for pairs in drawn:
        assert crosses(graph, pairs)
        assert not edge_set(pairs[:, pairs[1] >= 0]) & edge_set(graph.pairs)
    free = users * items - graph.pairs.size(1)
    assert sampler.all_free().size(1) == 2 * free
    assert len(edge_set(sampler.sample_distinct(free, generator))) == free


def test_a_head_of_no_side_has_no_tails_and_pairs_are_uniform() -> None:
    graph, generator = two_sided(2, 3, 2), torch.Generator().manual_seed(0)
    sampler = NegativeSampler.of(graph)
    assert sampler.sample_tails(torch.tensor([5]), 3, generator).tolist() == [[-1, -1, -1]]
    pairs = sampler.sample(8000, generator)
    keys = pairs[0] * 6 + pairs[1]
    counts = torch.unique(keys, return_counts=True)[1]
    assert len(counts) == 8  # four free pairs, in both orders
    assert bool(((counts - 1000).abs() < 5 * 30).all())


def test_a_split_its_hard_negatives_and_the_mapped_graph_keep_to_the_sides() -> None:
    graph, generator = two_sided(12, 10, 60), torch.Generator().manual_seed(0)
    split = split_links(graph, 0.1, 0.2, generator)
    split = with_hard_negatives(split, 6, generator, ("val", "test"))
    assert split.message.side is graph.side
    for part in ("val", "test"):
        assert crosses(graph, split.pairs(part)[1])
        hard = split.hard_negatives(part)
        assert hard is not None and crosses(graph, hard.flatten(1))
        assert not edge_set(hard.flatten(1)) & edge_set(graph.pairs)
    mapped = in_files(graph)
    assert mapped.sides is not None and mapped.sides.of.equal(graph.sides.of)  # type: ignore[union-attr]


def test_what_cannot_respect_sides_refuses_them() -> None:
    graph = two_sided(4, 4, 8)
    with pytest.raises(UnsupportedError, match=r"use loss\.kind = 'sampled-softmax'"):
        FullSoftmax().draw(graph.pairs, NegativeSampler.of(graph), torch.Generator())
    with pytest.raises(UnsupportedError, match="use 'l3'"):
        CommonNeighbors().encode(graph)
