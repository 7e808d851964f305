"""The shipped model and what a graph's own edges choose beside it, by hand-worked numbers."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.utils import from_networkx

from mgae.core.evidence.folds import FoldedEvidence
from mgae.core.evidence.mixture import mixture
from mgae.core.graph import MessageGraph
from mgae.core.methods.instantmodel import LINK, RANK, InstantModel


def graph_of(graph: nx.Graph) -> MessageGraph:
    return MessageGraph.of(from_networkx(graph))


def firsts(scores: torch.Tensor) -> torch.Tensor:
    """Return for 40 edges, each before its one competitor [80], whether it is above it."""
    edges, others = scores.view(-1, 2).unbind(1)
    return (edges > others).double() + 0.5 * (edges == others).double()


def pairs(right: int, size: float = 1.0) -> torch.Tensor:
    """Return scores [80] of 40 edges and competitors that put the first ``right`` edges first."""
    sign = torch.where(torch.arange(40) < right, size, -size)
    return torch.stack([sign, -sign], dim=1).flatten()


def test_a_source_replaces_the_start_where_it_is_clearly_better() -> None:
    # Against 10 of 40 right, 38 are 28 more: mean gain 0.7, error 0.46 / √40 = 0.07.
    sources = torch.stack([pairs(10), pairs(38)], dim=1)
    weights = mixture(sources, torch.ones(2), 0, firsts)
    assert weights.tolist() == [0.0, 1.0]


def test_a_gain_that_may_be_chance_changes_nothing() -> None:
    # One edge more of 40: mean gain 0.025, error 0.158 / √40 = 0.025, twice that is more.
    sources = torch.stack([pairs(30), pairs(31)], dim=1)
    assert mixture(sources, torch.ones(2), 0, firsts).tolist() == [1.0, 0.0]


def test_sources_that_know_different_edges_are_added_in_units_of_their_deviation() -> None:
    # The start is right on edges 0 to 19, unsure of the others; the second the other way around.
    half = torch.arange(40).repeat_interleave(2) < 20
    sources = torch.stack([pairs(40) * half, 10 * pairs(40) * ~half], dim=1)
    weights = mixture(sources, torch.tensor([1.0, 10.0]), 0, firsts)
    assert weights[0] == 1 and weights[1] == pytest.approx(0.05)  # 0.5 / 10, the first that is best
    assert firsts(sources @ weights).mean() == 1


def test_a_constant_source_is_left_out() -> None:
    sources = torch.stack([pairs(10), torch.zeros(80)], dim=1)
    assert mixture(sources, torch.tensor([1.0, 0.0]), 0, firsts).tolist() == [1.0, 0.0]


def heterophilous() -> nx.Graph:
    """Return groups that are joined to their partner group and never inside: paths of 3 tell."""
    chance = np.random.default_rng(0)
    graph = nx.empty_graph(480)
    for first in range(0, 480, 32):
        for a in range(first, first + 16):
            for b in range(first + 16, first + 32):
                if chance.random() < 0.5:
                    graph.add_edge(a, b)
    return graph


def test_paths_of_length_three_count_where_no_edge_closes_a_triangle() -> None:
    graph = graph_of(heterophilous())
    model, shipped = InstantModel(), InstantModel(self_check=False)
    encoded, plain = model.encode(graph), shipped.encode(graph)
    assert encoded.edges > 100 and plain.edges == 0
    # The best tails of a node are all in the partner group.
    heads = torch.arange(0, 480, 24)
    partner = heads // 16 ^ 1

    def right(method: InstantModel, of: object) -> float:
        listed = method.score_tails(of, heads, torch.arange(480))
        listed[graph_neighbors(graph, heads)] = -torch.inf
        return float((listed.topk(3).indices // 16 == partner.unsqueeze(1)).double().mean())

    assert right(model, encoded) >= right(shipped, plain)
    assert right(model, encoded) > 0.95


def graph_neighbors(graph: MessageGraph, heads: torch.Tensor) -> torch.Tensor:
    known = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.bool)
    known[graph.edge_index[0], graph.edge_index[1]] = True
    return known[heads]


def test_no_edge_that_is_asked_about_is_visible() -> None:
    graph = graph_of(nx.connected_caveman_graph(30, 8))
    fold = torch.arange(graph.pairs.size(1)) % 8 == 0
    own = FoldedEvidence.of_fold(graph, None, fold, 300, 20, torch.Generator())
    hops = own.positives[:, InstantModel().names.index("hops")]
    assert len(hops) > 90 and hops.min() >= 2  # at 1 an edge would be its own evidence


def test_nothing_is_found_in_a_random_graph() -> None:
    # 300 hidden edges of 3,000, never seen: an edge must not count for itself.
    whole = nx.gnm_random_graph(600, 3000, seed=1)
    edges = list(whole.edges)
    hidden = [edges[number] for number in np.random.default_rng(0).permutation(3000)[:300]]
    given = whole.copy()
    given.remove_edges_from(hidden)
    graph, model = graph_of(given), InstantModel()
    encoded = model.encode(graph)
    others = list(nx.complement(whole).edges)
    drawn = np.random.default_rng(1).choice(len(others), 600, replace=False)
    asked = torch.tensor([*hidden, *(others[number] for number in drawn)]).t()
    scores = model.score_links(encoded, asked)
    above = (scores[:300, None] > scores[None, 300:]).double().mean()
    assert abs(float(above) - 0.5) < 0.06  # the error of an AUC from so many pairs is 0.02


def test_a_graph_with_few_edges_keeps_the_shipped_scores() -> None:
    graph = graph_of(nx.path_graph(60))
    model = InstantModel()
    encoded = model.encode(graph)
    values = torch.rand(5, len(model.names))
    assert encoded.edges == 0
    link, rank = model.outputs(values)
    assert torch.allclose(model.links(encoded, values), link)
    assert torch.allclose(model.ranks(encoded, values), rank)


def test_a_graph_that_grew_a_little_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    small = heterophilous()
    model, asked = InstantModel(), []
    monkeypatch.setattr(
        model, "_chosen", lambda graph, _: (asked.append(graph), (torch.eye(2, 16), 7))[1]
    )
    larger, other = small.copy(), nx.gnm_random_graph(480, small.number_of_edges(), seed=0)
    larger.add_edge(480, 3)
    for graph in (small, larger, other):
        model.encode(graph_of(graph))
    assert len(asked) == 2


def test_sources_and_their_weights_have_the_names_of_columns() -> None:
    model = InstantModel(5)
    encoded = model.encode(graph_of(nx.path_graph(9)))
    assert model.counts(encoded) == {"link": {"link": 1.0}, "rank": {"rank": 1.0}}
    assert (LINK, RANK) == (0, 1) and "cross cosine" in model.sources
