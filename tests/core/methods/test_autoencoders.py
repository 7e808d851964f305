"""GAE and VGAE: what they see, what they predict, and PyG's losses as twins."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.nn import VGAE

from mgae.core.errors import ConfigError
from mgae.core.methods import Method, build_method
from mgae.core.methods.autoencoders import GraphAutoencoder, VariationalGraphAutoencoder, divergence
from mgae.core.seeding import Generators
from mgae.core.training import fit
from mgae.data import MessageGraph
from mgae.runs.config import RunConfig
from tests.conftest import toy_graph

SMALL = {"encoder": {"hidden_channels": 4, "dropout": 0.0}}


def build(name: str, graph: MessageGraph, **sections: Any) -> Method:
    config = RunConfig(method=name, **{**SMALL, **sections})
    return build_method(config, graph, Generators(0)["init"])


@pytest.mark.parametrize("directed", [False, True])
def test_every_edge_is_seen_and_is_predicted_once(directed: bool) -> None:
    graph = toy_graph(directed=directed)
    method = build("gae", graph)
    assert isinstance(method, GraphAutoencoder)
    edges = method.divide(graph, torch.Generator().manual_seed(0))
    assert edges.visible is graph
    found = edges.masked if directed else edges.masked.sort(dim=0).values
    expected = graph.edge_index if directed else graph.pairs
    assert sorted(found.t().tolist()) == sorted(expected.t().tolist())


def test_the_order_and_the_orientation_are_random() -> None:
    graph = toy_graph(num_nodes=60, num_edges=800)
    method = build("gae", graph)
    assert isinstance(method, GraphAutoencoder)
    generator = torch.Generator().manual_seed(0)
    first, second = (method.divide(graph, generator).masked for _ in range(2))
    assert not torch.equal(first, second)
    assert 0.4 < float((first[0] < first[1]).double().mean()) < 0.6


def test_a_step_for_each_so_many_edges() -> None:
    graph = toy_graph()  # 40 edges
    method = build("gae", graph, train={"step_size": 15})
    losses = list(method.losses(graph, Generators(0)))
    assert [group for _, group in losses] == ["model"] * 3


def test_the_score_of_gae_is_the_inner_product_of_the_last_layer() -> None:
    graph = toy_graph()
    method = build("gae", graph)
    encoded, pairs = method.encode(graph), torch.tensor([[0, 3], [5, 9]])
    last = encoded.layers[-1]
    expected = torch.stack([last[0] @ last[5], last[3] @ last[9]])
    torch.testing.assert_close(method.score_links(encoded, pairs), expected)


def test_gae_takes_ogbs_decoder() -> None:
    decoder = {"kind": "mlp", "combine": "hadamard", "num_layers": 3, "hidden_channels": 8}
    graph = toy_graph()
    method = build("gae", graph, decoder=decoder, encoder={"kind": "sage", "hidden_channels": 4})
    fit = train(method, graph, method.config.train, Generators(0), lambda: 0.0)
    assert fit.history[-1].loss < fit.history[0].loss


@pytest.mark.parametrize("name", ["gae", "vgae", "arge", "argva"])
def test_neighborhoods_are_refused_by_name(name: str) -> None:
    with pytest.raises(ConfigError, match=f"'{name}' encodes all edges: leave train.fanouts out"):
        build(name, toy_graph(), train={"fanouts": [3, 3]})


def test_gae_has_no_mask() -> None:
    with pytest.raises(ConfigError, match="'gae' has no mask"):
        RunConfig(method="gae", mask="directed")


def test_the_divergence_is_pygs() -> None:
    generator = torch.Generator().manual_seed(0)
    mean, log_std = (torch.randn(7, 3, generator=generator) for _ in range(2))
    expected = VGAE(torch.nn.Identity()).kl_loss(mean, log_std)
    torch.testing.assert_close(divergence(mean, log_std), expected)


def test_vgae_decodes_draws_in_training_and_the_mean_afterwards() -> None:
    graph = toy_graph()
    method = build("vgae", graph)
    assert isinstance(method, VariationalGraphAutoencoder)
    edges, generators = method.divide(graph, torch.Generator().manual_seed(0)), Generators(0)
    draws = torch.stack([method.represent(edges, generators)[0][0] for _ in range(1000)])
    (mean,) = method.encode(graph).layers
    last = method.encoder(graph, None)[-1]
    std = method.log_std(last).exp()
    torch.testing.assert_close(mean, method.mean(last))
    error = (draws.mean(dim=0) - mean).detach() / (std.detach() / 1000**0.5)
    assert float(error.abs().max()) < 5
    torch.testing.assert_close(draws.std(dim=0), std, rtol=0.15, atol=0)


def test_the_embedding_of_vgae_is_the_mean_and_of_gae_every_layer() -> None:
    graph = toy_graph()
    assert build("vgae", graph).embed(graph).shape == (20, 4)
    assert build("gae", graph).embed(graph).shape == (20, 8)


def test_vgae_takes_any_decoder_for_its_one_vector() -> None:
    graph = toy_graph()
    method = build("vgae", graph, decoder={"kind": "cross-correlation", "hidden_channels": 8})
    assert all(bool(loss.isfinite()) for loss, _ in method.losses(graph, Generators(0)))
