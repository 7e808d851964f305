from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from mgae.core.encoders import GCN
from mgae.core.errors import TrainingError, UnsupportedError
from mgae.core.graph import MessageGraph
from mgae.core.methods import GraphInfoClust, Method, RawFeatures
from mgae.core.methods.base import Stage
from mgae.core.seeding import Generators, drawn_from
from mgae.core.training import EpochRecord, Fit, Snapshot, fit
from tests.conftest import toy_data, toy_graph


class Slide(Method):
    """One number that goes down by the gradient of its own value."""

    def __init__(self, losses: Callable[[Tensor], Tensor] = lambda weight: weight.sum()) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.loss_of = losses

    def losses(self, graph: MessageGraph, generators: Generators) -> Iterator[tuple[Tensor, str]]:
        yield self.loss_of(self.weight), "model"

    def encode(self, graph: MessageGraph) -> None: ...

    def score_links(self, encoded: None, pairs: Tensor) -> Tensor:
        return torch.zeros(pairs.size(1))


def scored(method: Method, scores: list[float], **options: Any) -> Fit:
    """Train with these scores as the validations' results."""
    answers = iter(scores)
    return fit(method, toy_graph(), validate=lambda: next(answers), **options)


def test_the_best_epochs_weights_come_back() -> None:
    method = Slide()
    result = scored(method, [1.0, 5.0, 3.0, 4.0], epochs=4, learning_rate=0.1)
    assert (result.best_epoch, result.best_score, result.epochs) == (2, 5.0, 4)
    # Adam's step is the learning rate while the gradient stays the same.
    assert float(method.weight) == pytest.approx(1 - 2 * 0.1, abs=1e-5)


def test_the_first_of_equal_epochs_wins() -> None:
    assert scored(Slide(), [2.0, 2.0, 2.0], epochs=3).best_epoch == 1


def test_patience_counts_epochs_since_the_best() -> None:
    result = scored(Slide(), [1.0, 2.0, 1.0, 1.0, 1.0, 9.0], epochs=100, patience=3)
    assert (result.epochs, result.best_epoch) == (5, 2)


def test_patience_waits_for_a_validation() -> None:
    # Best in epoch 4, validated again in 8: not given up in 6.
    result = scored(Slide(), [1.0, 2.0, 0.0, 9.0], epochs=100, eval_every=4, patience=2)
    assert (result.epochs, result.best_epoch) == (12, 8)
    assert scored(Slide(), [1.0, 0.0], epochs=100, eval_every=4, patience=2).epochs == 8


def test_validation_may_come_less_often_and_always_at_the_end() -> None:
    result = scored(Slide(), [1.0, 2.0, 3.0], epochs=5, eval_every=2)
    assert [record.score for record in result.history] == [None, 1.0, None, 2.0, 3.0]


def test_out_of_time_the_epoch_that_has_begun_is_validated_and_is_the_last() -> None:
    result = scored(Slide(), [1.0], epochs=100, eval_every=50, budget=1e-9)
    assert [record.score for record in result.history] == [1.0]
    assert scored(Slide(), [1.0] * 5, epochs=5, budget=3600.0).epochs == 5


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stops_with_a_way_out(value: float) -> None:
    with pytest.raises(TrainingError, match=r"in epoch 1: lower train\.learning_rate from 0\.01"):
        scored(Slide(lambda weight: weight.sum() * value), [1.0])


def test_clipping_bounds_the_gradient() -> None:
    method = Slide(lambda weight: 1000 * weight.sum())
    scored(method, [1.0], epochs=1, clip=1.0)
    assert method.weight.grad is not None
    assert float(method.weight.grad) == pytest.approx(1.0, abs=1e-4)


def test_zero_means_no_clipping() -> None:
    method = Slide(lambda weight: 1000 * weight.sum())
    scored(method, [1.0], epochs=1, clip=0)
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
    scored(method, [1.0], epochs=1)
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

    assert scored(Opposed(), [1.0], epochs=1).history[0].loss == 1.5


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
    scored(method, [1.0], epochs=1, learning_rate=0.01)
    assert method.slow.weight.item() == pytest.approx(before[0] - 0.01, abs=1e-5)
    assert method.fast.weight.item() == pytest.approx(before[1] - 0.5, abs=1e-5)


def test_every_epoch_is_reported() -> None:
    records: list[EpochRecord] = []
    scored(Slide(), [1.0] * 3, epochs=3, on_epoch=records.append)
    assert [record.epoch for record in records] == [1, 2, 3]
    assert records[0].loss == 1.0


def test_without_a_validation_the_lowest_loss_picks_the_epoch() -> None:
    values = iter([3.0, 1.0, 2.0, 1.5, 4.0])
    method = Slide(lambda weight: weight.sum() * 0 + next(values))
    result = fit(method, toy_graph(), epochs=9, patience=3, eval_every=4)
    assert (result.best_epoch, result.best_score, result.epochs) == (2, -1.0, 5)
    assert all(record.score is None for record in result.history)


def test_the_lowest_loss_keeps_the_weights_that_its_step_led_to() -> None:
    values = iter([3.0, 1.0, 2.0])
    method = Slide(lambda weight: weight.sum() - weight.detach().sum() + next(values))
    assert fit(method, toy_graph(), epochs=3, learning_rate=0.1).best_epoch == 2
    assert float(method.weight) == pytest.approx(1 - 2 * 0.1, abs=1e-5)


class InMemory:
    """Keeps every snapshot, as the files of a run would."""

    def __init__(self) -> None:
        self.snapshots: list[Snapshot] = []
        self.written: Snapshot | None = None

    def newest(self) -> Snapshot | None:
        return self.written

    def keep(self, snapshot: Snapshot) -> None:
        self.snapshots.append(snapshot)

    def write_kept(self) -> None:
        self.written = self.snapshots[-1]


def test_the_loss_picks_the_same_epoch_after_a_break() -> None:
    def trained(values: list[float], epochs: int, checkpoints: InMemory) -> tuple[Fit, float]:
        losses = iter(values)
        method = Slide(lambda weight: weight.sum() - weight.detach().sum() + next(losses))
        result = fit(method, toy_graph(), epochs=epochs, patience=4, checkpoints=checkpoints)
        return result, method.weight.item()

    whole, broken_off = trained([2.0, 1.0, 3.0, 4.0, 5.0, 6.0], 9, InMemory()), InMemory()
    assert (whole[0].best_epoch, whole[0].best_score, whole[0].epochs) == (2, -1.0, 6)
    assert trained([2.0, 1.0, 3.0], 3, broken_off) != whole
    assert trained([4.0, 5.0, 6.0], 9, broken_off) == whole


def test_a_kept_snapshot_does_not_follow_the_training() -> None:
    checkpoints = InMemory()
    scored(Slide(), [1.0, 2.0, 3.0], epochs=3, learning_rate=0.1, checkpoints=checkpoints)
    for part in ("method", "best"):
        weights = [snapshot.part(part)["weight"].item() for snapshot in checkpoints.snapshots]
        assert weights == pytest.approx([0.9, 0.8, 0.7], abs=1e-5)
    assert [len(snapshot.facts["history"]) for snapshot in checkpoints.snapshots] == [1, 2, 3]


def test_what_does_not_train_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="is not trained"):
        fit(RawFeatures(), toy_graph(), epochs=1)


def test_a_seed_stands_for_its_generators_and_data_for_its_message_graph() -> None:
    def fit_with(graph: Any, generators: Any) -> Fit:
        with drawn_from(Generators(0)["init"]):
            method = GraphInfoClust(GCN(6, 4), num_nodes=20)
        return fit(method, graph, epochs=2, generators=generators)

    whole = fit_with(toy_graph(), Generators(3))
    assert fit_with(toy_data(), 3) == whole
    assert fit_with(toy_data(), 4) != whole


@pytest.mark.parametrize("validated", [True, False])
def test_every_epoch_begins_in_training_mode(validated: bool) -> None:
    class Moody(Slide):
        """Records the mode that each epoch begins in."""

        def __init__(self) -> None:
            super().__init__()
            self.child, self.modes = nn.Dropout(), list[tuple[bool, bool]]()

        def losses(
            self, graph: MessageGraph, generators: Generators
        ) -> Iterator[tuple[Tensor, str]]:
            self.modes.append((self.training, self.child.training))
            yield from super().losses(graph, generators)

    method = Moody().eval()

    def evaluate(record: EpochRecord | None = None) -> float:
        method.eval()
        return 1.0

    hook: dict[str, Any] = {"validate" if validated else "on_epoch": evaluate}
    fit(method, toy_graph(), epochs=3, **hook)
    assert method.modes == [(True, True)] * 3


def test_a_trained_method_is_in_evaluation_mode() -> None:
    method = Slide()
    fit(method, toy_graph(), epochs=2)
    assert not method.training


def test_batch_norm_goes_on_learning_after_an_evaluation() -> None:
    class Normed(Slide):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(6)

        def losses(
            self, graph: MessageGraph, generators: Generators
        ) -> Iterator[tuple[Tensor, str]]:
            yield self.norm(graph.x).square().mean() + self.weight.sum(), "model"

        def encode(self, graph: MessageGraph) -> None:
            self.eval()

    method = Normed()
    graph, scores = toy_graph(), iter([1.0, 2.0, 3.0])

    def validate() -> float:
        method.encode(graph)
        return next(scores)

    fit(method, graph, epochs=3, validate=validate)
    assert int(method.norm.num_batches_tracked) == 3


class TwoStages(Slide):
    """One number after the other, each with a loop of its own."""

    def __init__(self, keep_last: bool = False) -> None:
        super().__init__()
        self.first, self.second, self.keep_last = Slide(), Slide(), keep_last

    def stages(self, graph: MessageGraph, generators: Generators) -> list[Stage]:
        shorter = {"epochs": 3, "learning_rate": 0.2}
        return [Stage(self.first, shorter), Stage(self.second, keep_last=self.keep_last)]


def test_each_stage_has_its_own_settings_and_the_last_one_counts() -> None:
    method, records, checkpoints = TwoStages(), list[EpochRecord](), InMemory()
    result = scored(
        method,
        [1.0, 9.0, 2.0, 3.0],
        epochs=4,
        learning_rate=0.1,
        on_epoch=records.append,
        checkpoints=checkpoints,
    )
    # The first one goes three steps of 0.2 by its loss; validation picks epoch 2 of the second.
    assert float(method.first.weight) == pytest.approx(1 - 3 * 0.2, abs=1e-5)
    assert float(method.second.weight) == pytest.approx(1 - 2 * 0.1, abs=1e-5)
    assert float(method.weight) == 1
    assert (result.epochs, result.best_epoch) == (4, 2)
    assert list(result.history) == records
    # The first one leaves no checkpoint: a training that is resumed takes it again.
    assert len(checkpoints.snapshots) == 4
    assert all({*snapshot.part("method")} == {"weight"} for snapshot in checkpoints.snapshots)
    assert not any(module.training for module in method.modules())


def test_a_stage_may_keep_its_last_weights_whatever_the_validation_says() -> None:
    method = TwoStages(keep_last=True)
    scores = [9.0, 1.0, 2.0]
    result = scored(method, scores, epochs=6, eval_every=2, patience=1, learning_rate=0.1)
    assert (result.epochs, result.best_epoch, result.best_score) == (6, 6, 2.0)
    assert float(method.second.weight) == pytest.approx(1 - 6 * 0.1, abs=1e-5)
    assert [record.score for record in result.history] == [None, 9.0, None, 1.0, None, 2.0]


@pytest.mark.parametrize("keep_last", [False, True])
def test_stages_go_on_to_the_same_bits_after_a_break(keep_last: bool) -> None:
    def trained(
        scores: list[float], checkpoints: InMemory, stop_after: int | None = None
    ) -> tuple[Fit, dict[str, Tensor]]:
        def stop(record: EpochRecord) -> None:
            if record.epoch == stop_after:
                raise KeyboardInterrupt

        method = TwoStages(keep_last)
        result = scored(method, scores, epochs=6, checkpoints=checkpoints, on_epoch=stop)
        return result, method.state_dict()

    scores, broken_off = [1.0, 5.0, 2.0, 3.0, 4.0, 0.0], InMemory()
    whole = trained(scores, InMemory())
    with pytest.raises(KeyboardInterrupt):
        trained(scores, broken_off, stop_after=4)
    # The fourth epoch was not whole: it is run again.
    resumed = trained(scores[3:], broken_off)
    assert resumed[0] == whole[0]
    assert whole[0].best_epoch == (6 if keep_last else 2)
    assert all(torch.equal(resumed[1][key], value) for key, value in whole[1].items())


def test_the_running_mean_is_what_is_validated_and_kept() -> None:
    method, weights = Slide(), []

    def validate() -> float:
        weights.append(float(method.weight))
        return float(len(weights))

    fit(method, toy_graph(), validate=validate, epochs=3, learning_rate=0.1, average=0.9)
    mean, now = 1.0, 1.0
    for step in (1, 2, 3):
        now -= 0.1
        decay = (1 + step) / (10 + step)  # below 0.9 for long
        mean = decay * mean + (1 - decay) * now
        assert weights[step - 1] == pytest.approx(mean, abs=1e-5)
    assert float(method.weight) == pytest.approx(mean, abs=1e-5)


def test_the_running_mean_goes_on_after_a_break() -> None:
    def trained(scores: list[float], epochs: int, checkpoints: InMemory) -> float:
        method = Slide()
        scored(method, scores, epochs=epochs, average=0.5, checkpoints=checkpoints)
        return method.weight.item()

    broken_off = InMemory()
    whole = trained([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 6, InMemory())
    assert trained([1.0, 2.0, 3.0], 3, broken_off) != whole
    assert trained([4.0, 5.0, 6.0], 6, broken_off) == whole
