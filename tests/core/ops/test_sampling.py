from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch import Tensor

from mgae.core.ops.sampling import IsHidden, sample_edges

degrees = st.lists(st.integers(0, 30), min_size=1, max_size=12)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def hiding(ratio: float, seed: int, num_edges: int) -> Tensor:
    return torch.rand(num_edges, generator=seeded(seed)) < ratio


def asking(hidden: Tensor) -> IsHidden:
    return lambda edges: hidden[edges]


def looped(
    targets: Tensor, nodes: Tensor, fanout: int, hidden: Tensor, generator: torch.Generator
) -> set[tuple[int, int]]:
    """The same walk, one node and one edge at a time: (place of the node, edge)."""
    owned = [[e for e, t in enumerate(targets.tolist()) if t == node] for node in nodes.tolist()]
    largest = max(1, *map(len, owned), 1)
    starts = torch.randint(2**62, nodes.shape, generator=generator).tolist()
    orders, power = {}, 1
    while not orders or power // 2 < largest:
        orders[power] = torch.randperm(power, generator=generator).tolist()
        power *= 2
    chosen = set()
    for index, (edges, start) in enumerate(zip(owned, starts, strict=True)):
        order = next(order for size, order in orders.items() if size >= len(edges))
        walk = [order[(start + turn) % len(order)] for turn in range(len(order))]
        visible = [edges[k] for k in walk if k < len(edges) and not hidden[edges[k]]]
        chosen |= {(index, edge) for edge in visible[:fanout]}
    return chosen


@settings(deadline=None, max_examples=80)
@given(
    degrees=degrees,
    fanout=st.integers(1, 12),
    ratio=st.sampled_from([0.0, 0.3, 0.7, 0.95, 1.0]),
    seed=st.integers(0, 1000),
)
def test_the_choice_is_that_of_the_loop(
    degrees: list[int], fanout: int, ratio: float, seed: int
) -> None:
    targets = torch.arange(len(degrees)).repeat_interleave(torch.tensor(degrees))
    hidden = hiding(ratio, seed, len(targets))
    nodes = torch.randperm(len(degrees), generator=seeded(seed))[: 1 + seed % len(degrees)]
    owner, edges = sample_edges(targets, nodes, fanout, asking(hidden), seeded(seed))
    pairs = list(zip(owner.tolist(), edges.tolist(), strict=True))
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == looped(targets, nodes, fanout, hidden, seeded(seed))


@settings(deadline=None, max_examples=80)
@given(degrees=degrees, fanout=st.integers(1, 12), ratio=st.floats(0, 1), seed=st.integers(0, 1000))
def test_a_node_has_its_fanout_or_all_that_is_visible(
    degrees: list[int], fanout: int, ratio: float, seed: int
) -> None:
    targets = torch.arange(len(degrees)).repeat_interleave(torch.tensor(degrees))
    hidden = hiding(ratio, seed, len(targets))
    nodes = torch.arange(len(degrees))
    owner, edges = sample_edges(targets, nodes, fanout, asking(hidden), seeded(seed))
    assert torch.equal(targets[edges], nodes[owner])
    assert not bool(hidden[edges].any())
    visible = torch.bincount(targets[~hidden], minlength=len(degrees))
    assert torch.equal(torch.bincount(owner, minlength=len(degrees)), visible.clamp(max=fanout))


@pytest.mark.parametrize("wide", [True, False])
def test_every_choice_is_equally_likely(wide: bool) -> None:
    # Seven edges into node 0, two of them hidden: ten ways to take two of the five others.
    targets = torch.tensor([0] * 7 + [1] * (50 if wide else 1))
    hidden = torch.zeros(len(targets), dtype=torch.bool)
    hidden[[1, 4]] = True
    generator, nodes = seeded(0), torch.tensor([0, 1])
    counts: Counter[tuple[int, ...]] = Counter()
    for _ in range(2000):
        owner, edges = sample_edges(targets, nodes, 2, asking(hidden), generator)
        counts[tuple(sorted(edges[owner == 0].tolist()))] += 1
    assert set(counts) == set(combinations([0, 2, 3, 5, 6], 2))
    assert chisquare(list(counts.values())).pvalue > 0.001


def test_nodes_without_edges_have_no_choice() -> None:
    targets, hidden = torch.tensor([1, 1]), torch.zeros(2, dtype=torch.bool)
    for nodes in ([0, 2], []):
        node_ids = torch.tensor(nodes, dtype=torch.long)
        owner, edges = sample_edges(targets, node_ids, 3, asking(hidden), seeded(0))
        assert owner.numel() == edges.numel() == 0


def test_a_hub_that_is_almost_all_hidden_still_gives_what_it_has() -> None:
    targets = torch.zeros(5000, dtype=torch.long)
    hidden = torch.ones(5000, dtype=torch.bool)
    hidden[[17, 4321]] = False
    _, edges = sample_edges(targets, torch.tensor([0]), 3, asking(hidden), seeded(0))
    assert sorted(edges.tolist()) == [17, 4321]


def test_few_edges_are_asked_about_whatever_the_degree() -> None:
    asked = []

    def is_hidden(edges: Tensor) -> Tensor:
        asked.append(edges.numel())
        return torch.zeros(edges.numel(), dtype=torch.bool)

    sample_edges(torch.zeros(100_000, dtype=torch.long), torch.tensor([0]), 5, is_hidden, seeded(0))
    assert sum(asked) <= 30
