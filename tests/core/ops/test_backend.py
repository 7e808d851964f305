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
from mgae.core.seeding import Generators, drawn_from
from tests.conftest import toy_graph


def test_our_kernels_are_for_the_cpu_alone() -> None:
    assert set(backend.OWN_KERNELS) == {"cpu"}


def sparse_graph() -> MessageGraph:
    """Few of its features are there, so that they are a sparse matrix."""
    graph = toy_graph(directed=True, weighted=True)
    assert isinstance(graph.x, Tensor)
    return replace(graph, x=sparse.SparseMatrix.from_dense(graph.x * (graph.x > 0.7)))


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
    ours = gradients(sparse_graph(), encoder)
    monkeypatch.setattr(backend, "OWN_KERNELS", frozenset())
    monkeypatch.setattr(backend, "SPARSE_KERNELS", frozenset())
    for kernel in (sparse._Product, decoding._Perceptron, decoding._CrossPerceptron):
        monkeypatch.setattr(kernel, "apply", None)
    torch.testing.assert_close(gradients(sparse_graph(), encoder), ours, rtol=1e-4, atol=1e-6)
