"""Ranking and its candidates, by hand and against a slow answer."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mgae.core.methods.base import Encoded, Method
from mgae.core.seeding import Generators
from mgae.data import MessageGraph
from mgae.runs.build import build_method
from mgae.runs.config import RunConfig
from mgae.serving.candidates import FaissIndex, Neighbors, PlainIndex, tangents
from mgae.serving.ranker import Ranking, best
from tests.conftest import toy_graph


def ranking(graph: MessageGraph, **parts: object) -> Ranking:
    config = RunConfig(graph="toy", method="mgae", encoder={"hidden_channels": 4}, **parts)
    method: Method = build_method(config, graph, Generators(0)["init"])
    return Ranking(
        method, method.encode(graph), Neighbors(graph), graph.num_nodes, lambda: method.embed(graph)
    )


@given(st.lists(st.integers(-3, 3), min_size=1), st.integers(1, 60))
def test_the_best_are_those_of_a_stable_sort(values: list[int], k: int) -> None:
    result = best(torch.arange(len(values)), torch.tensor(values).float(), k)
    assert result.nodes.tolist() == sorted(range(len(values)), key=lambda index: -values[index])[:k]
    assert result.scores.tolist() == [values[index] for index in result.nodes]


def test_neighbors_of_a_path_by_hand() -> None:
    path = MessageGraph(torch.tensor([[1, 0, 2, 1], [0, 1, 1, 2]]), num_nodes=4)
    assert [Neighbors(path).of(node).tolist() for node in range(4)] == [[1], [0, 2], [1], []]
    arrows = MessageGraph(torch.tensor([[1, 0], [0, 2]]), num_nodes=3, undirected=False)
    assert [Neighbors(arrows).of(node).tolist() for node in range(3)] == [[2], [0], []]


@pytest.mark.parametrize("decoder", ["cross-correlation", "mlp", "inner-product"])
@pytest.mark.parametrize("directed", [False, True])
def test_the_exact_way_is_the_slow_one(decoder: str, directed: bool) -> None:
    graph = toy_graph(directed=directed)
    ranks = ranking(graph, decoder=decoder, train={"chunk_size": 7})
    for head, result in enumerate(ranks.exact(torch.arange(20), 20)):
        joined = set(graph.edge_index[1, graph.edge_index[0] == head].tolist())
        free = [node for node in range(20) if node != head and node not in joined]
        scores = ranks.method.score_links(ranks.encoded, torch.tensor([[head] * len(free), free]))
        order = torch.argsort(-scores, stable=True)
        torch.testing.assert_close(result.scores, scores[order])
        assert set(result.nodes.tolist()) == set(free)


def test_a_product_is_its_own_tangent() -> None:
    graph = toy_graph()
    ranks = ranking(graph, decoder="inner-product")
    encoded = ranks.encoded
    heads, owner = torch.tensor([3, 4]), torch.tensor([0, 0, 1])
    result = tangents(ranks.method.decoder, encoded, heads, owner, torch.tensor([0, 5, 2]))
    last = encoded.layers[-1][heads]
    torch.testing.assert_close(result, torch.cat([torch.zeros_like(last), last], dim=1))


def test_the_tangent_is_the_slope_of_the_score() -> None:
    ranks = ranking(toy_graph())
    encoded, step = ranks.encoded, 1e-3
    here = torch.tensor([3]), torch.tensor([0]), torch.tensor([5])
    (slope,) = tangents(ranks.method.decoder, encoded, *here)
    rows = encoded.rows.clone()
    rows[5] += step * slope.view(2, 4)
    moved = Encoded(rows.unbind(1), encoded.undirected)
    pair = torch.tensor([[3], [5]])
    gain = ranks.method.score_links(moved, pair) - ranks.method.score_links(encoded, pair)
    # The tangent of two orders is their sum, and the score their mean.
    assert float(gain) == pytest.approx(step * float(slope @ slope) / 2, rel=0.05)


def test_hubs_get_more_candidates_than_they_have_neighbors() -> None:
    star = torch.tensor([[0] * 15, list(range(1, 16))])
    edges = torch.cat([star, star.flip(0)], dim=1)
    x = torch.rand(20, 5, generator=torch.Generator().manual_seed(0))
    order = torch.argsort(edges[1] * 20 + edges[0])
    ranks = ranking(MessageGraph(edges[:, order], 20, x))
    (result,) = ranks.proposed(torch.tensor([0]), 4, count=8)
    assert len(result.nodes) == 4 and not set(result.nodes.tolist()) & set(range(16))
    assert ranks.recall(torch.arange(20), 4, count=40) == 1


@given(st.integers(0, 3), st.booleans())
def test_joined_pairs_are_the_edges(seed: int, directed: bool) -> None:
    graph = toy_graph(directed=directed)
    neighbors = Neighbors(graph)
    heads, tails = torch.randint(20, (2, 50), generator=torch.Generator().manual_seed(seed))
    edges = set(zip(*graph.edge_index.tolist(), strict=True))
    pairs = list(zip(heads.tolist(), tails.tolist(), strict=True))
    assert neighbors.join(heads, tails).tolist() == [pair in edges for pair in pairs]
    owner, some = neighbors.first(heads, 2)
    assert neighbors.count(heads).clamp(max=2).sum() == len(owner)
    assert neighbors.join(heads[owner], some).all()


def test_plain_products_find_the_largest() -> None:
    matrix = torch.tensor([[1.0, 0], [0, 2], [3, 3]])
    assert PlainIndex(matrix).search(torch.tensor([[1.0, -1]]), 2).tolist() == [[0, 2]]


def test_faiss_finds_them_too() -> None:
    pytest.importorskip("faiss", reason="the extra ann is not installed")
    matrix = 1e6 * torch.rand(2000, 8, generator=torch.Generator().manual_seed(0))
    queries = matrix[:20] - 5e5
    exact, result = (index(matrix).search(queries, 10) for index in (PlainIndex, FaissIndex))
    for row, other in zip(exact.tolist(), result.tolist(), strict=True):
        assert len(set(row) & set(other)) >= 9
