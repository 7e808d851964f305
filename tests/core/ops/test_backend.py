"""The operations that stand in on other devices, tried here on the CPU."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from mgae.core.decoders import CrossCorrelation
from mgae.core.encoders import GCN, SAGE, LayeredEncoder
from mgae.core.graph import MessageGraph
from mgae.core.losses import BCE
from mgae.core.masks import Undirected
from mgae.core.methods import MaskedGraphAutoencoder
from mgae.core.ops import backend, decoding, sparse
from mgae.core.ops.dropout import dropout
from mgae.core.seeding import Generators, drawn_from
from tests.conftest import toy_graph


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "OWN_KERNELS", frozenset())


def test_our_kernels_are_for_the_cpu_alone() -> None:
    assert set(backend.OWN_KERNELS) == {"cpu"}


def gradients(graph: MessageGraph, encoder: type[LayeredEncoder]) -> list[Tensor]:
    generators = Generators(0)
    with drawn_from(generators["init"]):
        method = MaskedGraphAutoencoder(
            Undirected(0.7),
            encoder(graph.num_features, 128, dropout=0.0),
            CrossCorrelation(128, dropout=0.0),
            BCE(),
        )
    loss, _ = next(iter(method.losses(graph, generators)))
    loss.backward()
    return [
        loss.detach(),
        *(weight.grad for weight in method.parameters() if weight.grad is not None),
    ]


@pytest.mark.parametrize("encoder", [GCN, SAGE])
def test_a_step_has_the_same_loss_and_gradients(
    encoder: type[LayeredEncoder], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Few of its features are there, so that they are a sparse matrix.
    graph = toy_graph(directed=True, weighted=True)
    assert isinstance(graph.x, Tensor)
    graph = replace(graph, x=sparse.SparseMatrix.from_dense(graph.x * (graph.x > 0.7)))
    ours = gradients(graph, encoder)
    monkeypatch.setattr(backend, "OWN_KERNELS", frozenset())
    for kernel in (sparse._Product, decoding._Perceptron, decoding._CrossPerceptron):
        monkeypatch.setattr(kernel, "apply", None)
    torch.testing.assert_close(gradients(graph, encoder), ours, rtol=1e-4, atol=1e-6)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("p", [0.3, 0.5])
def test_dropout_drops_its_share_and_keeps_the_mean(p: float) -> None:
    result = dropout(torch.ones(200_000), p, torch.Generator().manual_seed(0))
    assert abs(float((result == 0).double().mean()) - p) < 5 * (p * (1 - p) / 200_000) ** 0.5
    assert float(result.max()) == pytest.approx(1 / (1 - p))


@pytest.mark.usefixtures("elsewhere")
def test_dropout_takes_its_chance_from_the_generator() -> None:
    values = torch.ones(1000)
    first, again = (dropout(values, 0.5, torch.Generator().manual_seed(1)) for _ in range(2))
    assert torch.equal(first, again)
