"""The training loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mgae.core.errors import UnsupportedError
from mgae.core.graph import MessageGraph
from mgae.core.methods.base import Method
from mgae.core.seeding import Generators
from mgae.core.training.checkpoint import Checkpoints
from mgae.core.training.state import EpochRecord, State
from mgae.runs.sections import TrainSettings

# A model picked up to here is hardly trained.
FIRST_EPOCHS = 5


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

    @property
    def is_hardly_trained(self) -> bool:
        """Whether what was picked is close to where it started."""
        return 0 < self.best_epoch <= FIRST_EPOCHS


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

    ``validate`` gives the score that picks the epoch; without it the lowest loss does, and the
    weights are those that its step led to. The patience counts up to the last epoch so judged.
    With ``checkpoints`` the training goes on from the newest one, and a training that is broken
    off leaves one of the last whole epoch.

    Raises:
        TrainingError: where a loss or a validation score is not finite.
        UnsupportedError: where the method is not one that trains.
    """
    if not method.trains:
        raise UnsupportedError(f"method {method.name!r} is not trained")
    state = State(method, settings, generators)
    if checkpoints is not None and (saved := checkpoints.newest()) is not None:
        state.restore(saved)
        for record in state.history:
            on_epoch(record)
    try:
        while not state.finished:
            loss = state.run_epoch(graph)
            state.finish_epoch(loss, validate)
            on_epoch(state.history[-1])
            if checkpoints is not None:
                checkpoints.keep(state.snapshot(), settings.checkpoint_seconds)
    except KeyboardInterrupt:
        if checkpoints is not None:
            checkpoints.write_kept()
        raise
    if checkpoints is not None:
        checkpoints.write_kept()
    method.load_state_dict(state.best_weights)
    method.eval()
    return Fit(tuple(state.history), state.best_epoch, state.best_score, state.seconds_before)
