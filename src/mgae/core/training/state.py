"""Everything that changes from epoch to epoch, and its way into a checkpoint and back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import fmean

from torch import Tensor

from mgae.core.errors import TrainingError
from mgae.core.graph import MessageGraph
from mgae.core.methods.base import Method
from mgae.core.seeding import Generators
from mgae.core.training.checkpoint import Snapshot
from mgae.core.training.stepper import Stepper
from mgae.runs.sections import TrainSettings


@dataclass(frozen=True)
class EpochRecord:
    """A line of the history; ``score`` is the validation metric, None where it was not taken."""

    epoch: int
    loss: float
    score: float | None


class State:
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
        tired = self._last_judged - self.best_epoch >= self.settings.patience
        return len(self.history) >= self.settings.epochs or (tired and self.best_epoch > 0)

    @property
    def _last_judged(self) -> int:
        """The last epoch that could have been the best: not each of them need be validated."""
        scored = (record.epoch for record in reversed(self.history) if record.score is not None)
        return next(scored, len(self.history))

    def run_epoch(self, graph: MessageGraph) -> float:
        """All steps of one epoch; the mean loss of group ``model``, or of all without such."""
        self.method.train()
        losses: list[tuple[str, float]] = []
        for loss, group in self.method.losses(graph, self.generators):
            losses.append((group, float(loss.detach())))
            self._check_finite("loss", losses[-1][1])
            self.stepper.step(loss, group)
        shown = [value for group, value in losses if group == "model"]
        return fmean(shown or [value for _, value in losses])

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
