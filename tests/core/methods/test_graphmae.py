"""GraphMAE: what is hidden, what is to be found, and what it costs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from mgae.core import GraphMAE, NodeFeatures, fit
from mgae.core.errors import UnsupportedError
from mgae.core.graph import MessageGraph
from mgae.core.methods.graphmae import scaled_cosine_error
from mgae.core.ops.rows import AlteredRows
from mgae.core.seeding import Generators, drawn_from
from tests.conftest import toy_graph
from tests.core.methods.small import encoder_of, seeded


def build(graph: MessageGraph, encoder: dict[str, Any] | None = None, **options: Any) -> GraphMAE:
    with drawn_from(Generators(0)["init"]):
        usual = {"hidden_channels": 64, "act": "prelu", "dropout": 0.2}
        return GraphMAE(encoder_of(graph, **{**usual, **(encoder or {})}), **options)


def test_the_scaled_cosine_error_by_hand() -> None:
    rebuilt = torch.tensor([[1.0, 0.0], [1.0, 1.0], [-2.0, 0.0]])
    wanted = torch.tensor([[5.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    # 1 - cosine: 0, 1 - 1/√2 = 0.2929, 2.
    assert float(scaled_cosine_error(rebuilt, wanted, 1.0)) == pytest.approx(2.2929 / 3, abs=1e-4)
    assert float(scaled_cosine_error(rebuilt, wanted, 2.0)) == pytest.approx(4.0858 / 3, abs=1e-4)


def test_the_share_that_is_hidden_and_replaced() -> None:
    method = build(toy_graph(), mask_ratio=0.5, replace_ratio=0.2)
    hidden, rows = method.hide(20, seeded())
    assert hidden.unique().numel() == 10
    assert int((rows == 20).sum()) == 8
    shown = torch.ones(20, dtype=torch.bool)
    shown[hidden] = False
    assert torch.equal(rows[shown], torch.arange(20)[shown])


def test_at_least_one_node_is_hidden() -> None:
    method = build(toy_graph(), mask_ratio=0.01)
    assert method.hide(20, torch.Generator())[0].numel() == 1


def test_the_token_stands_where_a_node_is_hidden() -> None:
    graph = toy_graph()
    method = build(graph)
    assert isinstance(graph.x, torch.Tensor)
    rows = torch.arange(20)
    rows[3] = 20
    token = torch.full((6,), 0.7)
    x = graph.x.clone()
    x[3] = token
    with torch.no_grad():
        ours = method.encoder.propagate(AlteredRows(graph.x, rows, token), graph, None)[-1]
        expected = method.encoder(MessageGraph(graph.edge_index, 20, x), None)[-1]
    torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("shares", [False, True])
def test_what_is_to_be_found_is_what_was_hidden(shares: bool) -> None:
    dense = toy_graph()
    assert isinstance(dense.x, torch.Tensor)
    x = dense.x * (dense.x > 0.85)  # so few that it is kept sparse
    graph = MessageGraph.of(
        Data(x=x, edge_index=dense.edge_index, edge_weight=None, num_nodes=20, undirected=True)
    )
    method = build(graph, encoder={"inputs": NodeFeatures(6, row_normalize=shares)})
    nodes = torch.tensor([4, 0, 7])
    total = x.sum(dim=1, keepdim=True).clamp(min=1e-12)
    torch.testing.assert_close(method.wanted(graph, nodes), (x / total if shares else x)[nodes])


def test_training_brings_the_error_down() -> None:
    graph = toy_graph()
    method = build(graph, {"inputs": NodeFeatures(6, dropout=0.2)})
    history = fit(method, graph, epochs=60, patience=60, clip=0.0, weight_decay=2e-4).history
    assert history[-1].loss < 0.7 * history[0].loss


def test_without_features_there_is_nothing_to_hide() -> None:
    method = build(toy_graph(num_features=None))
    method.name = "graphmae"
    with pytest.raises(UnsupportedError, match="'graphmae' needs node features"):
        next(method.losses(toy_graph(num_features=None), Generators(0)))
