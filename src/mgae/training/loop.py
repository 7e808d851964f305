"""The training loop: the one place where an optimizer steps."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

import torch
from torch import Tensor, nn

from mgae.errors import TrainingError, UnsupportedError
from mgae.graphs.message import MessageGraph
from mgae.methods.base import Method
from mgae.sections import TrainSettings
from mgae.seeding import Generators
from mgae.training.checkpoint import Checkpoints, Snapshot


@dataclass(frozen=True)
class EpochRecord:
    """A line of the history; ``score`` is the validation metric, None where it was not taken."""

    epoch: int
    loss: float
    score: float | None


@dataclass(frozen=True)
class Fit:
    """How a training went; the method holds the weights of ``best_epoch``.

    ``best_score`` is its validation score, or its loss with a minus where the loss picks;
    ``seconds_before`` went into epochs of a process that was broken off.
    """

    history: tuple[EpochRecord, ...]
    best_epoch: int
    best_score: float
    seconds_before: float = field(default=0.0, compare=False)

    @property
    def epochs(self) -> int:
        """How many epochs were run."""
        return len(self.history)


OnEpoch = Callable[[EpochRecord], None]


def train(
    method: Method,
    graph: MessageGraph,
    settings: TrainSettings,
    generators: Generators,
    validate: Callable[[], float] | None,
    checkpoints: Checkpoints | None = None,
    on_epoch: OnEpoch = lambda record: None,
) -> Fit:
    """Train until the patience or the epochs run out; then restore the best epoch's weights.

    ``validate`` gives the score that picks the epoch; without it the lowest loss does.
    With ``checkpoints`` the training goes on from the newest one, and a training that is broken
    off leaves one of the last whole epoch.

    Raises:
        TrainingError: where a loss or a validation score is not finite.
        UnsupportedError: where the method is not one that trains.
    """
    if not method.trains:
        raise UnsupportedError(f"method {method.name!r} is not trained")
    state = _State(method, settings, generators)
    if checkpoints is not None and (saved := checkpoints.newest()) is not None:
        state.restore(saved)
        for record in state.history:
            on_epoch(record)
    snapshot = state.snapshot()
    try:
        while not state.finished:
            loss = state.run_epoch(graph)
            state.finish_epoch(loss, validate)
            on_epoch(state.history[-1])
            snapshot = state.snapshot()
            if checkpoints is not None:
                checkpoints.maybe_write(snapshot, settings.checkpoint_seconds)
    except KeyboardInterrupt:
        if checkpoints is not None:
            checkpoints.write(snapshot)
        raise
    if checkpoints is not None:
        checkpoints.write(snapshot)
    method.load_state_dict(state.best_weights)
    method.eval()
    return Fit(tuple(state.history), state.best_epoch, state.best_score, state.seconds_before)


class Stepper:
    """The one place where an optimizer steps."""

    def __init__(self, method: Method, settings: TrainSettings) -> None:
        self.clip = settings.clip
        self.groups, rates = method.parameter_groups(), method.learning_rates()
        self.optimizers = {
            name: torch.optim.Adam(
                [parameter for module in modules for parameter in module.parameters()],
                lr=rates.get(name, settings.learning_rate),
                weight_decay=settings.weight_decay,
                fused=True,
            )
            for name, modules in self.groups.items()
        }

    def step(self, loss: Tensor, group: str) -> None:
        """Move one group of parameters down the gradient of a loss."""
        optimizer = self.optimizers[group]
        optimizer.zero_grad()
        loss.backward()
        if self.clip:
            for module in self.groups[group]:
                if parameters := list(module.parameters()):
                    nn.utils.clip_grad_norm_(parameters, self.clip)
        optimizer.step()


class _State:
    """Everything that changes from epoch to epoch."""

    def __init__(self, method: Method, settings: TrainSettings, generators: Generators) -> None:
        self.method, self.settings, self.generators = method, settings, generators
        self.stepper = Stepper(method, settings)
        self.history: list[EpochRecord] = []
        self.best_epoch, self.best_score = 0, -math.inf
        self.best_weights = _copied(method.state_dict())
        self.seconds_before, self.started = 0.0, time.perf_counter()

    @property
    def finished(self) -> bool:
        """Out of epochs or out of patience."""
        epoch = len(self.history)
        tired = epoch - self.best_epoch >= self.settings.patience and self.best_epoch > 0
        return epoch >= self.settings.epochs or tired

    def run_epoch(self, graph: MessageGraph) -> float:
        """All steps of one epoch; the mean loss."""
        self.method.train()
        losses = []
        for loss, group in self.method.losses(graph, self.generators):
            losses.append(float(loss.detach()))
            self._check_finite("loss", losses[-1])
            self.stepper.step(loss, group)
        return sum(losses) / len(losses)

    def _check_finite(self, what: str, value: float) -> None:
        if not math.isfinite(value):
            raise TrainingError(
                f"the {what} is {value} in epoch {len(self.history) + 1}: lower "
                f"train.learning_rate from {self.settings.learning_rate}, or scale the features"
            )

    def finish_epoch(self, loss: float, validate: Callable[[], float] | None) -> None:
        """Validate where it is time to, and keep the best weights."""
        epoch = len(self.history) + 1
        due = epoch % self.settings.eval_every == 0 or epoch == self.settings.epochs
        score = validate() if validate is not None and due else None
        if score is not None:
            self._check_finite("validation score", score)
        self.history.append(EpochRecord(epoch, loss, score))
        merit = -loss if validate is None else score
        if merit is not None and merit > self.best_score:
            self.best_epoch, self.best_score = epoch, merit
            self.best_weights = _copied(self.method.state_dict())

    def snapshot(self) -> Snapshot:
        """A copy of all that is needed to go on from here."""
        tensors = {f"best/{key}": value for key, value in self.best_weights.items()}
        tensors |= {f"method/{key}": v for key, v in _copied(self.method.state_dict()).items()}
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
                "seconds": self.seconds_before + time.perf_counter() - self.started,
            },
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Take everything back to a snapshot."""
        part = snapshot.part
        self.best_weights = part("best")
        self.method.load_state_dict(part("method"))
        self.generators.restore(part("generator"))
        for name, optimizer in self.stepper.optimizers.items():
            state: dict[int, dict[str, Tensor]] = {}
            for key, value in part(f"adam/{name}").items():
                index, part_of_it = key.split("/")
                state.setdefault(int(index), {})[part_of_it] = value
            optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
        self.history = [EpochRecord(**record) for record in snapshot.facts["history"]]
        self.best_epoch = snapshot.facts["best_epoch"]
        self.seconds_before = snapshot.facts.get("seconds", 0.0)
        best_score = snapshot.facts["best_score"]
        self.best_score = -math.inf if best_score is None else best_score


def _copied(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in weights.items()}
