"""Heuristics: counted by hand on five nodes, then against networkx."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable, Iterable
from typing import Any

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from mgae.core import (
    SAGE,
    AdamicAdar,
    CommonNeighbors,
    Jaccard,
    Method,
    PersonalizedPageRank,
    RandomInit,
    RawFeatures,
    ResourceAllocation,
    fit,
)
from mgae.core.encoders import GCN, LayeredEncoder
from mgae.core.errors import MGAEError, UnsupportedError
from mgae.core.graph import MessageGraph
from mgae.core.methods import heuristics
from mgae.core.ops.sparse import SparseMatrix
from mgae.core.seeding import Generators, drawn_from
from mgae.data import checked
from tests.conftest import toy_graph
from tests.core.methods.small import encoder_of, masked

KINDS: dict[str, type[Method]] = {
    "common-neighbors": CommonNeighbors,
    "adamic-adar": AdamicAdar,
    "resource-allocation": ResourceAllocation,
    "personalized-pagerank": PersonalizedPageRank,
    "raw-features": RawFeatures,
    "random-init": RandomInit,
}
OVERLAPS = ["common-neighbors", "adamic-adar", "resource-allocation"]


def build(name: str, graph: MessageGraph, seed: int = 0, **encoder: Any) -> Any:
    with drawn_from(Generators(seed)["init"]):
        parts = [encoder_of(graph, **encoder)] if name == "random-init" else []
        method = KINDS[name](*parts)
    method.name = name
    return method


def scores(name: str, graph: MessageGraph, pairs: Tensor) -> Tensor:
    method = build(name, graph)
    return method.score_links(method.encode(graph), pairs)


def five_nodes(directed: bool = False, weighted: bool = False) -> MessageGraph:
    """0-1, 0-2, 1-2, 1-3, 2-3, 3-4: the degrees are 2, 3, 3, 3, 1."""
    edges = torch.tensor([[0, 0, 1, 1, 2, 3], [1, 2, 2, 3, 3, 4]])
    data = Data(edge_index=edges if directed else to_undirected(edges), num_nodes=5)
    if weighted:
        data.edge_weight = torch.arange(data.edge_index.size(1)) + 1.0
    return MessageGraph.of(checked(data))


LN2, LN3 = math.log(2), math.log(3)
# pair: neighbors they share, and what these count
BY_HAND = {
    (0, 3): {"common-neighbors": 2, "adamic-adar": 2 / LN3, "resource-allocation": 2 / 3},  # 1, 2
    (1, 2): {
        "common-neighbors": 2,
        "adamic-adar": 1 / LN2 + 1 / LN3,
        "resource-allocation": 1 / 2 + 1 / 3,
    },  # 0, 3
    (1, 4): {"common-neighbors": 1, "adamic-adar": 1 / LN3, "resource-allocation": 1 / 3},  # 3
    (0, 1): {"common-neighbors": 1, "adamic-adar": 1 / LN3, "resource-allocation": 1 / 3},  # 2
    (0, 4): {"common-neighbors": 0, "adamic-adar": 0, "resource-allocation": 0},
    (3, 4): {"common-neighbors": 0, "adamic-adar": 0, "resource-allocation": 0},
}


@pytest.mark.parametrize("name", OVERLAPS)
@pytest.mark.parametrize("flipped", [False, True])
def test_overlaps_of_five_nodes_by_hand(name: str, flipped: bool) -> None:
    pairs = torch.tensor(list(BY_HAND)).t()
    values = scores(name, five_nodes(), pairs.flip(0) if flipped else pairs)
    assert values.tolist() == pytest.approx([counts[name] for counts in BY_HAND.values()])


@pytest.mark.parametrize("name", OVERLAPS)
@pytest.mark.parametrize("options", [{"directed": True}, {"weighted": True}])
def test_directions_and_weights_do_not_count(name: str, options: dict[str, bool]) -> None:
    pairs = torch.tensor(list(BY_HAND)).t()
    assert torch.equal(
        scores(name, five_nodes(**options), pairs), scores(name, five_nodes(), pairs)
    )


NETWORKX: dict[str, Callable[[nx.Graph, list[tuple[int, int]]], Iterable[float]]] = {
    "common-neighbors": lambda graph, pairs: [
        float(len(list(nx.common_neighbors(graph, u, v)))) for u, v in pairs
    ],
    "adamic-adar": lambda graph, pairs: [p for _, _, p in nx.adamic_adar_index(graph, pairs)],
    "resource-allocation": lambda graph, pairs: [
        p for _, _, p in nx.resource_allocation_index(graph, pairs)
    ],
}


@settings(deadline=None, max_examples=30)
@given(
    name=st.sampled_from(OVERLAPS),
    seed=st.integers(0, 1000),
    num_nodes=st.integers(3, 15),
    num_edges=st.integers(1, 60),
    directed=st.booleans(),
)
def test_overlaps_are_those_of_networkx(
    name: str, seed: int, num_nodes: int, num_edges: int, directed: bool
) -> None:
    graph = toy_graph(num_nodes=num_nodes, num_edges=num_edges, seed=seed, directed=directed)
    twin = nx.Graph(graph.edge_index.t().tolist())
    twin.add_nodes_from(range(num_nodes))
    pairs = [(u, v) for u in range(num_nodes) for v in range(num_nodes) if u != v]
    values = scores(name, graph, torch.tensor(pairs).t()).tolist()
    assert values == pytest.approx(list(NETWORKX[name](twin, pairs)), rel=1e-5)


@pytest.mark.parametrize("name", OVERLAPS)
def test_many_pairs_are_scored_as_few_are(name: str) -> None:
    graph = toy_graph()
    pairs = torch.randint(20, (2, 70_000), generator=torch.Generator().manual_seed(0))
    values = scores(name, graph, pairs)
    assert values.shape == (70_000,)
    assert torch.equal(values[-5:], scores(name, graph, pairs[:, -5:]))


@pytest.mark.parametrize("name", OVERLAPS)
def test_overlaps_count_the_edges_of_the_graph_that_is_encoded(name: str) -> None:
    graph = five_nodes()
    method = build(name, graph)
    fewer = graph.only(~((graph.edge_index == 1).any(dim=0)))  # without node 1's edges
    pair = torch.tensor([[0], [3]])
    whole, less = (method.score_links(method.encode(one), pair) for one in (graph, fewer))
    assert float(less) < float(whole)


# Raw features


def with_features(x: list[list[float]], sparse: bool = False) -> MessageGraph:
    features = torch.tensor(x)
    graph = MessageGraph(torch.tensor([[1, 0], [0, 1]]), len(x), features)
    if sparse:
        return MessageGraph(graph.edge_index, len(x), SparseMatrix.from_dense(features))
    return graph


@pytest.mark.parametrize("sparse", [False, True])
def test_raw_features_are_compared_by_their_cosine(sparse: bool) -> None:
    graph = with_features([[3.0, 4.0], [4.0, 3.0], [-6.0, -8.0], [0.0, 0.0]], sparse)
    pairs = torch.tensor([[0, 0, 0, 2], [1, 2, 3, 2]])
    # (12 + 12) / 25, the opposite direction, nothing at all, and itself.
    expected = [24 / 25, -1.0, 0.0, 1.0]
    assert scores("raw-features", graph, pairs).tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
def test_raw_features_embed_as_they_are(sparse: bool) -> None:
    x = [[3.0, 0.0], [0.0, 3.0], [1.0, 2.0]]
    graph = with_features(x, sparse)
    assert build("raw-features", graph).embed(graph).tolist() == x


@pytest.mark.parametrize("call", ["embed", "encode"])
def test_raw_features_need_features(call: str) -> None:
    graph = toy_graph(num_features=None)
    method = build("raw-features", graph)
    with pytest.raises(UnsupportedError, match="'raw-features' needs node features"):
        getattr(method, call)(graph)


# Random init


@pytest.mark.parametrize("kind", [GCN, SAGE])
def test_random_init_embeds_with_its_first_weights(kind: type[LayeredEncoder]) -> None:
    graph = toy_graph()
    encoder = {"kind": kind, "num_layers": 3, "dropout": 0.5}
    method = build("random-init", graph, **encoder)
    method.train()
    embedding = method.embed(graph)
    assert embedding.shape == (20, 12)
    assert torch.equal(embedding, torch.cat(method.encoder(graph, None), dim=1).detach())
    assert torch.equal(embedding, build("random-init", graph, **encoder).embed(graph))
    assert not torch.equal(embedding, build("random-init", graph, 1, **encoder).embed(graph))


def test_random_init_has_the_weights_that_mgae_begins_with() -> None:
    graph = toy_graph()
    assert torch.equal(build("random-init", graph).embed(graph), masked(graph).embed(graph))


def test_random_init_scores_by_the_cosine_of_its_embeddings() -> None:
    graph = toy_graph()
    embedding = build("random-init", graph).embed(graph)
    expected = torch.cosine_similarity(embedding[graph.pairs[0]], embedding[graph.pairs[1]])
    torch.testing.assert_close(scores("random-init", graph, graph.pairs), expected)


def test_random_init_works_without_features() -> None:
    graph = toy_graph(num_features=None)
    assert build("random-init", graph).embed(graph).shape == (20, 8)


# Personalized PageRank


def rank(graph: MessageGraph, pairs: list[tuple[int, int]]) -> list[float]:
    return scores("personalized-pagerank", graph, torch.tensor(pairs).t()).tolist()


def test_a_path_of_three_nodes_by_hand() -> None:
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    graph = MessageGraph.of(checked(Data(edge_index=edges, num_nodes=4)))
    # From 0, with a = 0.85: p1 = a (p0 + p2), p0 = 0.15 + a p1 / 2, p2 = a p1 / 2.
    a = 0.85
    p1 = 0.15 * a / (1 - a * a)
    p2 = a * p1 / 2
    # From 1: q1 = 0.15 + a (q0 + q2) and q0 = q2 = a q1 / 2.
    q0 = a / 2 * 0.15 / (1 - a * a)
    values = rank(graph, [(0, 1), (1, 0), (0, 2), (0, 3), (3, 1)])
    assert values == pytest.approx([p1 + q0, p1 + q0, 2 * p2, 0, 0], rel=1e-3)


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
    ranks = [
        nx.pagerank(twin, 0.85, personalization={node: 1.0}, tol=1e-9, max_iter=500)
        for node in range(num_nodes)
    ]
    pairs = [(u, v) for u in range(num_nodes) for v in range(num_nodes) if u != v]
    expected = [ranks[u][v] + ranks[v][u] for u, v in pairs]
    assert rank(graph, pairs) == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_many_heads_are_scored_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = toy_graph()
    pairs = [(u, v) for u in range(20) for v in range(20) if u != v]
    whole = rank(graph, pairs)
    monkeypatch.setattr(heuristics, "HEADS_AT_ONCE", 3)
    assert rank(graph, pairs) == pytest.approx(whole, rel=1e-5)


def test_what_would_take_too_long_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mgae.core.ops.pagerank.MOST_PRODUCTS", 100)
    with pytest.raises(UnsupportedError, match=r"'personalized-pagerank' would take .* products"):
        rank(toy_graph(), [(0, 1)])


# Refusals


@pytest.mark.parametrize("name", KINDS)
def test_a_heuristic_says_that_it_does_not_train(name: str) -> None:
    graph = toy_graph()
    method = build(name, graph)
    assert not method.trains
    with pytest.raises(UnsupportedError, match=f"'{name}' is not trained"):
        method.losses(graph, Generators(0))
    with pytest.raises(MGAEError, match=f"'{name}' is not trained"):
        fit(method, graph)


@pytest.mark.parametrize("name", [*OVERLAPS, "personalized-pagerank"])
def test_a_score_of_pairs_has_no_embeddings(name: str) -> None:
    graph = toy_graph()
    with pytest.raises(UnsupportedError, match=f"'{name}' has no node embeddings"):
        build(name, graph).embed(graph)


@pytest.mark.parametrize("method", [CommonNeighbors(), AdamicAdar(), Jaccard()])
def test_a_star_of_many_leaves_takes_no_memory_of_its_center(method: Method) -> None:
    """Cut by pairs alone, each of them would copy the center's 100,000 neighbors."""
    leaves = 100_000
    center = torch.zeros(leaves, dtype=torch.long)
    edges = torch.stack([center, torch.arange(1, leaves + 1)])
    graph = MessageGraph.of(checked(Data(edge_index=edges, num_nodes=leaves + 1)))
    pairs = torch.stack([center, torch.arange(1, leaves + 1)])
    pairs = torch.cat([pairs, torch.tensor([[1, 5], [2, 5]])], dim=1)
    encoded = method.encode(graph)
    tracemalloc.start()
    scores = method.score_links(encoded, pairs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 2**20
    assert scores[:-2].max() == 0
    assert (scores[-2:] > 0).all()


def test_overlap_in_chunks_is_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = toy_graph(num_nodes=30, num_edges=120)
    pairs = torch.combinations(torch.arange(30), 2).t()
    method = AdamicAdar()
    encoded = method.encode(graph)
    whole = method.score_links(encoded, pairs)
    product = encoded @ method._weighted(encoded).T
    expected = torch.from_numpy(product.toarray())[pairs[0], pairs[1]].float()
    assert torch.allclose(whole, expected)
    monkeypatch.setattr("mgae.core.methods.heuristics._NEIGHBORS_AT_ONCE", 7)
    assert torch.equal(method.score_links(encoded, pairs), whole)
    assert method.score_links(encoded, pairs[:, :0]).shape == (0,)
