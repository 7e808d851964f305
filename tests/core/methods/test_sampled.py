"""Sampled mode: the same encoder on what a step can see, and nothing that is hidden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from mgae.core.encoders import Encoder
from mgae.core.errors import ConfigError
from mgae.core.masks import MaskSettings
from mgae.runs.build import build_method
from mgae.core.methods.hiding import HiddenEdges
from mgae.core.methods.masked import MaskedGraphAutoencoder
from mgae.core.methods.sampled import encode_seeds, neighbor_sampler
from mgae.core.negatives import NegativeSampler
from mgae.core.ops.neighborhood import Neighborhood, NeighborSampler
from mgae.core.ops.sparse import SparseMatrix
from mgae.core.seeding import Generators, drawn_from
from mgae.core.training import Checkpoints, EpochRecord, Fit, train
from mgae.data import MessageGraph, checked
from mgae.data.mapped import mapped_graph, write_mapped
from mgae.data.splits.links import split_links
from mgae.evaluation.metrics import auc
from mgae.registry import ENCODERS, LOSSES, MASKS
from mgae.runs.config import RunConfig
from mgae.runs.sections import SplitSettings
from tests.conftest import toy_graph

SMALL: dict[str, Any] = {
    "encoder": {"hidden_channels": 4},
    "decoder": {"hidden_channels": 8},
    "train": {"fanouts": (3, 2), "step_size": 10, "epochs": 3},
}
GRAPHS = {
    "undirected": toy_graph(),
    "directed": toy_graph(directed=True),
    "weighted": toy_graph(weighted=True),
    "no features": toy_graph(num_features=None),
}
each_graph = pytest.mark.parametrize("kind", GRAPHS)


def build(graph: MessageGraph, **sections: Any) -> MaskedGraphAutoencoder:
    merged = {name: {**SMALL.get(name, {}), **given} for name, given in sections.items()}
    config = RunConfig(**{**SMALL, **merged})
    method = build_method(config, graph, Generators(0)["init"])
    assert isinstance(method, MaskedGraphAutoencoder)
    return method


def hidden_of(graph: MessageGraph, kind: str, ratio: float) -> HiddenEdges:
    mask = MASKS[kind].build(MaskSettings(kind=kind, ratio=ratio))
    return HiddenEdges.draw(graph, mask, torch.Generator().manual_seed(0))


def encoder_of(graph: MessageGraph, **settings: Any) -> Encoder:
    config = RunConfig(encoder={"hidden_channels": 4, **settings})
    assert config.encoder is not None
    with drawn_from(torch.Generator().manual_seed(0)):
        encoder: Encoder = ENCODERS[config.encoder.kind].build(config.encoder, graph)
    return encoder.eval()


def epoch(method: MaskedGraphAutoencoder, graph: MessageGraph, seed: int = 0) -> list[float]:
    return [float(loss.detach()) for loss, _ in method.losses(graph, Generators(seed))]


# Encoding


@each_graph
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("encoder", [entry.name for entry in ENCODERS])
def test_with_all_neighbors_the_seeds_are_encoded_as_in_the_whole_graph(
    encoder: str, depth: int, kind: str
) -> None:
    graph = GRAPHS[kind]
    sampler = neighbor_sampler(hidden_of(graph, "undirected", 0.0))
    seeds = torch.tensor([2, 7, 11])
    seen = sampler.sample(seeds, (99,) * depth, torch.Generator())
    module = encoder_of(graph, kind=encoder, num_layers=depth)
    expected = module(graph, None)
    for found, whole in zip(encode_seeds(module, graph, seen, None), expected, strict=True):
        torch.testing.assert_close(found, whole[seeds])


@pytest.mark.parametrize("inputs", ["features", "table", "one-hot"])
@pytest.mark.parametrize("sparse", [False, True])
def test_every_kind_of_input_gives_the_rows_of_its_nodes(inputs: str, sparse: bool) -> None:
    data = toy_graph()
    assert isinstance(data.x, Tensor)
    x = SparseMatrix.from_dense(data.x.clone()) if sparse else data.x
    graph = MessageGraph(data.edge_index, data.num_nodes, x)
    sampler = neighbor_sampler(hidden_of(graph, "undirected", 0.0))
    seen = sampler.sample(torch.tensor([4, 9]), (99, 99), torch.Generator())
    encoder = encoder_of(graph, inputs=inputs)
    expected = encoder(graph, None)[-1][[4, 9]]
    torch.testing.assert_close(encode_seeds(encoder, graph, seen, None)[-1], expected)


def test_a_mean_over_all_visible_neighbors_is_that_of_the_visible_graph() -> None:
    graph = toy_graph()
    hidden = hidden_of(graph, "undirected", 0.5)
    visible = graph.only(~hidden.is_hidden(torch.arange(graph.edge_index.size(1))))
    seeds = torch.arange(0, 20, 3)
    seen = neighbor_sampler(hidden).sample(seeds, (99, 99), torch.Generator())
    encoder = encoder_of(graph, kind="sage")
    for found, whole in zip(
        encode_seeds(encoder, graph, seen, None), encoder(visible, None), strict=True
    ):
        torch.testing.assert_close(found, whole[seeds])


def test_what_is_dropped_is_what_the_encoder_drops() -> None:
    graph = toy_graph()
    encoder = encoder_of(graph, num_layers=3, dropout=0.3, feature_dropout=0.2)
    sampler = neighbor_sampler(hidden_of(graph, "undirected", 0.0))
    # All nodes are seeds: the neighborhood is the graph, in its own order.
    seen = sampler.sample(torch.arange(20), (99,) * 3, torch.Generator())
    expected = encoder(graph, torch.Generator().manual_seed(5))
    found = encode_seeds(encoder, graph, seen, torch.Generator().manual_seed(5))
    torch.testing.assert_close(found, expected)


def test_a_node_that_is_not_seen_gets_no_gradient() -> None:
    graph = toy_graph(num_nodes=40, num_edges=40, num_features=None)
    sampler = neighbor_sampler(hidden_of(graph, "undirected", 0.5))
    seen = sampler.sample(torch.tensor([1, 2]), (2, 2), torch.Generator())
    encoder = encoder_of(graph, act="none")
    encode_seeds(encoder, graph, seen, None)[-1].sum().backward()
    assert encoder.inputs.table is not None
    assert encoder.inputs.table.grad is not None
    moved = encoder.inputs.table.grad.abs().sum(1).nonzero().squeeze(1)
    assert set(moved.tolist()) == set(seen.nodes.tolist())


# Steps


class Watched:
    """What the steps had to predict, and what their neighborhoods held."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[Neighborhood] = []
        self.targets: list[Tensor] = []
        sample, targets = NeighborSampler.sample, HiddenEdges.targets

        def watched_sample(sampler: NeighborSampler, *given: Any) -> Neighborhood:
            self.seen.append(sample(sampler, *given))
            return self.seen[-1]

        def watched_targets(hidden: HiddenEdges, *given: Any) -> Tensor:
            self.targets.append(targets(hidden, *given))
            return self.targets[-1]

        monkeypatch.setattr(NeighborSampler, "sample", watched_sample)
        monkeypatch.setattr(HiddenEdges, "targets", watched_targets)

    def visible(self) -> set[tuple[int, int]]:
        edges = [seen.nodes[seen.edge_index] for seen in self.seen]
        return set(map(tuple, torch.cat(edges, dim=1).t().tolist()))


@each_graph
@pytest.mark.parametrize("mask", ["undirected", "directed"])
def test_no_step_of_an_epoch_sees_a_target_of_any_step(
    mask: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = GRAPHS[kind]
    method, watched = build(graph, mask={"kind": mask}), Watched(monkeypatch)
    assert len(epoch(method, graph)) == len(watched.targets) > 1
    targets = set(map(tuple, torch.cat(watched.targets, dim=1).t().tolist()))
    back = {(v, u) for u, v in targets} if mask == "undirected" else set()
    assert watched.visible()
    assert not watched.visible() & (targets | back)
    assert watched.visible() <= set(map(tuple, graph.edge_index.t().tolist()))


@pytest.mark.parametrize("step_size", [1, 5, 27, 28, 1000])
def test_the_steps_cover_every_masked_edge_once(
    step_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched, graph = Watched(monkeypatch), toy_graph()  # 40 edges, 28 of them masked
    epoch(build(graph, train={"step_size": step_size}), graph)
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
@pytest.mark.parametrize("loss", ["bce", "sampled-softmax"])
def test_the_loss_is_that_of_the_whole_graph_where_all_is_seen(
    loss: str, graph: MessageGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    sections = {"encoder": {"kind": "sage", "dropout": 0.0}, "decoder": {"dropout": 0.0}}
    method = build(graph, loss={"kind": loss}, train={"fanouts": (99, 99)}, **sections)
    watched = Watched(monkeypatch)
    found = epoch(method, graph)
    hidden = HiddenEdges.draw(graph, method.mask, Generators(0)["mask"])
    visible = graph.only(~hidden.is_hidden(torch.arange(graph.edge_index.size(1))))
    layers, negatives = method.encoder(visible, None), NegativeSampler.of(graph)
    generators = Generators(0)
    for value, positives in zip(found, watched.targets, strict=True):
        expected = method.loss(method.decoder, layers, positives, negatives, generators, 64)
        assert value == pytest.approx(float(expected.detach()), rel=1e-5)


@each_graph
@pytest.mark.parametrize("norm", ["none", "batch", "layer"])
def test_every_parameter_gets_a_gradient(kind: str, norm: str) -> None:
    graph = GRAPHS[kind]
    method = build(graph, encoder={"norm": norm}, train={"step_size": 1000})
    next(method.losses(graph, Generators(0)))[0].backward()
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in method.parameters())
    weights = [p for name, p in method.named_parameters() if name.endswith("weight")]
    assert all(float(p.grad.abs().sum()) > 0 for p in weights if p.grad is not None)


def test_a_mapped_graph_gives_the_same_bits(tmp_path: Path) -> None:
    graph = toy_graph(weighted=True)
    write_mapped(graph, tmp_path)
    for mask in ("undirected", "directed"):
        method = build(graph, mask={"kind": mask})
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
        build(toy_graph(), train={"fanouts": fanouts})


def test_the_full_softmax_is_refused() -> None:
    assert "softmax" in LOSSES
    with pytest.raises(ConfigError, match=r"loss\.kind 'softmax' scores every node"):
        build(toy_graph(), loss={"kind": "softmax"})


def test_a_mask_that_hides_nothing_is_refused() -> None:
    graph = toy_graph()
    with pytest.raises(ConfigError, match=r"mask\.ratio 0\.0 hides no edge"):
        epoch(build(graph, mask={"ratio": 0.0}), graph)


@pytest.mark.parametrize("fanouts", [[], [0, 3], [5, -1]])
def test_fanouts_below_one_are_refused(fanouts: list[int]) -> None:
    with pytest.raises(ConfigError, match=r"train\.fanouts: must be integers ≥ 1, one for each"):
        RunConfig(train={"fanouts": fanouts})


def test_sampled_mode_has_a_step_size_of_its_own() -> None:
    assert RunConfig(train={"fanouts": [15, 10]}).train.step_size == 1024
    assert RunConfig(train={"fanouts": [15, 10], "step_size": None}).train.step_size == 1024
    assert RunConfig(train={"fanouts": [15, 10], "step_size": 7}).train.step_size == 7
    assert RunConfig().train.step_size is None


def test_fanouts_survive_the_configuration_file(tmp_path: Path) -> None:
    config = RunConfig(train={"fanouts": [15, 10]})
    (tmp_path / "config.toml").write_text(config.to_toml(), encoding="utf-8")
    assert RunConfig.from_toml(tmp_path / "config.toml") == config


# Training


def fit(graph: MessageGraph, folder: Path, stop_after: int | None = None) -> tuple[Any, Fit]:
    method = build(graph, encoder={"norm": "batch"}, train={"epochs": 4, "checkpoint_seconds": 0.0})

    def stop(record: EpochRecord) -> None:
        if record.epoch == stop_after:
            raise KeyboardInterrupt

    def validate() -> float:
        return float(sum(weight.detach().sum() for weight in method.parameters()))

    settings = method.config.train
    checkpoints, generators = Checkpoints(folder), Generators(0)
    return method, train(method, graph, settings, generators, validate, checkpoints, stop)


def test_going_on_gives_the_same_bits(tmp_path: Path) -> None:
    graph = toy_graph()
    whole, whole_fit = fit(graph, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        fit(graph, tmp_path / "broken", stop_after=2)
    resumed, resumed_fit = fit(graph, tmp_path / "broken")
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
    split = split_links(communities(), SplitSettings(), torch.Generator().manual_seed(0))
    wide = {"encoder": {"hidden_channels": 32}, "decoder": {"hidden_channels": 32}}
    steps = {"fanouts": (4, 3), "step_size": 128, "epochs": 25}
    method = build(split.message, train=steps, **wide)
    count = iter(range(25))  # a validation that always finds the last epoch the best
    train(method, split.message, method.config.train, Generators(0), lambda: float(next(count)))
    encoded = method.encode(split.message)
    learned = auc(*(method.score_links(encoded, pairs) for pairs in split.pairs("test")))
    x = split.message.x
    assert isinstance(x, Tensor)
    raw = auc(*((x[u] * x[v]).sum(1) for u, v in split.pairs("test")))
    assert learned > 0.8 > raw
