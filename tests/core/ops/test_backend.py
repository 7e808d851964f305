"""The operations that stand in on other devices, tried here on the CPU."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from mgae.core.graph import MessageGraph
from mgae.runs.build import build_method
from mgae.core.ops import backend, crosscorrelation, dropout, perceptron, sparse
from mgae.core.seeding import Generators
from mgae.runs.config import RunConfig
from tests.conftest import toy_graph


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (crosscorrelation, dropout, perceptron, sparse):
        monkeypatch.setattr(module, "has_kernels", lambda tensor: False)


def test_a_cpu_has_our_kernels_and_others_have_not() -> None:
    assert backend.has_kernels(torch.zeros(1))
    assert not backend.has_kernels(torch.zeros(1, device="meta"))


def gradients(graph: MessageGraph, kind: str) -> list[Tensor]:
    encoder = {"kind": kind, "dropout": 0.0}
    config = RunConfig(encoder=encoder, decoder={"dropout": 0.0})
    generators = Generators(0)
    method = build_method(config, graph, generators["init"])
    loss, _ = next(iter(method.losses(graph, generators)))
    loss.backward()
    return [
        loss.detach(),
        *(weight.grad for weight in method.parameters() if weight.grad is not None),
    ]


@pytest.mark.parametrize("kind", ["gcn", "sage"])
def test_a_step_has_the_same_loss_and_gradients(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Few of its features are there, so that they are a sparse matrix.
    graph = toy_graph(directed=True, weighted=True)
    assert isinstance(graph.x, Tensor)
    graph = replace(graph, x=sparse.SparseMatrix.from_dense(graph.x * (graph.x > 0.7)))
    ours = gradients(graph, kind)
    for module in (crosscorrelation, dropout, perceptron, sparse):
        monkeypatch.setattr(module, "has_kernels", lambda tensor: False)
    torch.testing.assert_close(gradients(graph, kind), ours, rtol=1e-4, atol=1e-6)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("p", [0.3, 0.5])
def test_dropout_drops_its_share_and_keeps_the_mean(p: float) -> None:
    result = dropout.dropout(torch.ones(200_000), p, torch.Generator().manual_seed(0))
    assert abs(float((result == 0).double().mean()) - p) < 5 * (p * (1 - p) / 200_000) ** 0.5
    assert float(result.max()) == pytest.approx(1 / (1 - p))


@pytest.mark.usefixtures("elsewhere")
def test_dropout_takes_its_chance_from_the_generator() -> None:
    values = torch.ones(1000)
    first, again = (
        dropout.dropout(values, 0.5, torch.Generator().manual_seed(1)) for _ in range(2)
    )
    assert torch.equal(first, again)
