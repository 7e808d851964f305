"""Sampled mode: the same encoder on what a step can reach, and nothing that is hidden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from mgae.core import (
    BCE,
    GAT,
    GCN,
    GIN,
    SAGE,
    Directed,
    EmbeddingTable,
    Fit,
    FullSoftmax,
    LayeredEncoder,
    Loss,
    Mask,
    MaskedGraphAutoencoder,
    NodeFeatures,
    OneHot,
    SampledSoftmax,
    Sketches,
    Undirected,
    fit,
)
from mgae.core import Path as PathMask
from mgae.core.errors import ConfigError
from mgae.core.graph import MessageGraph
from mgae.core.masks import HiddenEdges
from mgae.core.methods.masked import encode_neighborhood
from mgae.core.negatives import NegativeSampler
from mgae.core.ops.neighborhood import Neighborhood, NeighborSampler
from mgae.core.ops.sparse import SparseMatrix
from mgae.core.seeding import Generators, drawn_from
from mgae.core.training.state import EpochRecord
from mgae.data import checked
from mgae.data.mapped import mapped_graph, write_mapped
from mgae.data.splits.links import split_links
from mgae.evaluation.metrics import auc
from mgae.runs.checkpoints import Checkpoints
from tests.conftest import toy_graph
from tests.core.methods.small import edge_set, fit_to_the_last, masked, seeded
from tests.core.methods.small import encoder_of as encoder_on

GRAPHS = {
    "undirected": toy_graph(),
    "directed": toy_graph(directed=True),
    "weighted": toy_graph(weighted=True),
    "no features": toy_graph(num_features=None),
}
each_graph = pytest.mark.parametrize("kind", GRAPHS)


def build(graph: MessageGraph, **options: Any) -> MaskedGraphAutoencoder:
    return masked(graph, **{"fanouts": (3, 2), "step_size": 10, **options})


def sampler_of(graph: MessageGraph, ratio: float) -> NeighborSampler:
    return Undirected(ratio).hide(graph, seeded()).neighbor_sampler()


def encoder_of(graph: MessageGraph, **options: Any) -> LayeredEncoder:
    with drawn_from(seeded()):
        return encoder_on(graph, **options).eval()


def epoch(method: MaskedGraphAutoencoder, graph: MessageGraph, seed: int = 0) -> list[float]:
    return [float(loss.detach()) for loss, _ in method.losses(graph, Generators(seed))]


# Encoding


@settings(deadline=None, max_examples=40)
@given(
    kind=st.sampled_from([GCN, SAGE, GIN, GAT]),
    depth=st.integers(1, 3),
    graph=st.sampled_from(list(GRAPHS.values())),
    seeds=st.sets(st.integers(0, 19), min_size=1),
)
def test_with_all_neighbors_the_seeds_are_encoded_as_in_the_whole_graph(
    kind: type[LayeredEncoder], depth: int, graph: MessageGraph, seeds: set[int]
) -> None:
    nodes = torch.tensor(sorted(seeds))
    reached = sampler_of(graph, 0.0).sample(nodes, (99,) * depth, seeded())
    encoder = encoder_of(graph, kind=kind, num_layers=depth)
    layers = encode_neighborhood(encoder, graph, reached, None)
    for layer, whole in zip(layers, encoder(graph, None), strict=True):
        torch.testing.assert_close(layer, whole[nodes])


@pytest.mark.parametrize(
    "inputs", [NodeFeatures(6), EmbeddingTable(20, 4), OneHot(20), Sketches(4)]
)
@pytest.mark.parametrize("sparse", [False, True])
def test_every_kind_of_input_gives_the_rows_of_its_nodes(inputs: Any, sparse: bool) -> None:
    dense = toy_graph()
    assert isinstance(dense.x, Tensor)
    x = SparseMatrix.from_dense(dense.x.clone()) if sparse else dense.x
    graph = MessageGraph(dense.edge_index, dense.num_nodes, x)
    reached = sampler_of(graph, 0.0).sample(torch.tensor([4, 9]), (99, 99), seeded())
    encoder = encoder_of(graph, inputs=inputs)
    expected = encoder(graph, None)[-1][[4, 9]]
    torch.testing.assert_close(encode_neighborhood(encoder, graph, reached, None)[-1], expected)


def test_a_mean_over_all_visible_neighbors_is_that_of_the_visible_graph() -> None:
    graph = toy_graph()
    hidden = Undirected(0.5).hide(graph, seeded())
    visible = graph.only(~hidden.is_hidden(torch.arange(graph.edge_index.size(1))))
    nodes = torch.arange(0, 20, 3)
    reached = hidden.neighbor_sampler().sample(nodes, (99, 99), seeded())
    encoder = encoder_of(graph, kind=SAGE)
    layers = encode_neighborhood(encoder, graph, reached, None)
    for layer, whole in zip(layers, encoder(visible, None), strict=True):
        torch.testing.assert_close(layer, whole[nodes])


def test_what_is_dropped_is_what_the_encoder_drops() -> None:
    graph = toy_graph()
    encoder = encoder_of(graph, num_layers=3, dropout=0.3, inputs=NodeFeatures(6, dropout=0.2))
    # All nodes are seeds: the neighborhood is the graph, in its own order.
    reached = sampler_of(graph, 0.0).sample(torch.arange(20), (99,) * 3, seeded())
    expected = encoder(graph, seeded(5))
    layers = encode_neighborhood(encoder, graph, reached, seeded(5))
    torch.testing.assert_close(layers, expected)


def test_a_node_that_is_not_reached_gets_no_gradient() -> None:
    graph = toy_graph(num_nodes=40, num_edges=40, num_features=None)
    reached = sampler_of(graph, 0.5).sample(torch.tensor([1, 2]), (2, 2), seeded())
    encoder = encoder_of(graph, act="none")
    encode_neighborhood(encoder, graph, reached, None)[-1].sum().backward()
    assert isinstance(encoder.inputs, EmbeddingTable)
    assert encoder.inputs.table.grad is not None
    moved = encoder.inputs.table.grad.abs().sum(1).nonzero().squeeze(1)
    assert set(moved.tolist()) == set(reached.nodes.tolist())


# Steps


class Watched:
    """What the steps had to predict, and what was in their neighborhoods."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.neighborhoods: list[Neighborhood] = []
        self.targets: list[Tensor] = []
        sample, targets = NeighborSampler.sample, HiddenEdges.targets

        def watched_sample(sampler: NeighborSampler, *given: Any) -> Neighborhood:
            self.neighborhoods.append(sample(sampler, *given))
            return self.neighborhoods[-1]

        def watched_targets(hidden: HiddenEdges, *given: Any) -> Tensor:
            self.targets.append(targets(hidden, *given))
            return self.targets[-1]

        monkeypatch.setattr(NeighborSampler, "sample", watched_sample)
        monkeypatch.setattr(HiddenEdges, "targets", watched_targets)

    def visible(self) -> set[tuple[int, int]]:
        edges = [one.nodes[one.edge_index] for one in self.neighborhoods]
        return edge_set(torch.cat(edges, dim=1))


@each_graph
@pytest.mark.parametrize("mask", [Undirected, Directed])
def test_no_step_of_an_epoch_sees_a_target_of_any_step(
    mask: type[Mask], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = GRAPHS[kind]
    method, watched = build(graph, mask=mask(0.7)), Watched(monkeypatch)
    assert len(epoch(method, graph)) == len(watched.targets) > 1
    targets = edge_set(torch.cat(watched.targets, dim=1))
    back = {(v, u) for u, v in targets} if mask is Undirected else set()
    assert watched.visible()
    assert not watched.visible() & (targets | back)
    assert watched.visible() <= edge_set(graph.edge_index)


@pytest.mark.parametrize("step_size", [1, 5, 27, 28, 1000])
def test_the_steps_cover_every_masked_edge_once(
    step_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched, graph = Watched(monkeypatch), toy_graph()  # 40 edges, 28 of them masked
    epoch(build(graph, step_size=step_size), graph)
    sizes = [targets.size(1) for targets in watched.targets]
    assert sum(sizes) == 28
    assert sizes[:-1] == [step_size] * (len(sizes) - 1)
    pairs = torch.cat(watched.targets, dim=1).sort(dim=0).values
    assert pairs.unique(dim=1).size(1) == 28


def hub() -> MessageGraph:
    """Node 0 is joined to all others: as a head it has no negative tail."""
    edges = to_undirected(torch.tensor([[0, 0, 0, 0, 0, 0, 1], [1, 2, 3, 4, 5, 6, 2]]))
    return MessageGraph.of(checked(Data(edge_index=edges, num_nodes=7)))


@pytest.mark.parametrize("graph", [toy_graph(), hub()])
@pytest.mark.parametrize("loss", [BCE(), SampledSoftmax()])
def test_the_loss_is_that_of_the_whole_graph_if_all_is_reached(
    loss: Loss, graph: MessageGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    sure: dict[str, Any] = {"encoder": {"kind": SAGE, "dropout": 0.0}, "decoder": {"dropout": 0.0}}
    method = build(graph, loss=loss, fanouts=(99, 99), **sure)
    watched = Watched(monkeypatch)
    losses = epoch(method, graph)
    hidden = method.mask.hide(graph, Generators(0)["mask"])
    visible = graph.only(~hidden.is_hidden(torch.arange(graph.edge_index.size(1))))
    layers, sampler = method.encoder(visible, None), NegativeSampler.of(graph)
    generator = Generators(0)["negatives"]
    for value, positives in zip(losses, watched.targets, strict=True):
        negatives = loss.draw(positives, sampler, generator)
        expected = loss(method.decoder, layers, positives, negatives, None, 64)
        assert value == pytest.approx(float(expected.detach()), rel=1e-5)


@each_graph
@pytest.mark.parametrize("norm", ["none", "batch", "layer"])
def test_every_parameter_gets_a_gradient(kind: str, norm: str) -> None:
    graph = GRAPHS[kind]
    method = build(graph, encoder={"norm": norm}, step_size=1000)
    next(method.losses(graph, Generators(0)))[0].backward()
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in method.parameters())
    weights = [p for name, p in method.named_parameters() if name.endswith("weight")]
    assert all(float(p.grad.abs().sum()) > 0 for p in weights if p.grad is not None)


def test_a_mapped_graph_gives_the_same_bits(tmp_path: Path) -> None:
    graph = toy_graph(weighted=True)
    write_mapped(graph, tmp_path)
    for mask in (Undirected, Directed):
        method = build(graph, mask=mask(0.7))
        assert epoch(method, mapped_graph(tmp_path)) == epoch(method, graph)


def test_the_seed_decides() -> None:
    graph = toy_graph()
    method = build(graph)
    assert epoch(method, graph, 1) == epoch(method, graph, 1)
    assert epoch(method, graph, 1) != epoch(method, graph, 2)


# Settings


@pytest.mark.parametrize("fanouts", [(5,), (5, 5, 5)])
def test_fanouts_that_do_not_fit_the_depth_are_refused(fanouts: tuple[int, ...]) -> None:
    with pytest.raises(
        ConfigError, match=rf"fanouts .* it has {len(fanouts)} and encoder\.num_layers is 2"
    ):
        build(toy_graph(), fanouts=fanouts)


def test_the_full_softmax_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"loss\.kind 'softmax' scores every node"):
        build(toy_graph(), loss=FullSoftmax())


def test_a_mask_that_cannot_answer_edge_by_edge_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"train\.fanouts goes with mask\.kind 'undirected' or"):
        build(toy_graph(), mask=PathMask(0.7))


def test_an_encoder_that_needs_the_whole_graph_is_refused() -> None:
    class Whole(GCN):
        samplable = False

    with pytest.raises(ConfigError, match="this encoder needs the whole graph"):
        build(toy_graph(), encoder={"kind": Whole})


def test_a_mask_that_hides_nothing_is_refused() -> None:
    graph = toy_graph()
    with pytest.raises(ConfigError, match=r"mask\.ratio 0\.0 hides no edge"):
        epoch(build(graph, mask=Undirected(0.0)), graph)


# Training


def trained(graph: MessageGraph, folder: Path, stop_after: int | None = None) -> tuple[Any, Fit]:
    generators = Generators(0)
    method = build(graph, encoder={"norm": "batch"})

    def stop(record: EpochRecord) -> None:
        if record.epoch == stop_after:
            raise KeyboardInterrupt

    def validate() -> float:
        return float(sum(weight.detach().sum() for weight in method.parameters()))

    store = Checkpoints(folder, 0.0)
    return method, fit(
        method,
        graph,
        epochs=4,
        validate=validate,
        generators=generators,
        checkpoints=store,
        on_epoch=stop,
    )


def test_going_on_gives_the_same_bits(tmp_path: Path) -> None:
    graph = toy_graph()
    whole, whole_fit = trained(graph, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        trained(graph, tmp_path / "broken", stop_after=2)
    resumed, resumed_fit = trained(graph, tmp_path / "broken")
    assert resumed_fit == whole_fit
    for name, weight in whole.state_dict().items():
        assert torch.equal(weight, resumed.state_dict()[name]), name


def communities(size: int = 30, count: int = 4) -> MessageGraph:
    """Groups with many edges inside and few across; the features hardly tell them apart."""
    generator = torch.Generator().manual_seed(0)
    group = torch.arange(count).repeat_interleave(size)
    pairs = torch.combinations(torch.arange(size * count), 2).t()
    chance = torch.where(group[pairs[0]] == group[pairs[1]], 0.4, 0.01)
    edges = pairs[:, torch.rand(pairs.size(1), generator=generator) < chance]
    x = torch.randn(size * count, 16, generator=generator)
    x[:, :count] += torch.nn.functional.one_hot(group)
    return MessageGraph.of(checked(Data(x=x, edge_index=to_undirected(edges))))


def test_training_learns_more_than_the_features_say() -> None:
    split = split_links(communities(), 0.05, 0.10, seeded())
    wide = {"encoder": {"hidden_channels": 32}, "decoder": {"hidden_channels": 32}}
    method = build(split.message, fanouts=(4, 3), step_size=128, **wide)
    fit_to_the_last(method, split.message, 25)
    encoded = method.encode(split.message)
    learned = auc(*(method.score_links(encoded, pairs) for pairs in split.pairs("test")))
    x = split.message.x
    assert isinstance(x, Tensor)
    raw = auc(*((x[u] * x[v]).sum(1) for u, v in split.pairs("test")))
    assert learned > 0.8 > raw
