"""Personalized PageRank: by hand on three nodes, then against networkx."""

from __future__ import annotations

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from mgae.core.errors import UnsupportedError
from mgae.core.methods import Method, build_method, pagerank
from mgae.core.seeding import Generators
from mgae.data import MessageGraph, checked
from mgae.runs.config import RunConfig
from tests.conftest import toy_graph


def build(graph: MessageGraph) -> Method:
    return build_method(RunConfig(method="personalized-pagerank"), graph, Generators(0)["init"])


def scores(graph: MessageGraph, pairs: list[tuple[int, int]]) -> list[float]:
    method = build(graph)
    found: Tensor = method.score_links(method.encode(graph), torch.tensor(pairs).t())
    return found.tolist()


def test_a_path_of_three_nodes_by_hand() -> None:
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    graph = MessageGraph.of(checked(Data(edge_index=edges, num_nodes=4)))
    # From 0, with a = 0.85: p1 = a (p0 + p2), p0 = 0.15 + a p1 / 2, p2 = a p1 / 2.
    a = 0.85
    p1 = 0.15 * a / (1 - a * a)
    p2 = a * p1 / 2
    # From 1: q1 = 0.15 + a (q0 + q2) and q0 = q2 = a q1 / 2.
    q0 = a / 2 * 0.15 / (1 - a * a)
    found = scores(graph, [(0, 1), (1, 0), (0, 2), (0, 3), (3, 1)])
    assert found == pytest.approx([p1 + q0, p1 + q0, 2 * p2, 0, 0], rel=1e-3)


@settings(deadline=None, max_examples=20)
@given(
    seed=st.integers(0, 1000),
    num_nodes=st.integers(3, 15),
    num_edges=st.integers(1, 60),
    directed=st.booleans(),
    weighted=st.booleans(),
)
def test_it_is_what_networkx_gives_from_both_ends(
    seed: int, num_nodes: int, num_edges: int, directed: bool, weighted: bool
) -> None:
    graph = toy_graph(
        num_nodes=num_nodes, num_edges=num_edges, seed=seed, directed=directed, weighted=weighted
    )
    twin = nx.Graph(graph.edge_index.t().tolist())
    twin.add_nodes_from(range(num_nodes))
    rank = [
        nx.pagerank(twin, 0.85, personalization={node: 1.0}, tol=1e-9, max_iter=500)
        for node in range(num_nodes)
    ]
    pairs = [(u, v) for u in range(num_nodes) for v in range(num_nodes) if u != v]
    expected = [rank[u][v] + rank[v][u] for u, v in pairs]
    assert scores(graph, pairs) == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_many_heads_are_scored_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = toy_graph()
    pairs = [(u, v) for u in range(20) for v in range(20) if u != v]
    whole = scores(graph, pairs)
    monkeypatch.setattr(pagerank, "_HEADS_AT_ONCE", 3)
    assert scores(graph, pairs) == pytest.approx(whole, rel=1e-5)


def test_what_would_take_too_long_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mgae.core.ops.pagerank.MOST_PRODUCTS", 100)
    with pytest.raises(UnsupportedError, match=r"'personalized-pagerank' would take .* products"):
        scores(toy_graph(), [(0, 1)])
