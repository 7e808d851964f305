"""Heuristics: counted by hand on five nodes, then against networkx."""

from __future__ import annotations

import math
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

from mgae.core.errors import ConfigError, MGAEError, UnsupportedError
from mgae.core.methods import Method, build_method
from mgae.core.ops.sparse import SparseMatrix
from mgae.core.seeding import Generators
from mgae.core.training import fit
from mgae.data import MessageGraph, checked
from mgae.runs.config import RunConfig
from tests.conftest import toy_graph

OVERLAPS = ["common-neighbors", "adamic-adar", "resource-allocation"]
HEURISTICS = [*OVERLAPS, "raw-features", "random-init"]


def build(name: str, graph: MessageGraph, seed: int = 0, **sections: Any) -> Method:
    return build_method(RunConfig(method=name, **sections), graph, Generators(seed)["init"])


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
    found = scores(name, five_nodes(), pairs.flip(0) if flipped else pairs)
    assert found.tolist() == pytest.approx([counts[name] for counts in BY_HAND.values()])


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
    found = scores(name, graph, torch.tensor(pairs).t()).tolist()
    assert found == pytest.approx(list(NETWORKX[name](twin, pairs)), rel=1e-5)


@pytest.mark.parametrize("name", OVERLAPS)
def test_many_pairs_are_scored_as_few_are(name: str) -> None:
    graph = toy_graph()
    pairs = torch.randint(20, (2, 70_000), generator=torch.Generator().manual_seed(0))
    found = scores(name, graph, pairs)
    assert found.shape == (70_000,)
    assert torch.equal(found[-5:], scores(name, graph, pairs[:, -5:]))


@pytest.mark.parametrize("name", OVERLAPS)
def test_overlaps_count_the_edges_of_the_graph_that_is_encoded(name: str) -> None:
    graph = five_nodes()
    method = build(name, graph)
    fewer = graph.only(~((graph.edge_index == 1).any(dim=0)))  # without node 1's edges
    pair = torch.tensor([[0], [3]])
    whole, less = (method.score_links(method.encode(seen), pair) for seen in (graph, fewer))
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


@pytest.mark.parametrize("kind", ["gcn", "sage"])
def test_random_init_embeds_with_its_first_weights(kind: str) -> None:
    graph = toy_graph()
    encoder = {"kind": kind, "hidden_channels": 4, "num_layers": 3, "dropout": 0.5}
    method = build("random-init", graph, encoder=encoder)
    method.train()
    embedding = method.embed(graph)
    assert embedding.shape == (20, 12)
    assert torch.equal(embedding, torch.cat(method.encoder(graph, None), dim=1).detach())
    assert torch.equal(embedding, build("random-init", graph, encoder=encoder).embed(graph))
    assert not torch.equal(embedding, build("random-init", graph, 1, encoder=encoder).embed(graph))


def test_random_init_has_the_weights_that_mgae_begins_with() -> None:
    graph = toy_graph()
    heuristic, mgae = build("random-init", graph), build("mgae", graph)
    assert torch.equal(heuristic.embed(graph), mgae.embed(graph))


def test_random_init_scores_by_the_cosine_of_its_embeddings() -> None:
    graph = toy_graph()
    embedding = build("random-init", graph).embed(graph)
    expected = torch.cosine_similarity(embedding[graph.pairs[0]], embedding[graph.pairs[1]])
    torch.testing.assert_close(scores("random-init", graph, graph.pairs), expected)


def test_random_init_works_without_features() -> None:
    graph = toy_graph(num_features=None)
    assert build("random-init", graph).embed(graph).shape == (20, 256)


# Refusals


@pytest.mark.parametrize("name", HEURISTICS)
def test_a_heuristic_says_that_it_does_not_train(name: str) -> None:
    graph = toy_graph()
    method = build(name, graph)
    assert not method.trains
    with pytest.raises(UnsupportedError, match=f"'{name}' is not trained"):
        method.losses(graph, Generators(0))


@pytest.mark.parametrize("name", HEURISTICS)
def test_the_loop_refuses_to_train_a_heuristic(name: str) -> None:
    graph = toy_graph()
    method = build(name, graph)
    with pytest.raises(MGAEError, match=f"'{name}' is not trained"):
        train(method, graph, method.config.train, Generators(0), lambda: 0.0)


@pytest.mark.parametrize("name", OVERLAPS)
def test_overlaps_have_no_embeddings(name: str) -> None:
    graph = toy_graph()
    with pytest.raises(UnsupportedError, match=f"'{name}' has no node embeddings"):
        build(name, graph).embed(graph)


@pytest.mark.parametrize(
    ("name", "part"), [("common-neighbors", "encoder"), ("random-init", "mask")]
)
def test_a_part_that_a_heuristic_does_not_have_is_refused(name: str, part: str) -> None:
    with pytest.raises(ConfigError, match=f"method '{name}' has no {part}"):
        RunConfig(method=name, **{part: {}})
