"""Evidence of pairs beside slow, obvious twins on small dense graphs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from mgae.core import EvidenceModel, Generators, MessageGraph, fit
from mgae.core.evidence import Evidence, FeatureViews
from mgae.core.evidence.folds import FoldedEvidence, hideable, uniform_pairs
from mgae.core.evidence.structure import KATZ_TERMS, STEPS
from mgae.evaluation.metrics import auc
from tests.conftest import toy_graph

Matrix = NDArray[np.float64]
SEEDS = range(4)
NODES = np.arange(30)


def graph_of(seed: int, num_features: int | None = None) -> MessageGraph:
    """Return a sparse random graph, as a rule with isolated nodes and several components."""
    return toy_graph(num_nodes=30, num_edges=40, seed=seed, num_features=num_features)


def dense(graph: MessageGraph) -> Matrix:
    matrix = np.zeros((graph.num_nodes, graph.num_nodes))
    matrix[tuple(graph.edge_index.numpy())] = 1
    return matrix


def power(matrix: Matrix, k: int) -> Matrix:
    return np.linalg.matrix_power(matrix, k)


def twins(a: Matrix) -> dict[str, Matrix]:
    """Return structural columns for all pairs by their textbook formulas: [n, n] each."""
    degree = a.sum(axis=1)
    d = np.maximum(degree, 1)
    common, inverse, step = a @ a, np.diag(1 / d), a / d[:, None]
    decay = 0.5 / np.abs(np.linalg.eigvalsh(a)).max()
    katz = sum(decay**k * power(a, k) for k in range(2, KATZ_TERMS + 1))

    def ratio(weights: list[float]) -> Matrix:
        return degree.sum() * sum(w * power(step, k) for k, w in enumerate(weights)) / d

    def restarted(alpha: float) -> Matrix:
        weights = [alpha * (1 - alpha) ** k for k in range(STEPS + 1)]
        return ratio([w if k == 0 or w > 1e-3 else 0.0 for k, w in enumerate(weights)])

    hops = np.full(a.shape, STEPS + 1.0)
    for k in range(STEPS, 0, -1):
        hops[power(a, k) > 0] = k
    np.fill_diagonal(hops, 0)
    log = np.log1p(degree)
    return {
        "common neighbors": np.log1p(common),
        "adamic-adar": np.log1p(a @ np.diag(1 / np.log(np.maximum(degree, 2))) @ a),
        "resource allocation": np.log1p(10 * a @ inverse @ a),
        "l3": np.log1p(100 * a @ inverse @ a @ inverse @ a),
        "paths of length 3": np.log1p(power(a, 3)),
        "pagerank": np.log(restarted(0.15) + 1e-4),
        "pagerank near": np.log(restarted(0.5) + 1e-4),
        "walks": np.log(ratio([0.0] + [1 / STEPS] * STEPS) + 1e-4),
        "katz": np.log(katz / decay**2 + 1e-4),
        "hops": hops,
        "jaccard": common / np.maximum(degree[:, None] + degree - common, 1),
        "degrees": log[:, None] + log,
        "degree gap": np.abs(log[:, None] - log),
    }


def with_edges(graph: MessageGraph) -> NDArray[np.bool_]:
    """Return for all pairs whether both nodes have an edge: [n, n]."""
    has_edges = dense(graph).any(axis=1)
    return np.outer(has_edges, has_edges)


@pytest.mark.parametrize("seed", SEEDS)
def test_structure_equals_its_textbook_formulas(seed: int) -> None:
    graph = graph_of(seed)
    evidence = Evidence(graph, rank=8)
    values, joined = evidence.tails(NODES, NODES), with_edges(graph)
    assert np.isnan(values[~joined]).all()
    for name, expected in twins(dense(graph)).items():
        column = values[:, :, evidence.names.index(name)]
        assert np.allclose(column[joined], expected[joined], rtol=2e-3, atol=2e-3), name


@pytest.mark.parametrize("seed", SEEDS)
def test_components_equal_a_flood(seed: int) -> None:
    graph = graph_of(seed)
    evidence = Evidence(graph, rank=8)
    reach = power(dense(graph) + np.eye(30), 30) > 0
    log = np.log(reach.sum(axis=1))
    values, at, joined = evidence.tails(NODES, NODES), evidence.names.index, with_edges(graph)
    expected = {
        "same component": reach,
        "smaller component": np.minimum(log[:, None], log),
        "component gap": np.abs(log[:, None] - log),
    }
    for name, matrix in expected.items():
        assert np.allclose(values[:, :, at(name)][joined], matrix[joined], atol=1e-5), name


def test_spectral_evidence_equals_that_of_all_eigenvectors() -> None:
    graph = toy_graph(num_nodes=24, num_edges=60, num_features=None)
    evidence, a, nodes = Evidence(graph, rank=24), dense(graph), np.arange(24)
    root = np.maximum(a.sum(axis=1), 1) ** -0.5
    s = root[:, None] * a * root
    values, at = evidence.tails(nodes, nodes), evidence.names.index
    resolvent = 0.15 * np.linalg.inv(np.eye(24) - 0.85 * s)
    assert np.allclose(values[:, :, at("spectral")], np.arcsinh(24 * resolvent), atol=1e-2)
    assert np.allclose(values[:, :, at("spectral cubed")], np.arcsinh(24 * s @ s @ s), atol=1e-2)


def test_feature_cosines_equal_their_formula() -> None:
    graph = graph_of(1)
    x = (torch.rand(30, 12, generator=torch.Generator().manual_seed(0)) < 0.15).float()
    evidence = Evidence(graph, FeatureViews.of(x), rank=8)

    def unit(matrix: Matrix) -> Matrix:
        return matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)

    own = unit(x.numpy() * np.log(31 / (1 + (x.numpy() > 0).sum(axis=0))))
    a = dense(graph)
    walk = a / np.maximum(a.sum(axis=1), 1)[:, None]
    hop = walk @ own
    two, crossed = unit(hop + walk @ hop), own @ unit(hop).T
    expected = np.stack([unit(hop) @ unit(hop).T, two @ two.T, (crossed + crossed.T) / 2], axis=2)
    values, joined = evidence.tails(NODES, NODES), with_edges(graph)
    assert evidence.names[-1] == "feature cosine"
    # A node's own features are known without any edge, what its neighbors have is not.
    assert np.allclose(values[:, :, -1], own @ own.T, atol=1e-4)
    assert np.allclose(values[:, :, -4:-1][joined], expected[joined], atol=1e-4)
    assert not joined.all()
    assert np.isnan(values[:, :, :-1][~joined]).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_neither_the_order_of_the_ends_nor_other_pairs_matter(seed: int) -> None:
    evidence = Evidence(graph_of(seed), rank=8)
    pairs = torch.randint(30, (2, 200), generator=torch.Generator().manual_seed(seed)).numpy()
    values = evidence.pairs(pairs)
    for same in (evidence.pairs(pairs[::-1]), evidence.tails(NODES, NODES)[pairs[0], pairs[1]]):
        assert np.allclose(values, same, atol=1e-4, equal_nan=True)
    some = evidence.pairs(pairs[:, :7])
    assert np.allclose(values[:7], some, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_shortlist_holds_the_best_and_no_neighbor(seed: int) -> None:
    graph, heads = graph_of(seed), np.array([3, 7, 11])
    evidence, a = Evidence(graph, rank=8), dense(graph)
    short = evidence.shortlist(heads, 4)
    allocated = a @ np.diag(1 / np.maximum(a.sum(axis=1), 1)) @ a
    for index, head in enumerate(heads):
        tails = short.tail[short.head == index]
        assert len(set(tails)) == len(tails)
        assert head not in tails
        assert not a[head, tails].any()
        scores = np.where((a[head] > 0) | (head == NODES), 0, allocated[head])
        cut = np.sort(scores)[-4]
        assert set(np.flatnonzero((scores > cut) & (scores > 0))) <= set(tails)
        values = evidence.pairs(np.stack([np.full(len(tails), head), tails]))
        assert np.allclose(values, short.values[short.head == index], atol=1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_edge_of_a_fold_counts_for_itself(seed: int) -> None:
    """The evidence of a hidden edge is that of a graph in which the edge never was."""
    graph = toy_graph(num_nodes=30, num_edges=90, seed=seed, num_features=None)
    generators = Generators(seed)
    folded = FoldedEvidence.of(graph, 3, 10**6, 5, generators.fresh("folds"))
    number = torch.randperm(90, generator=generators.fresh("folds")) % 3
    expected, listed = [], []
    for fold in range(3):
        hidden = hideable(graph, number == fold)
        kept = graph.pairs[:, ~hidden]
        edges = torch.cat([kept, kept.flip(0)], dim=1)
        order = (edges[1] * 30 + edges[0]).argsort()
        visible = MessageGraph(edges[:, order], 30)
        assert int(visible.adjacency.degree[torch.unique(graph.pairs)].min()) > 0
        evidence = Evidence(visible)
        expected.append(evidence.pairs(graph.pairs[:, hidden].numpy()))
        listed.append(evidence.tails(NODES, NODES).reshape(900, -1))
    rows = np.concatenate(expected)
    assert folded.positives.shape == rows.shape
    order, twin = (np.lexsort(one.round(2).T) for one in (folded.positives.numpy(), rows))
    assert np.allclose(folded.positives.numpy()[order], rows[twin], atol=1e-2)
    contests = folded.contests
    assert bool(contests.is_edge[contests.edge].all())
    # The hidden edges of the shortlists, too, are among these rows, and so are their competitors.
    assert nearest(contests.values[contests.edge].numpy(), rows) < 1e-2
    assert nearest(contests.values.numpy(), np.concatenate(listed)) < 1e-2


def nearest(rows: NDArray[np.float32], among: NDArray[np.float32]) -> float:
    """Return the largest distance from any of ``rows`` to the nearest one of ``among``."""
    gaps = np.abs(rows[:, None] - among[None]).max(axis=2)
    return float(gaps.min(axis=1).max())


def test_other_pairs_are_no_edges() -> None:
    graph = graph_of(0)
    pairs = uniform_pairs(graph, 200, torch.Generator().manual_seed(0))
    assert pairs.size(1) == 200
    assert not dense(graph)[tuple(pairs.numpy())].any()
    assert bool((pairs[0] != pairs[1]).all())


def test_a_random_graph_teaches_nothing() -> None:
    """Edges that were drawn at random cannot be predicted: 0.5, with every edge in some fold."""
    generator, scores = torch.Generator().manual_seed(0), []
    for seed in range(3):
        whole = toy_graph(num_nodes=80, num_edges=480, seed=seed, num_features=None)
        chosen = torch.randperm(480, generator=generator)[:80]
        held_out = torch.zeros(480, dtype=torch.bool)
        held_out[chosen] = True
        train = whole.only(~held_out[whole.pair_of_edge])
        model = EvidenceModel(step_size=128)
        fit(model, train, epochs=20, learning_rate=0.005, generators=seed)
        encoded = model.encode(train)
        negatives = uniform_pairs(whole, 400, generator)
        positive = model.score_links(encoded, whole.pairs[:, held_out])
        scores.append(auc(positive, model.score_links(encoded, negatives)))
    assert 0.43 < float(np.mean(scores)) < 0.57


@pytest.mark.parametrize(("num_edges", "few"), [(300, True), (1100, False)])
def test_few_edges_change_the_shipped_weights_by_few_steps(num_edges: int, few: bool) -> None:
    graph = toy_graph(num_nodes=120, num_edges=num_edges, num_features=None)
    model, generators = EvidenceModel(step_size=32), Generators(0)
    fitted = fit(model, graph, epochs=1, learning_rate=0.005, generators=generators)
    assert fitted.epochs == 1 and model.is_shipped is few
    assert len(list(model.losses(graph, generators))) == (1 if few else model.folds)
    # The last training starts where the first one did, also with more edges.
    larger = toy_graph(num_nodes=120, num_edges=1200 if few else 900, num_features=None)
    (stage,) = model.final_stages(larger, generators)
    assert model.is_shipped is few and stage.keep_last
    other = EvidenceModel(hidden_channels=8)
    other.stages(graph, generators)
    assert not other.is_shipped
    known = toy_graph(num_nodes=120, num_edges=300)
    reading = EvidenceModel(known.num_features)
    reading.stages(known, generators)
    assert not reading.is_shipped
    plain = EvidenceModel(start="random")
    plain.stages(graph, generators)
    assert not plain.is_shipped


def test_it_learns_that_friends_of_friends_are_friends() -> None:
    """Three cliques joined in a ring: hidden edges of the cliques are recovered."""
    cliques = [torch.combinations(torch.arange(12 * k, 12 * k + 12), 2).t() for k in range(3)]
    ring = torch.tensor([[0, 12, 24], [12, 24, 0]])
    pairs = torch.cat([*cliques, ring], dim=1)
    hidden = torch.randperm(198, generator=torch.Generator().manual_seed(0))[:20]
    kept = torch.ones(201, dtype=torch.bool)
    kept[hidden] = False
    edges = torch.cat([pairs[:, kept], pairs[:, kept].flip(0)], dim=1)
    graph = MessageGraph(edges[:, (edges[1] * 36 + edges[0]).argsort()], 36)
    model = EvidenceModel(step_size=128)
    fit(model, graph, epochs=20, learning_rate=0.005)
    encoded = model.encode(graph)
    scores = model.score_tails(encoded, torch.arange(36), torch.arange(36))
    positive = scores[tuple(pairs[:, hidden])]
    negative = scores[:12, 12:].flatten()
    assert float((positive.unsqueeze(1) > negative).float().mean()) > 0.98
    assert torch.allclose(positive, model.rank_links(encoded, pairs[:, hidden]), atol=1e-4)
