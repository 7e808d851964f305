"""PyG's models as encoders: their layers, their chance, and what is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric import nn as pyg

from mgae.core.decoders import CrossCorrelation
from mgae.core.encoders import EmbeddingTable, PyGEncoder
from mgae.core.errors import ConfigError, UnsupportedError
from mgae.core.losses import BCE
from mgae.core.masks import Undirected
from mgae.core.methods import MaskedGraphAutoencoder
from mgae.core.ops.rows import AlteredRows
from mgae.core.ops.sparse import SparseMatrix
from mgae.core.seeding import Generators, drawn_from
from mgae.core.training import Fit, fit
from tests.conftest import toy_graph

WIDTH = 8
MODELS: dict[str, Any] = {
    "GCN": lambda **options: pyg.GCN(6, WIDTH, **options),
    "GAT": lambda **options: pyg.GAT(6, WIDTH, heads=2, **options),
    "GraphSAGE": lambda **options: pyg.GraphSAGE(6, WIDTH, norm="batch", **options),
}
each_model = pytest.mark.parametrize("name", MODELS)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def encoder_of(name: str, seed: int = 0, num_layers: int = 2, **options: Any) -> PyGEncoder:
    with drawn_from(seeded(seed)):
        return PyGEncoder(MODELS[name](num_layers=num_layers, **options), 6, WIDTH)


def autoencoder(encoder: PyGEncoder, **options: Any) -> MaskedGraphAutoencoder:
    decoder = CrossCorrelation(WIDTH, encoder.num_layers, hidden_channels=16)
    return MaskedGraphAutoencoder(Undirected(0.5), encoder, decoder, BCE(), **options)


def trained(name: str, seed: int = 0) -> tuple[MaskedGraphAutoencoder, Fit]:
    generators = Generators(seed)
    with drawn_from(generators["init"]):
        method = autoencoder(encoder_of(name, dropout=0.5))
    return method, fit(method, toy_graph(), epochs=30, generators=generators)


# Layers


@each_model
@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_every_layer_is_collected_at_the_width(name: str, num_layers: int) -> None:
    graph, encoder = toy_graph(), encoder_of(name, num_layers=num_layers)
    outputs = encoder.eval()(graph, None)
    assert encoder.num_layers == num_layers
    assert [tuple(output.shape) for output in outputs] == [(20, WIDTH)] * num_layers


def test_a_layer_is_the_output_of_a_convolution_and_the_last_that_of_the_model() -> None:
    graph, encoder = toy_graph(directed=True), encoder_of("GCN", num_layers=3)
    first, second, last = encoder.eval()(graph, None)
    convs, edges = encoder.module.convs, graph.edge_index
    by_hand = [convs[0](graph.x, edges)]
    by_hand.append(convs[1](torch.relu(by_hand[0]), edges))
    by_hand.append(convs[2](torch.relu(by_hand[1]), edges))
    torch.testing.assert_close([first, second, last], by_hand)


def test_what_a_model_makes_of_its_layers_stands_for_the_last() -> None:
    graph, encoder = toy_graph(), encoder_of("GCN", jk="cat", out_channels=WIDTH)
    first, last = encoder.eval()(graph, None)
    edges = graph.edge_index
    assert torch.equal(first, encoder.module.convs[0](graph.x, edges))
    assert torch.equal(last, encoder.module(graph.x, edges))
    assert not torch.equal(last, encoder.module.convs[1](torch.relu(first), edges))


class Plain(nn.Module):
    """No message passing at all."""

    def __init__(self) -> None:
        super().__init__()
        self.map = nn.Linear(6, WIDTH)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.map(x)


@pytest.mark.parametrize("make", [lambda: pyg.GCNConv(6, WIDTH), Plain], ids=["a layer", "none"])
def test_a_single_layer_or_none_is_an_encoder_of_one(make: Callable[[], nn.Module]) -> None:
    graph, module = toy_graph(), make()
    encoder = PyGEncoder(module, 6, WIDTH)
    (output,) = encoder(graph, None)
    assert encoder.num_layers == 1
    assert torch.equal(output, module(graph.x, graph.edge_index))


def test_two_passes_give_the_layers_of_each() -> None:
    encoder, graphs = encoder_of("GCN").eval(), (toy_graph(seed=1), toy_graph(seed=2))
    alone = [copy.deepcopy(encoder)(graph, None) for graph in graphs]
    together = [encoder(graph, None) for graph in graphs]
    assert [len(outputs) for outputs in together] == [2, 2]
    for ours, theirs in zip(together, alone, strict=True):
        assert all(torch.equal(*pair) for pair in zip(ours, theirs, strict=True))


# Inputs


def test_sparse_features_give_what_dense_ones_give() -> None:
    graph, encoder = toy_graph(), encoder_of("GCN").eval()
    sparse = replace(graph, x=SparseMatrix.from_dense(graph.x))
    for ours, theirs in zip(encoder(sparse, None), encoder(graph, None), strict=True):
        assert torch.equal(ours, theirs)


def test_a_table_can_be_what_a_model_reads() -> None:
    graph = toy_graph(num_features=None)
    encoder = PyGEncoder(MODELS["GCN"](num_layers=2), 6, WIDTH, EmbeddingTable(20, 6))
    encoder(graph, seeded())[-1].sum().backward()
    assert encoder.inputs.table.grad.abs().sum() > 0


# Training


@each_model
def test_it_trains_and_scores(name: str) -> None:
    method, result = trained(name)
    assert result.epochs == 30
    losses = [record.loss for record in result.history]
    assert sum(losses[-5:]) < sum(losses[:5])
    graph = toy_graph()
    assert method.embed(graph).shape == (20, 2 * WIDTH)
    assert method.score_links(method.encode(graph), graph.pairs).isfinite().all()


@each_model
def test_every_weight_gets_a_gradient(name: str) -> None:
    method = autoencoder(encoder_of(name))
    loss, _ = next(iter(method.losses(toy_graph(), Generators(0))))
    loss.backward()
    for conv in method.encoder.module.convs:
        assert all(float(weight.grad.abs().sum()) > 0 for weight in conv.parameters())


@each_model
def test_the_same_seed_gives_the_same_losses_whatever_the_global_generator(name: str) -> None:
    histories = []
    with torch.random.fork_rng(devices=[]):
        for seed in (0, 1):
            torch.manual_seed(seed)
            before = torch.get_rng_state()
            histories.append(trained(name)[1].history)
            assert torch.equal(torch.get_rng_state(), before)
    assert histories[0] == histories[1]
    assert trained(name, seed=5)[1].history != histories[0]


def test_dropout_comes_from_the_given_generator() -> None:
    graph, encoder = toy_graph(), encoder_of("GCN", dropout=0.5).train()
    (_, first), (_, again), (_, other) = (encoder(graph, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    generator = seeded(1)
    encoder(graph, generator)
    assert not torch.equal(encoder(graph, generator)[1], first), "the generator moves on"


def test_a_trained_model_drops_nothing() -> None:
    method, graph = autoencoder(encoder_of("GAT", dropout=0.5)), toy_graph()
    method.train()
    assert torch.equal(method.embed(graph), method.embed(graph))


def test_reset_parameters_is_a_new_draw_from_the_generator() -> None:
    encoder = encoder_of("GCN")

    def reset(seed: int) -> list[Tensor]:
        with drawn_from(seeded(seed)):
            encoder.reset_parameters()
        return [conv.lin.weight.detach().clone() for conv in encoder.module.convs]

    first, other, again = reset(1), reset(2), reset(1)
    assert all(torch.equal(*pair) for pair in zip(first, again, strict=True))
    assert not any(torch.equal(*pair) for pair in zip(first, other, strict=True))


# What is refused


@pytest.mark.parametrize(
    ("hidden", "out", "widths"), [(5, WIDTH, "5, 8"), (WIDTH, 3, "8, 3"), (5, 5, "5, 5")]
)
def test_a_layer_of_another_width_is_refused(hidden: int, out: int, widths: str) -> None:
    module = pyg.GCN(6, hidden, num_layers=2, out_channels=out)
    encoder = PyGEncoder(module, 6, WIDTH)
    with pytest.raises(UnsupportedError, match=f"2 layers, each 8 wide, got the widths {widths}$"):
        encoder(toy_graph(), None)


def test_a_layer_that_is_called_twice_is_refused() -> None:
    """The decoder is sized by the number of modules, and would read another number of layers."""

    class Twice(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = pyg.GCNConv(WIDTH, WIDTH)

        def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
            return self.conv(self.conv(x, edge_index), edge_index)

    graph = toy_graph(num_features=WIDTH)
    with pytest.raises(UnsupportedError, match="1 layers, each 8 wide, got the widths 8, 8"):
        PyGEncoder(Twice(), WIDTH, WIDTH)(graph, None)


def test_features_known_by_their_products_alone_are_refused() -> None:
    graph, encoder = toy_graph(), encoder_of("GCN")
    altered = AlteredRows(graph.x, torch.arange(20))
    with pytest.raises(UnsupportedError, match="takes features as a matrix"):
        encoder.propagate(altered, graph, None)


def test_sampled_neighborhoods_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"needs the whole graph: leave train\.fanouts out"):
        autoencoder(encoder_of("GCN"), fanouts=[2, 2])
