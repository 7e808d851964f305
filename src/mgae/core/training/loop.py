"""The training loop: the only one, and the only place where an optimizer steps."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from statistics import fmean
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from mgae.core.errors import RunDirectoryError, TrainingError, UnsupportedError
from mgae.core.graph import CPU, MessageGraph
from mgae.core.methods.base import Method, Stage
from mgae.core.methods.ondevice import device_of
from mgae.core.seeding import Generators
from mgae.core.training import distributed
from mgae.core.training.checkpoint import CheckpointStore, Snapshot
from mgae.core.training.device import Device, choose_device

if TYPE_CHECKING:
    from torch_geometric.data import Data

# A model picked up to here is hardly trained.
FIRST_EPOCHS = 5


@dataclass(frozen=True)
class EpochRecord:
    """A line of the history; ``score`` is the validation metric, None if it was not measured."""

    epoch: int
    loss: float
    score: float | None


OnEpoch = Callable[[EpochRecord], None]


@dataclass(frozen=True)
class Fit:
    """How a training went; the method holds the weights of ``best_epoch``.

    ``best_score`` is its validation score, or minus its loss if the loss picks the epoch;
    ``seconds_before`` went into epochs of a process that was stopped, ``seconds`` into all of them;
    ``planned`` is how many epochs the learning rate was planned for: no more than were run, if
    the time ran out first.
    """

    history: tuple[EpochRecord, ...]
    best_epoch: int
    best_score: float
    seconds_before: float = field(default=0.0, compare=False)
    seconds: float = field(default=0.0, compare=False)
    planned: int = field(default=0, compare=False)

    @property
    def epochs(self) -> int:
        """How many epochs were run."""
        return len(self.history)

    @property
    def is_hardly_trained(self) -> bool:
        """Whether the best epoch is close to the start."""
        return 0 < self.best_epoch <= FIRST_EPOCHS


def fit(
    method: Method,
    graph: MessageGraph | Data,
    *,
    epochs: int = 200,
    patience: int = 50,
    learning_rate: float = 0.01,
    weight_decay: float = 0.0,
    clip: float = 1.0,
    schedule: str = "constant",
    eval_every: int = 1,
    budget: float | None = None,
    max_steps: int | None = None,
    average: float = 0.0,
    validate: Callable[[], float] | None = None,
    generators: Generators | int = 0,
    checkpoints: CheckpointStore | None = None,
    on_epoch: OnEpoch = lambda record: None,
    device: Device | None = None,
) -> Fit:
    """Train until the patience or the epochs run out; then restore the best epoch's weights.

    Args:
        method: what to train.
        graph: the edges to learn from.
        epochs: at most so many.
        patience: epochs without a better score.
        learning_rate: of Adam.
        weight_decay: of Adam, its L2 penalty.
        clip: largest gradient norm of a module; 0: any.
        schedule: "constant", or "cosine": the rate falls to zero over the epochs.
        eval_every: epochs between two validations.
        budget: seconds after which no further epoch begins; the schedule follows them too.
        max_steps: of an epoch at most; the rest of it is left out.
        average: decay of a running mean of the weights, taken after each step; it is what is
            validated and kept. 0: the weights themselves.
        validate: returns the score that picks the epoch; without it the lowest loss does, and the
            weights are those that its step led to.
        generators: the named generators, or a seed for them.
        checkpoints: the training goes on from the newest one, and a training that is interrupted
            leaves one of the last whole epoch.
        on_epoch: called after each epoch, and for each one of a checkpoint.
        device: where to train, as "cuda" or "auto"; the method is moved there, and the graph
            copied. None: where the method is. A method that is not on the CPU afterwards answers
            for graphs and pairs on its device; `on_device` gives one that is asked from the CPU.

    Raises:
        ConfigError: if there is no such device.
        TrainingError: if a loss or a validation score is not finite.
        UnsupportedError: if the method is not one that trains.
    """
    if not method.trains:
        raise UnsupportedError(f"method {method.name!r} is not trained")
    graph = graph if isinstance(graph, MessageGraph) else MessageGraph.of(graph)
    if device is not None:
        method.move_to(choose_device(device))
    generators = Generators(generators) if isinstance(generators, int) else generators
    settings = {
        "epochs": epochs,
        "patience": patience,
        "learning_rate": learning_rate,
        "weight_decay": weight_decay,
        "clip": clip,
        "schedule": schedule,
        "eval_every": eval_every,
        "budget": budget,
        "max_steps": max_steps,
        "average": average,
    }
    started = time.perf_counter()
    *earlier, last = method.stages(graph, generators)
    for stage in earlier:  # short ones: a training that is resumed takes them again
        _run_stage(stage, graph, {**settings, "budget": None, **stage.settings}, generators)
    early = _agreed(time.perf_counter() - started)
    if budget is not None:
        settings["budget"] = max(0.0, budget - early)
    result = _run_stage(
        last, graph, {**settings, **last.settings}, generators, validate, checkpoints, on_epoch
    )
    method.eval()
    return replace(result, seconds=result.seconds + early)


def fit_again(
    method: Method,
    graph: MessageGraph,
    before: Fit,
    generators: Generators,
    checkpoints: CheckpointStore | None = None,
    **settings: Any,
) -> None:
    """Train a method's final stages on all edges, at the rates of ``settings``.

    As many epochs as the best one of the training ``before``, at the rates that these had then:
    the logits keep the scale that the rest of the method was fitted to. There is nothing left to
    validate on: the last weights are kept.

    Args:
        method: what was trained before.
        graph: all edges.
        before: how that training went.
        generators: fresh ones.
        checkpoints: the last stage goes on from the newest one.
        settings: arguments of `fit`; the budget is for this training alone.
    """
    usual = {"patience": 1, "eval_every": 1, "clip": 1.0, "schedule": "constant", "budget": None}
    epochs = {"epochs": max(1, before.planned), "stop": max(1, before.best_epoch)}
    started, device = time.perf_counter(), device_of(method)
    method.move_to(CPU)  # fresh weights are drawn there, the same for every device
    stages = method.final_stages(graph, generators)
    method.move_to(device)
    for stage in stages:
        chosen = {**usual, **settings, **epochs, **stage.settings}
        if chosen["budget"] is not None:
            early = _agreed(time.perf_counter() - started)
            chosen["budget"] = max(0.0, chosen["budget"] - early)
        store = checkpoints if stage is stages[-1] else None
        _run_stage(stage, graph, chosen, generators, checkpoints=store)
    method.eval()


def _run_stage(
    stage: Stage,
    graph: MessageGraph,
    settings: Mapping[str, Any],
    generators: Generators,
    validate: Callable[[], float] | None = None,
    checkpoints: CheckpointStore | None = None,
    on_epoch: OnEpoch = lambda record: None,
) -> Fit:
    """Train one stage to its end, and leave its method with the weights that count.

    Of several ranks the first one keeps the checkpoints.
    """
    method, epochs, schedule = stage.method, settings["epochs"], settings["schedule"]
    distributed.copy_from_first(method)
    if not method.trains_from_cpu:
        graph = graph.to(device_of(method))
    stepper = Stepper(method, settings["learning_rate"], settings["weight_decay"], settings["clip"])
    patience = epochs if stage.keep_last else settings["patience"]
    state = State(
        stepper,
        generators,
        epochs,
        patience,
        settings["eval_every"],
        stage.keep_last,
        settings["budget"],
        settings.get("stop"),
        settings.get("max_steps"),
        settings.get("average", 0.0),
    )
    saved = distributed.from_first(lambda: None if checkpoints is None else checkpoints.newest())
    if saved is not None:
        try:
            state.restore(saved)
        except (LookupError, ValueError, TypeError, RuntimeError, AttributeError) as error:
            reason = " ".join(str(error).split())[:200]
            raise RunDirectoryError(
                f"the checkpoint does not fit this training: {reason}"
            ) from None
        for record in state.history:
            on_epoch(record)
    try:
        while not state.finished:
            if schedule == "cosine":
                stepper.scale_rates((1 + math.cos(math.pi * state.progress)) / 2)
            loss = state.run_epoch(graph)
            state.finish_epoch(loss, validate)
            on_epoch(state.history[-1])
            if checkpoints is not None:
                checkpoints.keep(state.snapshot())
    except KeyboardInterrupt:
        if checkpoints is not None:
            checkpoints.write_kept()
        raise
    if checkpoints is not None:
        checkpoints.write_kept()
    method.load_state_dict(state.best_weights)
    return Fit(
        tuple(state.history),
        state.best_epoch,
        state.best_score,
        state.seconds_before,
        state.seconds,
        len(state.history) if state.is_out_of_time else epochs,
    )


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
        epochs: int,
        patience: int,
        eval_every: int,
        keep_last: bool = False,
        budget: float | None = None,
        stop: int | None = None,
        max_steps: int | None = None,
        average: float = 0.0,
    ) -> None:
        self.method, self.stepper, self.generators = stepper.method, stepper, generators
        self.epochs, self.patience, self.eval_every = epochs, patience, eval_every
        self.keep_last, self.budget, self.stop = keep_last, budget, stop
        self.max_steps = max_steps
        self.average = RunningMean(self.method, average) if average else None
        self.history: list[EpochRecord] = []
        self.best_epoch, self.best_score = 0, -math.inf
        self.best_weights = _copied(self.method.state_dict())
        self.seconds_before, self.started = 0.0, time.perf_counter()

    @property
    def finished(self) -> bool:
        """Out of epochs, of time or of patience."""
        tired = self._last_judged - self.best_epoch >= self.patience
        stopped = self.stop is not None and len(self.history) >= self.stop
        return self.progress >= 1 or stopped or (tired and self.best_epoch > 0)

    @property
    def progress(self) -> float:
        """The share of the epochs, or of the time if that is larger, that has passed."""
        epochs = len(self.history) / self.epochs
        if self.budget is None or not self.history:
            return epochs
        return max(epochs, _agreed(self.seconds) / max(self.budget, 1e-9))

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
        for loss, group in islice(self.method.losses(graph, self.generators), self.max_steps):
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
        due = epoch % self.eval_every == 0 or epoch == self.epochs or self.is_out_of_time
        with nullcontext() if self.average is None else self.average.in_use():
            self._judge(epoch, loss, validate if due else None, validate is None)

    def _judge(
        self, epoch: int, loss: float, validate: Callable[[], float] | None, by_loss: bool
    ) -> None:
        """Validate the weights that are in use, if it is time to, and keep the best."""
        score = None if validate is None else _agreed(validate())
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
        return self.budget is not None and _agreed(self.seconds) >= self.budget

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


def _agreed(value: float) -> float:
    """Return the first rank's value: ranks that differ in a last bit or a moment would part."""
    return distributed.from_first(lambda: value)


def _copied(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in weights.items()}
