"""Configured parts: the limits of their settings, and what is built from them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from mgae.core.encoders import ACTIVATIONS, GAT, GCN, GIN, SAGE, EmbeddingTable, NodeFeatures
from mgae.core.encoders.base import NORMS
from mgae.core.errors import ConfigError
from mgae.core.graph import MessageGraph
from mgae.registry import ENCODERS, LOSSES
from mgae.runs.build import build_encoder, build_method
from mgae.runs.config import RunConfig
from mgae.runs.parts import EncoderSettings, MaskSettings, PathSettings
from tests.conftest import toy_graph


def encoder_of(graph: MessageGraph, **options: Any) -> GCN:
    encoder = build_encoder(EncoderSettings(kind="gcn", hidden_channels=5, **options), graph)
    assert isinstance(encoder, GCN)
    return encoder


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


# Limits


@pytest.mark.parametrize("ratio", [-0.1, 1.0, 1.2])
def test_a_ratio_outside_its_limits_is_refused_by_name(ratio: float) -> None:
    with pytest.raises(ConfigError, match=rf"mask\.ratio must be .*\[0, 1\), got {ratio}"):
        MaskSettings(kind="undirected", ratio=ratio)


def test_a_walk_of_no_edge_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"mask\.walk_length must be an integer ≥ 1, got 0"):
        PathSettings(kind="path", walk_length=0)


@pytest.mark.parametrize("kind", ["bce", "sampled-softmax"])
def test_less_than_one_negative_is_refused(kind: str) -> None:
    with pytest.raises(ConfigError, match=r"loss\.num_negatives"):
        LOSSES[kind].settings(kind=kind, num_negatives=0)


def test_heads_that_do_not_share_out_the_width_are_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"hidden_channels must be a multiple of encoder\.heads 4"
    ):
        RunConfig(encoder={"kind": "gat", "hidden_channels": 6})


@pytest.mark.parametrize(("setting", "known"), [("act", ACTIVATIONS), ("norm", NORMS)])
def test_every_name_that_the_core_knows_can_be_set(
    setting: str, known: dict[str, type[nn.Module]]
) -> None:
    literal: Any = EncoderSettings.model_fields[setting].annotation
    assert set(literal.__args__) == set(known)


# Building


def test_the_registry_names_the_classes() -> None:
    classes = {"gcn": GCN, "sage": SAGE, "gin": GIN, "gat": GAT}
    assert {name: ENCODERS[name].build for name in classes} == classes
    for name, built in classes.items():
        settings = ENCODERS[name].settings(kind=name, hidden_channels=8)
        assert type(build_encoder(settings, toy_graph())) is built


def test_auto_inputs_are_the_features_if_there_are_any() -> None:
    graph = toy_graph()
    auto, features = encoder_of(graph), encoder_of(graph, inputs="features")
    assert type(auto.inputs) is type(features.inputs) is NodeFeatures
    auto.load_state_dict(features.state_dict())
    assert torch.equal(auto(graph, None)[-1], features(graph, None)[-1])


def test_auto_inputs_are_a_learned_table_without_features() -> None:
    inputs = encoder_of(toy_graph(num_features=None)).inputs
    assert isinstance(inputs, EmbeddingTable)
    assert isinstance(inputs.table, nn.Parameter)
    assert inputs.table.shape == (20, 5)


def test_features_that_are_not_there_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"encoder\.inputs"):
        encoder_of(toy_graph(num_features=None), inputs="features")


@pytest.mark.parametrize("kind", ENCODERS.names())
@pytest.mark.parametrize("inputs", ["features", "table", "one-hot"])
def test_building_and_running_leave_the_global_generator_alone(kind: str, inputs: str) -> None:
    graph = toy_graph()
    config = RunConfig(encoder={"kind": kind, "inputs": inputs, "feature_dropout": 0.5})
    before = torch.random.get_rng_state()
    method: Any = build_method(config, graph, seeded())
    method.encoder(graph, seeded(1))
    method.encoder(graph, None)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_building_does_not_depend_on_the_global_generator() -> None:
    graph = toy_graph()
    weights = []
    with torch.random.fork_rng(devices=[]):
        for seed in (0, 1):
            torch.manual_seed(seed)
            weights.append(build_method(RunConfig(), graph, seeded()).state_dict())
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
