from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from mgae.core.errors import TrainingError
from mgae.core.methods.base import Method, build_method
from mgae.core.seeding import Generators
from mgae.core.training import EpochRecord, Fit, train
from mgae.runs.checkpoints import Checkpoints
from mgae.data import MessageGraph
from mgae.runs.config import RunConfig
from mgae.runs.sections import TrainSettings
from tests.conftest import toy_graph


class Slide(Method):
    """One number that goes down by the gradient of its own value."""

    def __init__(self, losses: Callable[[Tensor], Tensor] = lambda weight: weight.sum()) -> None:
        super().__init__(RunConfig(), toy_graph())
        self.weight = nn.Parameter(torch.ones(1))
        self.loss_of = losses

    def losses(self, graph: MessageGraph, generators: Generators) -> Iterator[tuple[Tensor, str]]:
        yield self.loss_of(self.weight), "model"

    def encode(self, graph: MessageGraph) -> None: ...

    def score_links(self, encoded: None, pairs: Tensor) -> Tensor:
        return torch.zeros(pairs.size(1))


def fit(method: Method, scores: list[float], **settings: float) -> Fit:
    answers = iter(scores)
    return train(
        method, toy_graph(), TrainSettings(**settings), Generators(0), lambda: next(answers)
    )


def test_the_best_epochs_weights_come_back() -> None:
    method = Slide()
    result = fit(method, [1.0, 5.0, 3.0, 4.0], epochs=4, learning_rate=0.1)
    assert (result.best_epoch, result.best_score, result.epochs) == (2, 5.0, 4)
    # Adam's step is the learning rate while the gradient stays the same.
    assert float(method.weight) == pytest.approx(1 - 2 * 0.1, abs=1e-5)


def test_the_first_of_equal_epochs_wins() -> None:
    assert fit(Slide(), [2.0, 2.0, 2.0], epochs=3).best_epoch == 1


def test_patience_counts_epochs_since_the_best() -> None:
    result = fit(Slide(), [1.0, 2.0, 1.0, 1.0, 1.0, 9.0], epochs=100, patience=3)
    assert (result.epochs, result.best_epoch) == (5, 2)


def test_patience_waits_for_a_validation() -> None:
    # Best in epoch 4, validated again in 8: not given up in 6.
    result = fit(Slide(), [1.0, 2.0, 0.0, 9.0], epochs=100, eval_every=4, patience=2)
    assert (result.epochs, result.best_epoch) == (12, 8)
    assert fit(Slide(), [1.0, 0.0], epochs=100, eval_every=4, patience=2).epochs == 8


def test_validation_may_come_less_often_and_always_at_the_end() -> None:
    result = fit(Slide(), [1.0, 2.0, 3.0], epochs=5, eval_every=2)
    assert [record.score for record in result.history] == [None, 1.0, None, 2.0, 3.0]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stops_with_a_way_out(value: float) -> None:
    with pytest.raises(TrainingError, match=r"in epoch 1: lower train\.learning_rate from 0\.01"):
        fit(Slide(lambda weight: weight.sum() * value), [1.0])


def test_clipping_bounds_the_gradient() -> None:
    method = Slide(lambda weight: 1000 * weight.sum())
    fit(method, [1.0], epochs=1, clip=1.0)
    assert method.weight.grad is not None
    assert float(method.weight.grad) == pytest.approx(1.0, abs=1e-4)


def test_zero_means_no_clipping() -> None:
    method = Slide(lambda weight: 1000 * weight.sum())
    fit(method, [1.0], epochs=1, clip=0)
    assert method.weight.grad is not None
    assert float(method.weight.grad) == 1000.0


def test_each_group_has_its_own_optimizer() -> None:
    class Two(Slide):
        def __init__(self) -> None:
            super().__init__()
            self.left, self.right = nn.Linear(1, 1), nn.Linear(1, 1)

        def parameter_groups(self) -> dict[str, list[nn.Module]]:
            return {"left": [self.left], "right": [self.right]}

        def losses(
            self, graph: MessageGraph, generators: Generators
        ) -> Iterator[tuple[Tensor, str]]:
            both = self.left.weight.sum() + self.right.weight.sum()
            yield both, "left"

    method = Two()
    before = float(method.left.weight), float(method.right.weight)
    fit(method, [1.0], epochs=1)
    assert float(method.left.weight) != before[0]
    assert float(method.right.weight) == before[1]


def test_the_history_has_the_loss_of_the_model_and_not_of_its_opponent() -> None:
    class Opposed(Slide):
        def parameter_groups(self) -> dict[str, list[nn.Module]]:
            return {"model": [self], "opponent": [self]}

        def losses(
            self, graph: MessageGraph, generators: Generators
        ) -> Iterator[tuple[Tensor, str]]:
            for value, group in ((1.0, "model"), (2.0, "model"), (30.0, "opponent")):
                yield 0 * self.weight.sum() + value, group

    assert fit(Opposed(), [1.0], epochs=1).history[0].loss == 1.5


def test_a_group_may_learn_at_a_rate_of_its_own() -> None:
    class TwoRates(Slide):
        def __init__(self) -> None:
            super().__init__()
            self.slow, self.fast = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)

        def parameter_groups(self) -> dict[str, list[nn.Module]]:
            return {"slow": [self.slow], "fast": [self.fast]}

        def learning_rates(self) -> dict[str, float]:
            return {"fast": 0.5}

        def losses(
            self, graph: MessageGraph, generators: Generators
        ) -> Iterator[tuple[Tensor, str]]:
            yield self.slow.weight.sum(), "slow"
            yield self.fast.weight.sum(), "fast"

    method = TwoRates()
    before = method.slow.weight.item(), method.fast.weight.item()
    fit(method, [1.0], epochs=1, learning_rate=0.01)
    assert method.slow.weight.item() == pytest.approx(before[0] - 0.01, abs=1e-5)
    assert method.fast.weight.item() == pytest.approx(before[1] - 0.5, abs=1e-5)


def test_every_epoch_is_told() -> None:
    told: list[EpochRecord] = []
    settings = TrainSettings(epochs=3)
    train(Slide(), toy_graph(), settings, Generators(0), lambda: 1.0, on_epoch=told.append)
    assert [record.epoch for record in told] == [1, 2, 3]
    assert told[0].loss == 1.0


def test_without_a_validation_the_lowest_loss_picks_the_epoch() -> None:
    values = iter([3.0, 1.0, 2.0, 1.5, 4.0])
    method = Slide(lambda weight: weight.sum() * 0 + next(values))
    settings = TrainSettings(epochs=9, patience=3, eval_every=4)
    result = train(method, toy_graph(), settings, Generators(0), None)
    assert (result.best_epoch, result.best_score, result.epochs) == (2, -1.0, 5)
    assert all(record.score is None for record in result.history)


def test_the_lowest_loss_keeps_the_weights_that_its_step_led_to() -> None:
    values = iter([3.0, 1.0, 2.0])
    method = Slide(lambda weight: weight.sum() - weight.detach().sum() + next(values))
    settings = TrainSettings(epochs=3, learning_rate=0.1)
    assert train(method, toy_graph(), settings, Generators(0), None).best_epoch == 2
    assert float(method.weight) == pytest.approx(1 - 2 * 0.1, abs=1e-5)


def test_the_loss_picks_the_same_epoch_after_a_break(tmp_path: Path) -> None:
    def fit_for(epochs: int, folder: Path) -> Fit:
        config = RunConfig(method="gic", encoder={"hidden_channels": 4}, train={"epochs": epochs})
        method = build_method(config, toy_graph(), Generators(0)["init"])
        checkpoints = Checkpoints(folder)
        return train(method, toy_graph(), config.train, Generators(0), None, checkpoints)

    whole = fit_for(6, tmp_path / "whole")
    fit_for(3, tmp_path / "broken")
    assert fit_for(6, tmp_path / "broken") == whole
