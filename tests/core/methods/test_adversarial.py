"""ARGE and ARGVA: two losses, two groups, two rates."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import ARGA

from mgae.core import (
    BCE,
    AdversarialAutoencoder,
    AdversarialVariationalAutoencoder,
    InnerProduct,
)
from mgae.core.graph import MessageGraph
from mgae.core.methods.adversarial import Adversarial
from mgae.core.seeding import Generators, drawn_from
from mgae.core.training.state import Stepper
from tests.conftest import toy_graph
from tests.core.methods.small import encoder_of

KINDS = [AdversarialAutoencoder, AdversarialVariationalAutoencoder]
each_kind = pytest.mark.parametrize("kind", KINDS)


def build(kind: type[Adversarial], graph: MessageGraph, **options: Any) -> Adversarial:
    with drawn_from(Generators(0)["init"]):
        encoder = encoder_of(graph, dropout=0.0, act_last=False)
        return kind(encoder, InnerProduct(), BCE(), **options)


def stepper_of(method: Adversarial) -> Stepper:
    return Stepper(method, learning_rate=0.01)


@each_kind
def test_the_discriminator_comes_first_and_as_often_as_asked(kind: type[Adversarial]) -> None:
    graph = toy_graph()
    method = build(kind, graph, discriminator_steps=3)
    groups = [group for _, group in method.losses(graph, Generators(0))]
    assert groups == ["discriminator"] * 3 + ["model"]


@each_kind
def test_it_comes_before_every_step_of_the_model(kind: type[Adversarial]) -> None:
    graph = toy_graph()
    method = build(kind, graph, step_size=graph.pairs.size(1) // 2)
    groups = [group for _, group in method.losses(graph, Generators(0))]
    assert groups == ["discriminator", "model"] * (len(groups) // 2)
    assert len(groups) >= 4


@each_kind
def test_each_group_has_its_own_rate_and_its_own_parameters(kind: type[Adversarial]) -> None:
    method = build(kind, toy_graph(), discriminator_learning_rate=0.25)
    optimizers = stepper_of(method).optimizers
    rates = {group: optimizer.param_groups[0]["lr"] for group, optimizer in optimizers.items()}
    assert rates == {"model": 0.01, "discriminator": 0.25}
    moved = [p for optimizer in optimizers.values() for p in optimizer.param_groups[0]["params"]]
    assert len(moved) == len({id(p) for p in moved}) == len(list(method.parameters()))


@each_kind
def test_a_step_moves_its_own_group_only(kind: type[Adversarial]) -> None:
    graph = toy_graph()
    method = build(kind, graph)
    stepper = stepper_of(method)
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
    method = build(AdversarialAutoencoder, graph)
    layers, cost = method.represent(graph, Generators(0))
    twin = ARGA(torch.nn.Identity(), lambda z: method.discriminator(z, None))
    torch.testing.assert_close(cost, twin.reg_loss(layers[-1]))


def test_a_discriminator_that_knows_nothing_costs_two_logarithms_of_two() -> None:
    graph = toy_graph()
    method = build(AdversarialAutoencoder, graph)
    for parameter in method.discriminator.parameters():
        parameter.data.zero_()
    loss, group = next(iter(method.losses(graph, Generators(0))))
    assert group == "discriminator"
    assert loss.item() == pytest.approx(2 * math.log(2))


@each_kind
def test_the_discriminator_learns_to_tell_what_stands_still(kind: type[Adversarial]) -> None:
    graph = toy_graph()
    method = build(kind, graph, discriminator_steps=60, discriminator_learning_rate=0.02)
    stepper, losses = stepper_of(method), []
    for loss, group in method.losses(graph, Generators(0)):
        if group == "discriminator":
            losses.append(loss.item())
            stepper.step(loss, group)
    assert sum(losses[-5:]) < sum(losses[:5])


class Judge(nn.Module):
    """Gives fixed logits: for normal draws and for embeddings, or for embeddings alone."""

    def __init__(self, *logits: float) -> None:
        super().__init__()
        self.logits = torch.tensor(logits)

    def forward(self, rows: Tensor, generator: torch.Generator | None) -> Tensor:
        if len(self.logits) == 1:
            return self.logits.expand(len(rows))
        return self.logits[:, None].expand(rows.shape[:2])


@each_kind
def test_the_discriminator_is_to_take_draws_for_real_and_embeddings_for_fake(
    kind: type[Adversarial],
) -> None:
    graph, method = toy_graph(), build(kind, toy_graph())
    losses = []
    for logits in ((20.0, -20.0), (-20.0, 20.0)):
        method.discriminator = Judge(*logits)
        losses.append(float(method._discriminator_loss(graph, Generators(0))))
    assert losses == pytest.approx([0.0, 40.0], abs=1e-4)


@each_kind
def test_the_encoder_pays_for_embeddings_that_are_recognized(kind: type[Adversarial]) -> None:
    graph, method = toy_graph(), build(kind, toy_graph())
    costs = []
    for logit in (20.0, -20.0):
        method.discriminator = Judge(logit)
        _, cost = method.represent(graph, Generators(0))
        costs.append(float(cost))
    assert costs[1] - costs[0] == pytest.approx(20.0, abs=1e-4)
