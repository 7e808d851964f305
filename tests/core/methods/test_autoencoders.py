"""GAE and VGAE: what they see, what they predict, and PyG's losses as twins."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.nn import VGAE

from mgae.core import (
    BCE,
    SAGE,
    CrossCorrelation,
    Decoder,
    GraphAutoencoder,
    InnerProduct,
    PairMLP,
    VariationalGraphAutoencoder,
    fit,
)
from mgae.core.graph import MessageGraph
from mgae.core.methods.autoencoders import all_edges, divergence
from mgae.core.seeding import Generators, drawn_from
from tests.conftest import toy_graph
from tests.core.methods.small import encoder_of, seeded


def build(
    kind: type[GraphAutoencoder],
    graph: MessageGraph,
    decoder: Decoder | None = None,
    encoder: dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    with drawn_from(Generators(0)["init"]):
        first = encoder_of(graph, **{"dropout": 0.0, "act_last": False, **(encoder or {})})
        return kind(first, decoder or InnerProduct(), BCE(), **options)


@pytest.mark.parametrize("directed", [False, True])
def test_every_edge_is_seen_and_is_predicted_once(directed: bool) -> None:
    graph = toy_graph(directed=directed)
    method = build(GraphAutoencoder, graph, step_size=7)
    visible: list[MessageGraph] = []
    positives: list[torch.Tensor] = []
    method.encoder.register_forward_pre_hook(lambda _, given: visible.append(given[0]))
    draw = method.loss.draw
    method.loss.draw = lambda part, *rest: (positives.append(part), draw(part, *rest))[1]
    list(method.losses(graph, Generators(0)))
    assert all(one is graph for one in visible)
    predicted = torch.cat(positives, dim=1)
    predicted = predicted if directed else predicted.sort(dim=0).values
    expected = graph.edge_index if directed else graph.pairs
    assert sorted(predicted.t().tolist()) == sorted(expected.t().tolist())


def test_the_order_and_the_orientation_are_random() -> None:
    graph, generator = toy_graph(num_nodes=60, num_edges=800), seeded()
    first, second = (all_edges(graph, generator) for _ in range(2))
    assert not torch.equal(first, second)
    assert 0.4 < float((first[0] < first[1]).double().mean()) < 0.6


def test_a_step_for_each_so_many_edges() -> None:
    graph = toy_graph()  # 40 edges
    method = build(GraphAutoencoder, graph, step_size=15)
    losses = list(method.losses(graph, Generators(0)))
    assert [group for _, group in losses] == ["model"] * 3


def test_the_score_of_gae_is_the_inner_product_of_the_last_layer() -> None:
    graph = toy_graph()
    method = build(GraphAutoencoder, graph)
    encoded, pairs = method.encode(graph), torch.tensor([[0, 3], [5, 9]])
    last = encoded.layers[-1]
    expected = torch.stack([last[0] @ last[5], last[3] @ last[9]])
    torch.testing.assert_close(method.score_links(encoded, pairs), expected)


def test_gae_takes_ogbs_decoder() -> None:
    graph = toy_graph()
    with drawn_from(seeded()):
        decoder = PairMLP(4, hidden_channels=16, num_layers=3, dropout=0.0, combine="hadamard")
    method = build(GraphAutoencoder, graph, decoder, encoder={"kind": SAGE})
    history = fit(method, graph, epochs=100, patience=100, validate=lambda: 0.0).history
    assert history[-1].loss < 0.95 * history[0].loss


def test_the_divergence_is_pygs() -> None:
    generator = torch.Generator().manual_seed(0)
    mean, log_std = (torch.randn(7, 3, generator=generator) for _ in range(2))
    expected = VGAE(torch.nn.Identity()).kl_loss(mean, log_std)
    torch.testing.assert_close(divergence(mean, log_std), expected)


def test_vgae_decodes_draws_in_training_and_the_mean_afterwards() -> None:
    graph = toy_graph()
    method = build(VariationalGraphAutoencoder, graph)
    generators = Generators(0)
    draws = torch.stack([method.represent(graph, generators)[0][0] for _ in range(1000)])
    (mean,) = method.encode(graph).layers
    last = method.encoder(graph, None)[-1]
    std = method.log_std(last).exp()
    torch.testing.assert_close(mean, method.mean(last))
    error = (draws.mean(dim=0) - mean).detach() / (std.detach() / 1000**0.5)
    assert float(error.abs().max()) < 5
    torch.testing.assert_close(draws.std(dim=0), std, rtol=0.15, atol=0)


def test_the_embedding_of_vgae_is_the_mean_and_of_gae_every_layer() -> None:
    graph = toy_graph()
    assert build(VariationalGraphAutoencoder, graph).embed(graph).shape == (20, 4)
    assert build(GraphAutoencoder, graph).embed(graph).shape == (20, 8)


def test_vgae_takes_any_decoder_for_its_one_vector() -> None:
    graph = toy_graph()
    decoder = CrossCorrelation(4, in_layers=1, hidden_channels=8)
    method = build(VariationalGraphAutoencoder, graph, decoder)
    assert all(bool(loss.isfinite()) for loss, _ in method.losses(graph, Generators(0)))


def test_the_loss_of_vgae_has_the_divergence_by_the_number_of_nodes() -> None:
    graph = toy_graph()
    method = build(VariationalGraphAutoencoder, graph)
    _, cost = method.represent(graph, Generators(0))
    last = method.encoder(graph, None)[-1]
    expected = divergence(method.mean(last), method.log_std(last)) / 20
    torch.testing.assert_close(cost, expected)
