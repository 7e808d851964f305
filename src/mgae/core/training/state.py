"""What changes in a training: the optimizers' steps, and all that an epoch leaves to the next."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from itertools import islice
from statistics import fmean

import torch
from torch import Tensor, nn

from mgae.core.errors import TrainingError
from mgae.core.graph import CPU, MessageGraph
from mgae.core.methods.base import Method
from mgae.core.seeding import Generators
from mgae.core.training import distributed
from mgae.core.training.checkpoint import Snapshot


@dataclass(frozen=True)
class EpochRecord:
    """A line of the history; ``score`` is the validation metric, None if it was not measured."""

    epoch: int
    loss: float
    score: float | None


@dataclass(frozen=True)
class FitSettings:
    """How a training goes; `fit` says what each of them means.

    ``stop`` ends it after so many epochs; the schedule is that of all ``epochs`` all the same.
    """

    epochs: int = 200
    patience: int = 50
    learning_rate: float = 0.01
    weight_decay: float = 0.0
    clip: float = 1.0
    schedule: str = "constant"
    eval_every: int = 1
    budget: float | None = None
    max_steps: int | None = None
    average: float = 0.0
    stop: int | None = None


class Stepper:
    """One optimizer for each group of a method's parameters."""

    def __init__(
        self, method: Method, learning_rate: float, weight_decay: float = 0.0, clip: float = 1.0
    ) -> None:
        self.method, self.learning_rate, self.clip = method, learning_rate, clip
        self.groups, rates = method.parameter_groups(), method.learning_rates()
        self.optimizers = {
            name: torch.optim.Adam(
                [parameter for module in modules for parameter in module.parameters()],
                lr=rates.get(name, learning_rate),
                weight_decay=weight_decay,
                fused=True,
            )
            for name, modules in self.groups.items()
        }

    def scale_rates(self, factor: float) -> None:
        """Set each group's learning rate to ``factor`` times the one it began with."""
        for optimizer in self.optimizers.values():
            for group in optimizer.param_groups:
                group["lr"] = factor * optimizer.defaults["lr"]

    def step(self, loss: Tensor, group: str) -> Tensor:
        """Move one group of parameters down the gradient of a loss; on the CPU if it is finite.

        Of several ranks each gives the loss of its share; return the mean of all.
        """
        self.optimizers[group].zero_grad()
        loss.backward()
        mean = self.averaged(loss, group)
        if mean.device != CPU or math.isfinite(float(mean)):
            if self.clip:
                for module in self.groups[group]:
                    if parameters := list(module.parameters()):
                        nn.utils.clip_grad_norm_(parameters, self.clip)
            self.optimizers[group].step()
        return mean

    def averaged(self, loss: Tensor, group: str) -> Tensor:
        """Average a loss and the gradients of a group over all ranks; return the loss."""
        value = loss.detach().clone()
        parameters = (one for module in self.groups[group] for one in module.parameters())
        gradients = (one.grad for one in parameters if one.grad is not None)
        distributed.average([value, *gradients])
        return value


class RunningMean:
    """An exponential running mean of a method's parameters.

    In the first steps it decays faster, so that the random start is soon forgotten. Statistics of
    batch norm are those of the weights themselves.
    """

    def __init__(self, method: Method, decay: float) -> None:
        self.parameters, self.decay, self.steps = list(method.parameters()), decay, 0
        self.means = [one.detach().clone() for one in self.parameters]

    def follow(self) -> None:
        """Move towards the parameters, after a step."""
        self.steps += 1
        decay = min(self.decay, (1 + self.steps) / (10 + self.steps))
        for mean, now in zip(self.means, self.parameters, strict=True):
            mean.lerp_(now.detach(), 1 - decay)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Let the method have the means, and its own weights back afterwards."""
        own = [one.detach().clone() for one in self.parameters]
        self._put(self.means)
        try:
            yield
        finally:
            self._put(own)

    def state(self) -> dict[str, Tensor]:
        """Return the means by number, and the count of steps."""
        means = {str(index): mean.clone() for index, mean in enumerate(self.means)}
        return {**means, "steps": torch.tensor(self.steps)}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Take the means of `state` back."""
        self.steps = int(state["steps"])
        for index, mean in enumerate(self.means):
            mean.copy_(state[str(index)])

    @torch.no_grad()
    def _put(self, weights: list[Tensor]) -> None:
        for one, value in zip(self.parameters, weights, strict=True):
            one.copy_(value)


class State:
    """Everything that changes from epoch to epoch, and its way into a snapshot and back."""

    def __init__(
        self,
        stepper: Stepper,
        generators: Generators,
        settings: FitSettings,
        keep_last: bool = False,
    ) -> None:
        self.method, self.stepper, self.generators = stepper.method, stepper, generators
        self.settings, self.keep_last = settings, keep_last
        self.patience = settings.epochs if keep_last else settings.patience
        self.average = RunningMean(self.method, settings.average) if settings.average else None
        self.history: list[EpochRecord] = []
        self.best_epoch, self.best_score = 0, -math.inf
        self.best_weights = _copied(self.method.state_dict())
        self.seconds_before, self.started = 0.0, time.perf_counter()

    @property
    def finished(self) -> bool:
        """Out of epochs, of time or of patience."""
        tired = self._last_judged - self.best_epoch >= self.patience
        stop = self.settings.stop
        stopped = stop is not None and len(self.history) >= stop
        return self.progress >= 1 or stopped or (tired and self.best_epoch > 0)

    @property
    def progress(self) -> float:
        """The share of the epochs, or of the time if that is larger, that has passed."""
        epochs = len(self.history) / self.settings.epochs
        if self.settings.budget is None or not self.history:
            return epochs
        return max(epochs, distributed.agreed(self.seconds) / max(self.settings.budget, 1e-9))

    @property
    def seconds(self) -> float:
        """Since the training began, in this process and those before."""
        return self.seconds_before + time.perf_counter() - self.started

    @property
    def _last_judged(self) -> int:
        """The last epoch that could have been the best: not every one is validated."""
        scored = (record.epoch for record in reversed(self.history) if record.score is not None)
        return next(scored, len(self.history))

    def run_epoch(self, graph: MessageGraph) -> float:
        """Take all steps of one epoch; return the mean loss of group ``model``, or of all."""
        self.method.train()
        self.generators.fork(distributed.share())
        losses: list[Tensor] = []
        groups: list[str] = []
        steps = self.method.losses(graph, self.generators)
        for loss, group in islice(steps, self.settings.max_steps):
            losses.append(self.stepper.step(loss, group))
            if self.average is not None:
                self.average.follow()
            groups.append(group)
            if loss.device == CPU:  # elsewhere the question would wait for the device
                self._check_finite("loss", float(losses[-1]))
        distributed.average_norms(self.method)
        values = torch.stack(losses).cpu().tolist()  # at once: an epoch waits for its device here
        for value in values:
            self._check_finite("loss", value)
        shown = [value for value, group in zip(values, groups, strict=True) if group == "model"]
        return fmean(shown or values)

    def _check_finite(self, what: str, value: float) -> None:
        if not math.isfinite(value):
            raise TrainingError(
                f"the {what} is {value} in epoch {len(self.history) + 1}: lower "
                f"train.learning_rate from {self.stepper.learning_rate}, or scale the features"
            )

    def finish_epoch(self, loss: float, validate: Callable[[], float] | None) -> None:
        """Validate if it is time to, and keep the best weights."""
        epoch = len(self.history) + 1
        last = epoch == self.settings.epochs or self.is_out_of_time
        due = last or epoch % self.settings.eval_every == 0
        with nullcontext() if self.average is None else self.average.in_use():
            self._judge(epoch, loss, validate if due else None, validate is None)

    def _judge(
        self, epoch: int, loss: float, validate: Callable[[], float] | None, by_loss: bool
    ) -> None:
        """Validate the weights that are in use, if it is time to, and keep the best."""
        score = None if validate is None else distributed.agreed(validate())
        if score is not None:
            self._check_finite("validation score", score)
        self.history.append(EpochRecord(epoch, loss, score))
        merit = -loss if by_loss else score
        if self.keep_last and merit is None:
            merit = self.best_score
        if merit is not None and (merit > self.best_score or self.keep_last):
            self.best_epoch, self.best_score = epoch, merit
            self.best_weights = _copied(self.method.state_dict())

    @property
    def is_out_of_time(self) -> bool:
        """Whether the budget is spent."""
        budget = self.settings.budget
        return budget is not None and distributed.agreed(self.seconds) >= budget

    def snapshot(self) -> Snapshot:
        """Copy all that is needed to go on from here."""
        tensors = {f"best/{key}": value for key, value in self.best_weights.items()}
        tensors |= {f"method/{key}": v for key, v in _copied(self.method.state_dict()).items()}
        if self.average is not None:
            tensors |= {f"average/{key}": value for key, value in self.average.state().items()}
        tensors |= {f"generator/{key}": value for key, value in self.generators.state().items()}
        for name, optimizer in self.stepper.optimizers.items():
            for index, values in optimizer.state_dict()["state"].items():
                tensors |= {f"adam/{name}/{index}/{k}": v.clone() for k, v in values.items()}
        return Snapshot(
            tensors,
            {
                "history": [asdict(record) for record in self.history],
                "best_epoch": self.best_epoch,
                "best_score": None if self.best_epoch == 0 else self.best_score,
                "seconds": self.seconds,
            },
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Take everything back to a snapshot."""
        part = snapshot.part
        self.best_weights = part("best")
        if self.average is not None:
            self.average.restore(snapshot.part("average"))
        self.method.load_state_dict(part("method"))
        self.generators.restore(part("generator"))
        for name, optimizer in self.stepper.optimizers.items():
            state: dict[int, dict[str, Tensor]] = {}
            for key, value in part(f"adam/{name}").items():
                index, field_name = key.split("/")
                state.setdefault(int(index), {})[field_name] = value
            optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
        self.history = [EpochRecord(**record) for record in snapshot.facts["history"]]
        self.best_epoch = snapshot.facts["best_epoch"]
        self.seconds_before = snapshot.facts.get("seconds", 0.0)
        best_score = snapshot.facts["best_score"]
        self.best_score = -math.inf if best_score is None else best_score


def _copied(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in weights.items()}
