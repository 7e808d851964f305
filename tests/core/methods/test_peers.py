"""Peers: counted by hand on five nodes, then against dense formulas and libraries."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import LightGCN as PyGLightGCN
from torch_geometric.utils import to_undirected

from mgae.core import (
    BPR,
    DeepWalk,
    Jaccard,
    Katz,
    LightGCN,
    MessageGraph,
    Method,
    NetMF,
    Node2Vec,
    PathsOfThree,
    PreferentialAttachment,
    ProNE,
    Spectral,
    drawn_from,
    fit,
)
from mgae.core.decoders import InnerProduct
from mgae.core.errors import UnsupportedError
from mgae.core.graph import edge_matrix
from mgae.core.methods import heuristics
from mgae.core.methods.factorization import edge_information
from mgae.core.methods.walks import Corpus, biased_walks, uniform_walks
from mgae.core.negatives import NegativeSampler
from mgae.core.ops import pagerank
from mgae.core.seeding import Generators
from tests.conftest import toy_graph

Floats = NDArray[np.float64]
HEURISTICS: list[type[Method]] = [Jaccard, PreferentialAttachment, Katz, PathsOfThree]
FACTORS: list[type[Method]] = [Spectral, NetMF, ProNE]


def five_nodes(directed: bool = False) -> MessageGraph:
    """0-1, 0-2, 1-2, 1-3, 2-3, 3-4: the degrees are 2, 3, 3, 3, 1."""
    edges = torch.tensor([[0, 0, 1, 1, 2, 3], [1, 2, 2, 3, 3, 4]])
    return MessageGraph.of(
        Data(edge_index=edges if directed else to_undirected(edges), num_nodes=5)
    )


def all_pairs(num_nodes: int) -> Tensor:
    return torch.cartesian_prod(torch.arange(num_nodes), torch.arange(num_nodes)).t()


def score_matrix(method: Method, graph: MessageGraph) -> Floats:
    scores = method.score_links(method.encode(graph), all_pairs(graph.num_nodes))
    return scores.view(graph.num_nodes, -1).numpy().astype(np.float64)


def dense(graph: MessageGraph) -> Floats:
    return np.asarray(edge_matrix(graph).toarray(), dtype=np.float64)


def seeded(build: Callable[[], Any], seed: int = 0) -> Any:
    with drawn_from(torch.Generator().manual_seed(seed)):
        return build()


# Heuristics


def test_jaccard_by_hand() -> None:
    scores = score_matrix(Jaccard(), five_nodes())
    # 0 and 3 share 1 and 2, and have 4 besides; 1 and 2 share 0 and 3, and have each other.
    assert scores[[0, 1, 0], [3, 2, 4]].tolist() == pytest.approx([2 / 3, 2 / 4, 0])


def test_preferential_attachment_by_hand() -> None:
    assert score_matrix(PreferentialAttachment(), five_nodes())[[0, 1], [3, 4]].tolist() == [6, 3]


def test_paths_of_three_by_hand() -> None:
    scores = score_matrix(PathsOfThree(), five_nodes())
    # 0-1-3-4 and 0-2-3-4, with inner degrees of 3; 0-1-2-3 and 0-2-1-3 likewise.
    assert scores[[0, 0], [4, 3]].tolist() == pytest.approx([2 / 3, 2 / 3])


def test_katz_of_a_single_edge_by_hand() -> None:
    graph = MessageGraph.of(Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=3))
    # λ_max is 1; walks of 1, 3 and 5 steps lead to the other end.
    scores = score_matrix(Katz(), graph)
    assert scores[0].tolist() == pytest.approx([1 / 4 + 1 / 16 + 1 / 64, 1 / 2 + 1 / 8 + 1 / 32, 0])


def dense_katz(edges: Floats) -> Floats:
    decay = 0.5 / max(np.linalg.eigvalsh(edges)[-1], 1)
    return np.asarray(sum(np.linalg.matrix_power(decay * edges, step) for step in range(1, 7)))


def dense_paths(edges: Floats) -> Floats:
    root = np.diag(np.maximum(edges.sum(axis=0), 1) ** -0.5)
    return np.asarray(edges @ root @ edges @ root @ edges)


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 1000),
    num_nodes=st.integers(2, 15),
    num_edges=st.integers(1, 60),
    directed=st.booleans(),
    weighted=st.booleans(),
)
def test_heuristics_are_those_of_networkx_and_of_dense_matrices(
    seed: int, num_nodes: int, num_edges: int, directed: bool, weighted: bool
) -> None:
    graph = toy_graph(
        num_nodes=num_nodes, num_edges=num_edges, seed=seed, directed=directed, weighted=weighted
    )
    edges, twin = dense(graph), nx.from_numpy_array(dense(graph))
    pairs = [(u, v) for u in range(num_nodes) for v in range(num_nodes) if u != v]
    at = tuple(np.array(pairs).T)
    expected = {
        Jaccard: [value for *_, value in nx.jaccard_coefficient(twin, pairs)],
        PreferentialAttachment: [v for *_, v in nx.preferential_attachment(twin, pairs)],
        Katz: dense_katz(edges)[at],
        PathsOfThree: dense_paths(edges)[at],
    }
    for kind, values in expected.items():
        scores = score_matrix(kind(), graph)
        np.testing.assert_allclose(scores[at], values, rtol=2e-5, atol=1e-6, err_msg=str(kind))


def test_katz_summed_over_all_nodes_is_networkx_centrality() -> None:
    graph = toy_graph(num_nodes=30, num_edges=80)
    method, twin = Katz(), nx.from_numpy_array(dense(graph))
    decay = float(method.encode(graph).max())
    method.rounds = 60  # type: ignore[misc]
    centrality = nx.katz_centrality_numpy(twin, alpha=decay, normalized=False)
    totals = 1 + score_matrix(method, graph).sum(axis=1)
    np.testing.assert_allclose(totals, [centrality[node] for node in range(30)], rtol=1e-5)


@pytest.mark.parametrize("kind", HEURISTICS)
def test_blocks_of_heads_change_nothing(
    kind: type[Method], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = toy_graph(num_nodes=40, num_edges=120)
    whole = score_matrix(kind(), graph)
    monkeypatch.setattr(heuristics, "HEADS_AT_ONCE", 3)
    monkeypatch.setattr(heuristics, "_NEIGHBORS_AT_ONCE", 7)
    np.testing.assert_array_equal(score_matrix(kind(), graph), whole)
    method = kind()
    tails = method.score_tails(method.encode(graph), torch.arange(40), torch.arange(40))
    np.testing.assert_allclose(tails.numpy(), whole, rtol=1e-6)


@pytest.mark.parametrize("kind", [Katz, PathsOfThree])
def test_what_costs_too_much_is_refused(
    kind: type[Method], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pagerank, "MOST_PRODUCTS", 100)
    method = kind()
    method.name = "slow"
    encoded = method.encode(toy_graph())
    with pytest.raises(UnsupportedError, match="method 'slow' would take"):
        method.score_links(encoded, torch.tensor([[0, 1, 2], [3, 4, 5]]))
    with pytest.raises(UnsupportedError, match="method 'slow' would take"):
        method.score_tails(encoded, torch.arange(9), torch.arange(9))


# Factorizations


def dense_walk(edges: Floats) -> Floats:
    root = np.maximum(edges.sum(axis=0), 1) ** -0.5
    return np.asarray(edges * root * root[:, None])


def test_spectral_with_all_positive_eigenvectors_is_the_positive_part_of_pagerank() -> None:
    graph = toy_graph()
    values, vectors = np.linalg.eigh(dense_walk(dense(graph)))
    counted = np.where(values > 0, values / (1 - 0.85 * values), 0)
    expected = vectors @ np.diag(counted) @ vectors.T
    np.testing.assert_allclose(score_matrix(Spectral(), graph), expected, atol=1e-5)


def test_lanczos_and_the_dense_decomposition_agree() -> None:
    graph = toy_graph(num_nodes=60, num_edges=200)
    values, vectors = np.linalg.eigh(dense_walk(dense(graph)))
    leading, kept = values[-5:], vectors[:, -5:]
    expected = kept @ np.diag(leading / (1 - 0.85 * leading)) @ kept.T
    np.testing.assert_allclose(score_matrix(Spectral(channels=5), graph), expected, atol=1e-5)


def test_spectral_has_the_eigenvalues_of_scikit_network() -> None:
    embedding = pytest.importorskip("sknetwork.embedding")
    graph = toy_graph(num_nodes=60, num_edges=200)
    twin = embedding.Spectral(5, decomposition="rw", regularization=0)
    twin.fit(sp.csr_matrix(edge_matrix(graph)))
    embedded = Spectral(channels=6).embed(graph).double().numpy()
    weights = np.sort((embedded**2).sum(axis=0))[::-1]  # λ / (1 - 0.85 λ)
    values = weights / (1 + 0.85 * weights)
    # The library leaves out the first one, which is 1.
    np.testing.assert_allclose(values, [1.0, *np.sort(twin.eigenvalues_)[::-1]], atol=1e-5)


def test_netmf_of_a_single_edge_by_hand() -> None:
    graph = MessageGraph.of(Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2))
    # A walk alternates: in a window of 3 the other node comes twice, a node itself once.
    meetings = NetMF(window=3).meetings(edge_matrix(graph))
    np.testing.assert_allclose(meetings, [[2 / 3, 4 / 3], [4 / 3, 2 / 3]])


def test_netmf_factorizes_the_logarithm_of_its_dense_twin() -> None:
    graph = toy_graph()
    edges = dense(graph)
    inverse = np.diag(1 / np.maximum(edges.sum(axis=0), 1))
    powers = sum(np.linalg.matrix_power(inverse @ edges, step) for step in range(1, 5))
    matrix = np.log(np.maximum(edges.sum() / 8 * powers @ inverse, 1))
    values, vectors = np.linalg.eigh(matrix)
    expected = vectors @ np.diag(np.abs(values)) @ vectors.T  # U Σ Uᵀ
    method = NetMF(window=4, negatives=2.0)
    np.testing.assert_allclose(score_matrix(method, graph), expected, atol=1e-5)


def test_netmf_refuses_what_is_too_large_for_a_dense_matrix() -> None:
    method = NetMF(max_nodes=19)
    method.name = "netmf"
    with pytest.raises(UnsupportedError, match=r"'netmf' needs a dense matrix of 20².*'prone'"):
        method.encode(toy_graph())


def test_the_information_of_edges_by_hand() -> None:
    path = MessageGraph.of(Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=4))
    # 1 is reached with 1 + 1, its ends with 1/2 each.
    total = 2**0.75 + 2 * 0.5**0.75
    to_middle, to_end = -math.log(2**0.75 / total), math.log(0.5) - math.log(0.5**0.75 / total)
    expected = np.zeros((4, 4))
    expected[[0, 2], 1], expected[1, [0, 2]] = to_middle, to_end
    np.testing.assert_allclose(edge_information(edge_matrix(path)).toarray(), expected)


def test_the_series_of_prone_is_its_exponential() -> None:
    graph = toy_graph()
    looped = edge_matrix(graph) + np.eye(20)
    laplacian = np.eye(20) - looped / looped.sum(axis=1, keepdims=True)
    shifted = laplacian - 0.1 * np.eye(20)
    exact = scipy.linalg.expm(-0.5 * (shifted @ shifted / 2 - np.eye(20)))
    x = torch.rand(20, 3, generator=torch.Generator().manual_seed(0)).double().numpy()
    np.testing.assert_allclose(ProNE().smooth(sp.csr_array(looped), x), exact @ x, rtol=1e-6)


def unit_factors(matrix: Floats) -> Floats:
    left, values, _ = np.linalg.svd(matrix)
    factors = left * np.sqrt(np.where(values > 1e-9, values, 0))
    length = np.linalg.norm(factors, axis=1, keepdims=True)
    return np.where(length > 1e-6, factors / np.maximum(length, 1e-6), 0)


@pytest.mark.parametrize("num_edges", [40, 10])
def test_prone_is_its_dense_twin(num_edges: int) -> None:
    graph = toy_graph(num_edges=num_edges)
    first = unit_factors(edge_information(edge_matrix(graph)).toarray())
    looped = dense(graph) + np.eye(20)
    shifted = 0.9 * np.eye(20) - looped / looped.sum(axis=1, keepdims=True)
    filtered = scipy.linalg.expm(-0.5 * (shifted @ shifted / 2 - np.eye(20))) @ first
    second = unit_factors(looped @ (first - filtered))
    np.testing.assert_allclose(score_matrix(ProNE(), graph), second @ second.T, atol=1e-4)


@pytest.mark.parametrize("kind", [*HEURISTICS, *FACTORS])
def test_scores_are_symmetric_and_directions_do_not_count(kind: type[Method]) -> None:
    method = seeded(kind)
    scores = score_matrix(method, five_nodes())
    np.testing.assert_allclose(scores, scores.T, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(score_matrix(method, five_nodes(directed=True)), scores)


def test_a_stored_seed_gives_the_same_embedding() -> None:
    graph = toy_graph(num_nodes=60, num_edges=200)
    first, other = (seeded(lambda: ProNE(channels=4), seed) for seed in (0, 1))
    expected = first.embed(graph)
    assert torch.equal(first.embed(graph), expected)
    assert not torch.equal(other.embed(graph), expected)
    other.load_state_dict(first.state_dict())
    assert torch.equal(other.embed(graph), expected)


# Walks


def test_a_walk_goes_along_edges_and_stays_where_there_are_none(
    generator: torch.Generator,
) -> None:
    edges = edge_matrix(toy_graph(num_edges=15))
    alone = np.diff(edges.indptr) == 0
    assert alone.any()
    for walks in (
        uniform_walks(edges, np.arange(20), 9, generator),
        biased_walks(edges, np.arange(20), 9, generator, 0.5, 2.0),
    ):
        assert walks[:, 0].tolist() == list(range(20))
        steps = edges.toarray()[walks[:, :-1], walks[:, 1:]] == 1
        assert steps[~alone].all()
        assert (walks[alone] == walks[alone, :1]).all()


def chances(p: float, q: float) -> Floats:
    """Where a walk of five_nodes is two steps after it left 0, worked out path by path."""
    edges = dense(five_nodes())
    reached = np.zeros(5)
    for middle in (1, 2):
        bias = np.where(np.arange(5) == 0, 1 / p, np.where(edges[0] == 1, 1, 1 / q)) * edges[middle]
        reached += 0.5 * bias / bias.sum()
    return reached


@pytest.mark.parametrize(("p", "q"), [(1.0, 1.0), (0.25, 1.0), (4.0, 0.5), (1.0, 5.0)])
def test_the_third_node_of_a_walk_has_the_chances_of_node2vec(
    p: float, q: float, generator: torch.Generator
) -> None:
    edges, starts = edge_matrix(five_nodes()), np.zeros(40_000, dtype=np.int64)
    walks = biased_walks(edges, starts, 3, generator, p, q)
    shares = np.bincount(walks[:, 2], minlength=5) / starts.size
    np.testing.assert_allclose(shares, chances(p, q), atol=0.01)
    if p == q == 1:
        uniform = uniform_walks(edges, starts, 3, generator)[:, 2]
        np.testing.assert_allclose(np.bincount(uniform, minlength=5) / 4e4, shares, atol=0.015)


def test_every_node_begins_its_walks_and_each_reading_is_the_same() -> None:
    method = seeded(lambda: DeepWalk(num_walks=3, walk_length=6))
    corpus = Corpus(method, edge_matrix(toy_graph(num_edges=15)))
    sentences = list(corpus)
    assert sentences == list(corpus)
    assert sorted(int(sentence[0]) for sentence in sentences) == sorted([*range(20)] * 3)
    assert {len(sentence) for sentence in sentences} == {1, 6}


@pytest.mark.parametrize("kind", [DeepWalk, Node2Vec])
def test_walks_bring_the_nodes_of_a_community_together(kind: type[DeepWalk]) -> None:
    pytest.importorskip("gensim")
    twin = nx.barbell_graph(8, 0)
    edges = to_undirected(torch.tensor(list(twin.edges)).t())
    graph = MessageGraph.of(Data(edge_index=edges, num_nodes=16))
    options = {"channels": 8, "window": 2, "walk_length": 20, "passes": 5}
    methods = [seeded(lambda: kind(**options), seed) for seed in (0, 0, 1)]
    first, again, other = (score_matrix(method, graph) for method in methods)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    np.testing.assert_allclose(first, first.T, rtol=1e-5)
    off_diagonal = ~np.eye(8, dtype=bool)
    assert first[:8, :8][off_diagonal].mean() > first[:8, 8:].mean() + 0.1


def test_without_gensim_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "gensim.models", None)
    method = DeepWalk()
    method.name = "deepwalk"
    with pytest.raises(
        UnsupportedError, match=r"'deepwalk' needs gensim: pip install 'mgae\[peers"
    ):
        method.encode(toy_graph())


# LightGCN


def test_the_loss_by_hand() -> None:
    logits = torch.tensor([[2.0, 1.0, -torch.inf], [0.0, 0.0, 3.0]])
    expected = (math.log1p(math.exp(-1)) + math.log(2) + math.log1p(math.exp(3))) / 2
    assert float(BPR(num_negatives=2).cost(logits)) == pytest.approx(expected)


def test_negatives_have_the_head_of_their_edge(generator: torch.Generator) -> None:
    graph = toy_graph()
    sampler, loss = NegativeSampler.of(graph), BPR(num_negatives=3)
    negatives = loss.draw(graph.pairs, sampler, generator)
    assert bool((negatives[0] == graph.pairs[0].unsqueeze(1)).all())
    assert not bool(sampler.is_taken(negatives.flatten(1)).any())


def test_the_loss_has_the_gradients_of_its_formula(generator: torch.Generator) -> None:
    graph = toy_graph()
    z = torch.randn(20, 4, generator=generator, requires_grad=True)
    loss = BPR(num_negatives=3)
    negatives = loss.draw(graph.pairs, NegativeSampler.of(graph), generator)
    value = loss(InnerProduct(), [z], graph.pairs, negatives, None, chunk=8)
    (gradient,) = torch.autograd.grad(value, z)
    positive = (z[graph.pairs[0]] * z[graph.pairs[1]]).sum(dim=1, keepdim=True)
    negative = (z[negatives[0]] * z[negatives[1]]).sum(dim=2)
    expected = -(positive - negative).sigmoid().log().mean()
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(gradient, torch.autograd.grad(expected, z)[0])


@pytest.mark.parametrize("num_hops", [0, 1, 3])
def test_lightgcn_is_that_of_pyg(num_hops: int) -> None:
    graph = toy_graph()
    method = seeded(lambda: LightGCN(20, BPR(), channels=5, num_hops=num_hops))
    twin = PyGLightGCN(20, 5, num_hops)
    twin.embedding.weight.data = method.encoder.inputs.table.data
    torch.testing.assert_close(method.embed(graph), twin.get_embedding(graph.edge_index).detach())


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_smoothing_is_its_dense_formula_forth_and_back(directed: bool, weighted: bool) -> None:
    graph = toy_graph(num_edges=15, directed=directed, weighted=weighted)
    source, target = graph.edge_index
    edges = torch.zeros(20, 20)
    edges[target, source] = 1.0 if graph.edge_weight is None else graph.edge_weight
    received, sent = edges.sum(dim=1), edges.sum(dim=0)
    matrix = edges / (received.unsqueeze(1) * sent).sqrt().where(edges > 0, 1)
    h = torch.randn(20, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    smoothed = graph.adjacency.smooth(h)
    torch.testing.assert_close(smoothed, matrix @ h)
    upstream = torch.randn(20, 3, generator=torch.Generator().manual_seed(1))
    (gradient,) = torch.autograd.grad(smoothed, h, upstream)
    torch.testing.assert_close(gradient, matrix.t() @ upstream)


def test_lightgcn_learns_to_rank_its_edges() -> None:
    graph = toy_graph()
    generators = Generators(0)
    with drawn_from(generators["init"]):
        method = LightGCN(20, BPR(), channels=16)
    losses = [step.loss for step in fit(method, graph, epochs=60, generators=generators).history]
    assert losses[-1] < 0.6 * losses[0]
    assert not method.inductive


def test_spectral_takes_a_graph_of_more_components_than_channels() -> None:
    # Each component has an eigenvalue of 1: Lanczos with scipy's own width does not end on them.
    first = 3 * torch.arange(700)
    ring = torch.cat([torch.stack([first + i, first + (i + 1) % 3]) for i in range(3)], dim=1)
    graph = MessageGraph.of(Data(edge_index=to_undirected(ring), num_nodes=2100))
    z = Spectral(channels=64).embed(graph)
    assert z.shape == (2100, 64) and bool(z.isfinite().all())
