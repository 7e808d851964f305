"""Encoders: hand-worked layers, PyG's layers as twins, then every option."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv

from mgae.core.encoders import (
    ACTIVATIONS,
    GAT,
    GCN,
    GIN,
    SAGE,
    EmbeddingTable,
    GATLayer,
    GCNLayer,
    GINLayer,
    Inputs,
    LayeredEncoder,
    NodeFeatures,
    OneHot,
    SAGELayer,
)
from mgae.core.errors import ConfigError, GraphError
from mgae.core.graph import MessageGraph
from mgae.core.ops.dropout import dropout
from mgae.core.ops.sparse import SparseMatrix, propagate_before_map
from mgae.core.seeding import drawn_from
from mgae.data import checked
from tests.conftest import toy_graph

CLASSES: dict[str, type[LayeredEncoder]] = {"gcn": GCN, "sage": SAGE, "gin": GIN, "gat": GAT}
KINDS = list(CLASSES)
INPUTS = ["features", "table", "one-hot"]
GRAPHS = {
    "undirected": {},
    "directed": {"directed": True},
    "weighted": {"weighted": True},
    "weighted directed": {"weighted": True, "directed": True},
}
UNWEIGHTED = ["undirected", "directed"]  # all that PyG's SAGEConv, GINConv and GATConv know
CASES = [("gcn", name) for name in GRAPHS] + [
    (kind, name) for kind in ("sage", "gin", "gat") for name in UNWEIGHTED
]


def build(
    kind: str, graph: MessageGraph, seed: int = 0, inputs: str = "features", **options: Any
) -> LayeredEncoder:
    given = {"hidden_channels": 5, "dropout": 0.0, **options}
    if kind == "gat":
        given.setdefault("heads", 1)
    with drawn_from(torch.Generator().manual_seed(seed)):
        read = inputs_of(inputs, graph, given.pop("feature_dropout", 0.0))
        return CLASSES[kind](read.channels, **given, inputs=read)


def inputs_of(name: str, graph: MessageGraph, dropout: float = 0.0) -> Inputs:
    if name == "table":
        return EmbeddingTable(graph.num_nodes, 5, dropout)
    if name == "one-hot":
        return OneHot(graph.num_nodes, dropout)
    return NodeFeatures(graph.num_features, dropout)


def graph_of(edges: list[tuple[int, int]], x: Tensor, weight: list[float] | None = None) -> Any:
    data = Data(x=x, edge_index=torch.tensor(edges).t(), num_nodes=len(x))
    if weight is not None:
        data.edge_weight = torch.tensor(weight)
    return MessageGraph.of(checked(data))


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def copied_conv(layer: nn.Module) -> nn.Module:
    """PyG's layer with the same weights."""
    if isinstance(layer, GCNLayer):
        conv = GCNConv(*layer.weight.shape)
        conv.lin.weight.data = layer.weight.detach().t().clone()
        conv.bias.data = layer.bias.detach().clone()
        return conv
    if isinstance(layer, GINLayer):
        ours = nn.Sequential(layer.first, nn.ReLU(), layer.second)
        gin = GINConv(deepcopy(ours), train_eps=True)
        gin.nn.load_state_dict(ours.state_dict())  # GINConv draws them anew
        gin.eps.data = layer.epsilon.detach().clone()
        return gin
    if isinstance(layer, GATLayer):
        return copied_gat(layer)
    assert isinstance(layer, SAGELayer)
    neighbors, own = layer.weight.detach().chunk(2, dim=1)
    sage = SAGEConv(layer.weight.size(0), layer.bias.numel())
    sage.lin_l.weight.data, sage.lin_r.weight.data = neighbors.t().clone(), own.t().clone()
    sage.lin_l.bias.data = layer.bias.detach().clone()
    return sage


def copied_gat(layer: GATLayer) -> GATConv:
    gat = GATConv(layer.weight.size(0), layer.source.size(1), heads=layer.heads)
    gat.lin.weight.data = layer.weight.detach().t().clone()
    gat.att_src.data = layer.source.detach().unsqueeze(0).clone()
    gat.att_dst.data = layer.target.detach().unsqueeze(0).clone()
    gat.bias.data = layer.bias.detach().clone()
    return gat


def weight_of(layer: nn.Module) -> nn.Parameter:
    """The weights that read the input, [in_width, …] but for GIN's."""
    return layer.first.weight if isinstance(layer, GINLayer) else layer.weight


def bias_of(layer: nn.Module) -> nn.Parameter:
    return layer.first.bias if isinstance(layer, GINLayer) else layer.bias


def conv_weight_grad(conv: nn.Module) -> Tensor:
    """The gradient of PyG's weights in the shape that ours has."""
    if isinstance(conv, GCNConv | GATConv):
        return conv.lin.weight.grad.t()
    if isinstance(conv, GINConv):
        return conv.nn[0].weight.grad
    return torch.cat([conv.lin_l.weight.grad.t(), conv.lin_r.weight.grad.t()], dim=1)


def conv_bias_grad(conv: nn.Module) -> Tensor:
    if isinstance(conv, GINConv):
        return conv.nn[0].bias.grad
    return conv.bias.grad if isinstance(conv, GCNConv | GATConv) else conv.lin_l.bias.grad


def conv_forward(conv: nn.Module, graph: MessageGraph, h: Tensor) -> Tensor:
    if graph.edge_weight is None:
        return conv(h, graph.edge_index)
    return conv(h, graph.edge_index, graph.edge_weight)


# By hand


def test_gcn_layer_on_a_path_of_three_nodes() -> None:
    graph = graph_of([(0, 1), (1, 0), (1, 2), (2, 1)], torch.tensor([[1.0], [2.0], [4.0]]))
    layer = GCNLayer(1, 1)
    layer.weight.data, layer.bias.data = torch.tensor([[3.0]]), torch.tensor([0.5])
    # With the self-loop the degrees are 2, 3, 2; an edge between them weighs 1/√6.
    root = math.sqrt(6)
    sums = [1 / 2 + 2 / root, 2 / 3 + (1 + 4) / root, 4 / 2 + 2 / root]
    expected = torch.tensor([[3 * value + 0.5] for value in sums])
    torch.testing.assert_close(layer(graph.x, graph.adjacency), expected)


def test_sage_layer_takes_the_weighted_mean_of_the_senders() -> None:
    x = torch.tensor([[2.0], [6.0], [10.0]])
    graph = graph_of([(0, 2), (1, 2)], x, weight=[1.0, 3.0])
    layer = SAGELayer(1, 1)
    layer.weight.data, layer.bias.data = torch.tensor([[10.0, 1.0]]), torch.tensor([0.5])
    # Node 2 receives (1·2 + 3·6) / 4 = 5: 10·5 + 10 + 0.5. Nodes 0 and 1 receive nothing.
    torch.testing.assert_close(
        layer(graph.x, graph.adjacency), torch.tensor([[2.5], [6.5], [60.5]])
    )


def test_sage_layer_with_weights_on_an_undirected_triangle() -> None:
    x = torch.tensor([[1.0], [2.0], [4.0]])
    edges = [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)]
    graph = graph_of(edges, x, weight=[1.0, 1.0, 2.0, 2.0, 3.0, 3.0])
    layer = SAGELayer(1, 1)
    layer.weight.data, layer.bias.data = torch.tensor([[1.0, 0.0]]), torch.tensor([0.0])
    # 0: (1·2 + 3·4)/4 = 3.5; 1: (1·1 + 2·4)/3 = 3; 2: (2·2 + 3·1)/5 = 1.4
    torch.testing.assert_close(layer(graph.x, graph.adjacency), torch.tensor([[3.5], [3.0], [1.4]]))


def test_gin_layer_sums_weighted_neighbors_and_itself() -> None:
    x = torch.tensor([[2.0], [6.0], [10.0]])
    graph = graph_of([(0, 2), (1, 2)], x, weight=[1.0, 3.0])
    layer = GINLayer(1, 1)
    layer.epsilon.data = torch.tensor([0.5])
    layer.first.weight.data, layer.first.bias.data = torch.tensor([[1.0]]), torch.tensor([-4.0])
    layer.second.weight.data, layer.second.bias.data = torch.tensor([[2.0]]), torch.tensor([1.0])
    # Node 2: 1.5·10 + 1·2 + 3·6 - 4 = 31; nodes 0 and 1: 1.5·2 - 4 < 0 and 1.5·6 - 4 = 5.
    torch.testing.assert_close(
        layer(graph.x, graph.adjacency), torch.tensor([[1.0], [11.0], [63.0]])
    )


def test_gat_layer_takes_the_mean_where_all_get_equal_attention() -> None:
    x = torch.tensor([[2.0], [6.0], [10.0]])
    graph = graph_of([(0, 2), (1, 2)], x, weight=[1.0, 3.0])
    layer = GATLayer(1, 1, heads=1)
    layer.weight.data, layer.bias.data = torch.tensor([[1.0]]), torch.tensor([0.5])
    layer.source.data = layer.target.data = torch.tensor([[0.0]])
    # Node 2: (1·2 + 3·6 + its own 10) / (1 + 3 + 1) = 6.
    torch.testing.assert_close(layer(graph.x, graph.adjacency), torch.tensor([[2.5], [6.5], [6.5]]))


def test_gat_counts_an_edge_of_weight_two_as_two_edges() -> None:
    graph = toy_graph(seed=6)
    twice = torch.cat([graph.edge_index, graph.edge_index], dim=1)
    layer = build("gat", graph, num_layers=1, hidden_channels=6, heads=3).layers[0]
    weighted = replace(graph, edge_weight=torch.full((graph.edge_index.size(1),), 2.0))
    torch.testing.assert_close(
        layer(graph.x, weighted.adjacency), copied_gat(layer)(graph.x, twice), atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_heads_of_attention_equal_pyg(heads: int) -> None:
    graph = toy_graph(seed=7, directed=True)
    layer = build("gat", graph, num_layers=1, hidden_channels=8, heads=heads).layers[0]
    torch.testing.assert_close(
        layer(graph.x, graph.adjacency), copied_gat(layer)(graph.x, graph.edge_index)
    )


def test_attention_survives_large_scores() -> None:
    graph = toy_graph()
    layer = build("gat", graph, num_layers=1).layers[0]
    layer.source.data *= 1e4
    assert bool(layer(graph.x, graph.adjacency).isfinite().all())


def test_heads_that_do_not_share_out_the_width_are_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"hidden_channels must be a multiple of encoder\.heads 4"
    ):
        GAT(3, 6, heads=4)


# Against PyG


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_layers_equal_pyg(kind: str, name: str, sparse: bool) -> None:
    graph = toy_graph(seed=3, **GRAPHS[name])
    x = graph.x
    variant = replace(graph, x=SparseMatrix.from_dense(x)) if sparse else graph
    encoder = build(kind, variant, num_layers=3)
    h = x
    for ours, layer in zip(encoder(variant, None), encoder.layers, strict=True):
        h = torch.relu(conv_forward(copied_conv(layer), graph, h))
        torch.testing.assert_close(ours, h, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_gradients_equal_pyg(kind: str, name: str, sparse: bool) -> None:
    graph = toy_graph(seed=4, **GRAPHS[name])
    x = graph.x
    variant = replace(graph, x=SparseMatrix.from_dense(x)) if sparse else graph
    encoder = build(kind, variant, num_layers=2, act="tanh")
    convs = [copied_conv(layer) for layer in encoder.layers]
    target = torch.randn(graph.num_nodes, 5, generator=seeded())
    (encoder(variant, None)[-1] * target).sum().backward()
    h = x
    for conv in convs:
        h = torch.tanh(conv_forward(conv, graph, h))
    (h * target).sum().backward()
    for layer, conv in zip(encoder.layers, convs, strict=True):
        pairs = (
            (weight_of(layer).grad, conv_weight_grad(conv)),
            (bias_of(layer).grad, conv_bias_grad(conv)),
        )
        for ours, theirs in pairs:
            torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_gradient_with_respect_to_dense_input_equals_pyg(kind: str, name: str) -> None:
    graph = toy_graph(seed=5, **GRAPHS[name])
    layer = build(kind, graph, num_layers=1).layers[0]
    ours, theirs = (graph.x.clone().requires_grad_() for _ in range(2))
    layer(ours, graph.adjacency).square().sum().backward()
    conv_forward(copied_conv(layer), graph, theirs).square().sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-4, rtol=1e-4)


@settings(deadline=None, max_examples=30)
@given(
    case=st.sampled_from(CASES),
    seed=st.integers(0, 1000),
    num_nodes=st.integers(2, 12),
    num_edges=st.integers(1, 30),
)
def test_any_graph_gives_what_pyg_gives(
    case: tuple[str, str], seed: int, num_nodes: int, num_edges: int
) -> None:
    kind, name = case
    graph = toy_graph(num_nodes=num_nodes, num_edges=num_edges, seed=seed, **GRAPHS[name])
    layer = build(kind, graph, seed=seed, num_layers=1).layers[0]
    expected = conv_forward(copied_conv(layer), graph, graph.x)
    torch.testing.assert_close(layer(graph.x, graph.adjacency), expected, atol=1e-5, rtol=1e-5)


# Depth and inputs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_every_layer_is_returned(kind: str, depth: int) -> None:
    graph = toy_graph()
    outputs = build(kind, graph, num_layers=depth)(graph, None)
    assert [tuple(output.shape) for output in outputs] == [(20, 5)] * depth


@pytest.mark.parametrize("kind", KINDS)
def test_a_deeper_encoder_begins_like_a_shallow_one(kind: str) -> None:
    graph = toy_graph()
    deep, shallow = build(kind, graph, num_layers=4), build(kind, graph, num_layers=2)
    shallow.load_state_dict(deep.state_dict(), strict=False)
    for ours, theirs in zip(shallow(graph, None), deep(graph, None)[:2], strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_an_isolated_node_sees_only_itself(kind: str) -> None:
    x = torch.rand(4, 3, generator=seeded())
    graph = graph_of([(0, 1), (1, 0)], x)
    layer = build(kind, graph, num_layers=1).layers[0]
    out, others = (
        layer(variant, graph.adjacency) for variant in (x, x[[1, 0, 2, 3]] + torch.eye(4, 3))
    )
    changed = [bool((out[node] != others[node]).any()) for node in range(4)]
    assert changed[3] is False
    if kind == "gin":
        return
    own = layer.weight.chunk(2, dim=1)[1] if kind == "sage" else layer.weight
    torch.testing.assert_close(out[2:], x[2:] @ own + layer.bias)


@pytest.mark.parametrize("kind", KINDS)
def test_a_graph_without_any_edge_is_finite(kind: str) -> None:
    graph = toy_graph()
    alone = graph.only(torch.zeros(graph.edge_index.size(1), dtype=torch.bool))
    encoder = build(kind, graph)
    outputs = encoder(alone, None)
    outputs[-1].sum().backward()
    assert all(bool(output.isfinite().all()) for output in outputs)
    assert all(bool(p.grad.isfinite().all()) for p in encoder.parameters())


def test_inputs_are_the_features_unless_given() -> None:
    graph = toy_graph()
    with drawn_from(seeded()):
        plain = GCN(graph.num_features, 5, dropout=0.0)
    assert isinstance(plain.inputs, NodeFeatures)
    assert torch.equal(plain(graph, None)[-1], build("gcn", graph)(graph, None)[-1])


def test_a_table_serves_a_graph_without_features_and_learns() -> None:
    graph = toy_graph(num_features=None)
    encoder = build("gcn", graph, inputs="table")
    table = encoder.inputs.table
    assert isinstance(table, nn.Parameter)
    assert table.shape == (20, 5)
    encoder(graph, None)[-1].sum().backward()
    assert float(table.grad.abs().sum()) > 0


def test_a_table_may_replace_the_features() -> None:
    graph = toy_graph()
    encoder = build("gcn", graph, inputs="table")
    other = replace(graph, x=graph.x + 1)
    assert torch.equal(encoder(graph, None)[-1], encoder(other, None)[-1])


def test_row_normalized_features_are_those_of_the_graph() -> None:
    graph = toy_graph()
    normalized = NodeFeatures(graph.num_features, row_normalize=True).whole(graph)
    assert torch.equal(normalized, graph.row_normalized_x)
    assert not torch.equal(normalized, graph.x)


@pytest.mark.parametrize(("name", "inductive"), [*zip(INPUTS, [True, False, False], strict=True)])
def test_what_is_learned_of_each_node_does_not_serve_new_ones(name: str, inductive: bool) -> None:
    assert inputs_of(name, toy_graph()).inductive is inductive


@pytest.mark.parametrize("kind", KINDS)
def test_one_hot_inputs_are_the_identity(kind: str) -> None:
    graph = toy_graph()
    one_hot = build(kind, graph, inputs="one-hot")
    spelled_out = replace(graph, x=torch.eye(20))
    twin = build(kind, spelled_out, inputs="features")
    twin.load_state_dict(one_hot.state_dict())
    torch.testing.assert_close(one_hot(graph, None)[-1], twin(spelled_out, None)[-1])


def test_features_that_are_not_there_are_refused() -> None:
    graph = toy_graph(num_features=None)
    with pytest.raises(GraphError, match="no features: use EmbeddingTable"):
        build("gcn", graph)(graph, None)


def test_features_without_a_column_are_borne_by_sage_as_by_gcn() -> None:
    graph = toy_graph(num_features=0)
    assert bool(build("gcn", graph)(graph, None)[-1].isfinite().all())
    assert bool(build("sage", graph)(graph, None)[-1].isfinite().all())


# Dropout


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_needs_a_generator(kind: str) -> None:
    graph = toy_graph()
    encoder = build(kind, graph, dropout=0.5, feature_dropout=0.5)
    first, second = encoder(graph, None), encoder(graph, None)
    without = build(kind, graph)
    for a, b, c in zip(first, second, without(graph, None), strict=True):
        assert torch.equal(a, b)
        assert torch.equal(a, c)


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_falls_between_layers_and_spares_the_first(kind: str) -> None:
    graph = toy_graph()
    encoder = build(kind, graph, dropout=0.5)
    (first, second), (plain_first, plain_second) = encoder(graph, seeded()), encoder(graph, None)
    assert torch.equal(first, plain_first)
    assert not torch.equal(second, plain_second)


@pytest.mark.parametrize("kind", KINDS)
def test_the_decoder_may_read_what_the_next_layer_does(kind: str) -> None:
    graph = toy_graph()
    plain = build(kind, graph, dropout=0.5, num_layers=3)
    dropping = build(kind, graph, dropout=0.5, num_layers=3, drop_outputs=True)
    *hidden, last = dropping(graph, seeded())
    *plain_hidden, plain_last = plain(graph, seeded())
    chance = seeded()
    for output, whole in zip(hidden, plain_hidden, strict=True):
        assert torch.equal(output, dropout(whole, 0.5, chance))
    assert torch.equal(last, plain_last)
    for output, whole in zip(dropping(graph, None), plain(graph, None), strict=True):
        assert torch.equal(output, whole)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_feature_dropout_falls_on_the_first_layer(sparse: bool) -> None:
    graph = toy_graph()
    if sparse:
        graph = replace(graph, x=SparseMatrix.from_dense(graph.x))
    encoder = build("gcn", graph, feature_dropout=0.5, num_layers=1)
    assert not torch.equal(encoder(graph, seeded())[0], encoder(graph, None)[0])


def test_the_same_generator_gives_the_same_dropout() -> None:
    graph = toy_graph()
    encoder = build("gcn", graph, dropout=0.5)
    draws = [encoder(graph, seeded(seed))[-1] for seed in (1, 1, 2)]
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])


def test_feature_dropout_keeps_the_mean() -> None:
    x = torch.ones(2, 40_000)
    graph = graph_of([(0, 1)], x)
    encoder = build("gcn", graph, feature_dropout=0.25)
    dropped = encoder.inputs(graph, seeded())
    assert dropped.unique().tolist() == pytest.approx([0.0, 4 / 3])
    assert float((dropped == 0).float().mean()) == pytest.approx(0.25, abs=0.01)


# Activations and norms


ACT_TWINS = {
    "relu": torch.relu,
    "elu": nn.functional.elu,
    "prelu": lambda h: torch.where(h > 0, h, 0.25 * h),  # torch begins with the slope 0.25
    "tanh": torch.tanh,
    "none": lambda h: h,
}


@pytest.mark.parametrize("act", ACT_TWINS)
def test_each_activation_follows_its_layer(act: str) -> None:
    graph = toy_graph()
    encoder = build("gcn", graph, act=act, num_layers=1)
    linear = encoder.layers[0](graph.x, graph.adjacency)
    assert bool((linear < 0).any())
    torch.testing.assert_close(encoder(graph, None)[0], ACT_TWINS[act](linear))


def test_every_registered_activation_is_tested() -> None:
    assert set(ACT_TWINS) == set(ACTIVATIONS)


@pytest.mark.parametrize("kind", KINDS)
def test_without_act_last_the_last_layer_may_be_negative(kind: str) -> None:
    graph = toy_graph()
    first, last = build(kind, graph, act_last=False)(graph, None)
    assert bool((first >= 0).all())
    assert bool((last < 0).any())
    assert bool((build(kind, graph)(graph, None)[-1] >= 0).all())


def test_batch_norm_in_training_centers_each_channel() -> None:
    graph = toy_graph()
    encoder = build("gcn", graph, norm="batch", act="none").train()
    for output in encoder(graph, None):
        torch.testing.assert_close(output.mean(dim=0), torch.zeros(5), atol=1e-5, rtol=0)
        torch.testing.assert_close(
            output.var(dim=0, unbiased=False), torch.ones(5), atol=2e-2, rtol=0
        )


def test_batch_norm_in_evaluation_does_not_learn() -> None:
    graph = toy_graph()
    encoder = build("gcn", graph, norm="batch").eval()
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    encoder(graph, None)
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())


def test_layer_norm_centers_each_node() -> None:
    graph = toy_graph()
    encoder = build("sage", graph, norm="layer", act="none", num_layers=1)
    (output,) = encoder(graph, None)
    torch.testing.assert_close(output.mean(dim=1), torch.zeros(20), atol=1e-5, rtol=0)


def test_no_norm_has_no_parameters() -> None:
    names = dict(build("gcn", toy_graph()).named_parameters())
    assert not [name for name in names if name.startswith("norms")]


# Parameters and chance


@pytest.mark.parametrize("norm", ["none", "batch"])
@pytest.mark.parametrize("inputs", ["features", "table"])
@pytest.mark.parametrize("kind", KINDS)
def test_reset_parameters_is_a_new_draw_from_the_generator(
    kind: str, inputs: str, norm: str
) -> None:
    graph = toy_graph()
    encoder = build(kind, graph, inputs=inputs, norm=norm)
    before = {name: value.clone() for name, value in encoder.state_dict().items()}

    def reset(seed: int) -> dict[str, Tensor]:
        with drawn_from(seeded(seed)):
            encoder.reset_parameters()
        return {name: value.clone() for name, value in encoder.state_dict().items()}

    first, other, again = reset(7), reset(8), reset(7)
    assert all(torch.equal(first[name], again[name]) for name in first)
    for name in [name for name in first if "weight" in name and "norms" not in name] + (
        ["inputs.table"] if inputs == "table" else []
    ):
        assert not torch.equal(first[name], before[name])
        assert not torch.equal(first[name], other[name])


def test_reset_parameters_forgets_the_norm_and_the_slope() -> None:
    graph = toy_graph()
    encoder = build("gcn", graph, norm="batch", act="prelu").train()
    encoder(graph, None)
    encoder.acts[0].weight.data.fill_(3.0)
    with drawn_from(seeded()):
        encoder.reset_parameters()
    assert torch.equal(encoder.norms[0].running_mean, torch.zeros(5))
    assert float(encoder.acts[0].weight.detach()) == 0.25


def test_first_weights_have_the_ranges_of_pyg() -> None:
    with drawn_from(seeded()):
        gcn, sage = GCNLayer(50, 30), SAGELayer(50, 30)
    glorot = math.sqrt(6 / (50 + 30))
    assert 0.95 * glorot < float(gcn.weight.data.abs().max()) <= glorot
    assert float(gcn.bias.data.abs().max()) == 0
    # Kaiming with a = √5: 1/√fan_in, and the fan-in is 50 and not the width of both halves.
    assert 0.95 / math.sqrt(50) < float(sage.weight.data.abs().max()) <= 1 / math.sqrt(50)
    assert 0 < float(sage.bias.data.abs().max()) <= 1 / math.sqrt(50)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("inputs", INPUTS)
def test_building_and_running_leave_the_global_generator_alone(kind: str, inputs: str) -> None:
    graph, before = toy_graph(), torch.random.get_rng_state()
    encoder = build(kind, graph, inputs=inputs, dropout=0.5, feature_dropout=0.5)
    encoder(graph, seeded(1))
    encoder(graph, None)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("kind", KINDS)
def test_building_and_dropout_do_not_depend_on_the_global_generator(kind: str) -> None:
    graph, results = toy_graph(), []
    with torch.random.fork_rng(devices=[]):
        for seed in (0, 1):
            torch.manual_seed(seed)
            encoder = build(kind, graph, inputs="table", dropout=0.5, feature_dropout=0.5)
            results.append([*encoder.state_dict().values(), *encoder(graph, seeded())])
    assert all(torch.equal(*pair) for pair in zip(*results, strict=True))


@pytest.mark.parametrize("kind", ["gcn", "sage"])
@pytest.mark.parametrize("name", GRAPHS)
def test_sending_first_gives_what_mapping_first_gives(kind: str, name: str) -> None:
    # Features that want a gradient are mapped first, whatever their number.
    graph = toy_graph(**GRAPHS[name])
    assert isinstance(graph.x, Tensor)
    (layer,) = build(kind, graph, hidden_channels=9, num_layers=1).layers
    assert propagate_before_map(graph.x, 9)
    assert not propagate_before_map(graph.x, 6)
    sent, mapped = (layer(x, graph.adjacency) for x in (graph.x, graph.x.clone().requires_grad_()))
    torch.testing.assert_close(sent, mapped)
    weights = list(layer.parameters())
    torch.testing.assert_close(
        torch.autograd.grad(sent.square().sum(), weights),
        torch.autograd.grad(mapped.square().sum(), weights),
    )
