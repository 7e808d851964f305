"""ARGE and ARGVA: two losses, two groups, two rates."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import ARGA

from mgae.core.masks import MaskedEdges
from mgae.runs.build import build_method
from mgae.core.methods.adversarial import Adversarial
from mgae.core.seeding import Generators
from mgae.core.training.loop import Stepper
from mgae.data import MessageGraph
from mgae.runs.config import RunConfig
from tests.conftest import toy_graph

NAMES = ["arge", "argva"]


def build(name: str, graph: MessageGraph, **method: Any) -> Adversarial:
    config = RunConfig(
        method={"kind": name, **method}, encoder={"hidden_channels": 4, "dropout": 0.0}
    )
    built = build_method(config, graph, Generators(0)["init"])
    assert isinstance(built, Adversarial)
    return built


@pytest.mark.parametrize("name", NAMES)
def test_the_discriminator_comes_first_and_as_often_as_asked(name: str) -> None:
    graph = toy_graph()
    method = build(name, graph, discriminator_steps=3)
    groups = [group for _, group in method.losses(graph, Generators(0))]
    assert groups == ["discriminator"] * 3 + ["model"]


@pytest.mark.parametrize("name", NAMES)
def test_it_comes_before_every_step_of_the_model(name: str) -> None:
    graph = toy_graph()
    config = RunConfig(method=name, train={"step_size": graph.pairs.size(1) // 2})
    method = build_method(config, graph, Generators(0)["init"])
    groups = [group for _, group in method.losses(graph, Generators(0))]
    assert groups == ["discriminator", "model"] * (len(groups) // 2)
    assert len(groups) >= 4


@pytest.mark.parametrize("name", NAMES)
def test_each_group_has_its_own_rate_and_its_own_parameters(name: str) -> None:
    method = build(name, toy_graph(), discriminator_learning_rate=0.25)
    optimizers = Stepper(method, method.config.train).optimizers
    rates = {group: optimizer.param_groups[0]["lr"] for group, optimizer in optimizers.items()}
    assert rates == {"model": 0.01, "discriminator": 0.25}
    held = [p for optimizer in optimizers.values() for p in optimizer.param_groups[0]["params"]]
    assert len(held) == len({id(p) for p in held}) == len(list(method.parameters()))


@pytest.mark.parametrize("name", NAMES)
def test_a_step_moves_its_own_group_only(name: str) -> None:
    graph = toy_graph()
    method = build(name, graph)
    stepper = Stepper(method, method.config.train)
    for loss, group in method.losses(graph, Generators(0)):
        before = {key: value.clone() for key, value in method.named_parameters()}
        stepper.step(loss, group)
        moved = {
            key for key, value in method.named_parameters() if not torch.equal(value, before[key])
        }
        assert moved
        assert {key.startswith("discriminator") for key in moved} == {group == "discriminator"}


def test_the_losses_are_pygs() -> None:
    graph = toy_graph()
    method = build("arge", graph)
    edges = method.divide(graph, torch.Generator().manual_seed(0))
    layers, cost = method.represent(edges, Generators(0))
    twin = ARGA(torch.nn.Identity(), lambda z: method.discriminator(z, None))
    torch.testing.assert_close(cost, twin.reg_loss(layers[-1]))


def test_a_discriminator_that_knows_nothing_costs_two_logarithms_of_two() -> None:
    graph = toy_graph()
    method = build("arge", graph)
    for parameter in method.discriminator.parameters():
        parameter.data.zero_()
    loss, group = next(iter(method.losses(graph, Generators(0))))
    assert group == "discriminator"
    assert loss.item() == pytest.approx(2 * math.log(2))


@pytest.mark.parametrize("name", NAMES)
def test_the_discriminator_learns_to_tell_what_stands_still(name: str) -> None:
    graph = toy_graph()
    method = build(name, graph, discriminator_steps=60, discriminator_learning_rate=0.02)
    stepper, losses = Stepper(method, method.config.train), []
    for loss, group in method.losses(graph, Generators(0)):
        if group == "discriminator":
            losses.append(loss.item())
            stepper.step(loss, group)
    assert sum(losses[-5:]) < sum(losses[:5])


class Judge(nn.Module):
    """Says what it was told to: of normal draws and of embeddings, or of embeddings alone."""

    def __init__(self, *verdicts: float) -> None:
        super().__init__()
        self.verdicts = verdicts

    def forward(self, seen: Tensor, generator: torch.Generator | None) -> Tensor:
        told = torch.tensor(self.verdicts)
        return told[0].expand(len(seen)) if len(told) == 1 else told[:, None].expand(seen.shape[:2])


@pytest.mark.parametrize("name", NAMES)
def test_the_discriminator_is_to_take_draws_for_real_and_embeddings_for_fake(name: str) -> None:
    graph, method = toy_graph(), build(name, toy_graph())
    found = []
    for verdicts in ((20.0, -20.0), (-20.0, 20.0)):
        method.discriminator = Judge(*verdicts)
        found.append(float(method._discriminator_loss(graph, Generators(0))))
    assert found == pytest.approx([0.0, 40.0], abs=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_the_encoder_pays_for_embeddings_that_are_seen_through(name: str) -> None:
    graph, method = toy_graph(), build(name, toy_graph())
    costs = []
    for verdict in (20.0, -20.0):
        method.discriminator = Judge(verdict)
        _, cost = method.represent(MaskedEdges(graph, graph.edge_index), Generators(0))
        costs.append(float(cost))
    assert costs[1] - costs[0] == pytest.approx(20.0, abs=1e-4)
