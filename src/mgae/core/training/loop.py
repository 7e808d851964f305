"""The training loop: the only one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mgae.core.errors import RunDirectoryError, UnsupportedError
from mgae.core.graph import CPU, MessageGraph
from mgae.core.methods.base import Method, Stage
from mgae.core.methods.ondevice import device_of
from mgae.core.seeding import Generators
from mgae.core.training import distributed
from mgae.core.training.checkpoint import CheckpointStore
from mgae.core.training.device import Device, choose_device
from mgae.core.training.state import EpochRecord, FitSettings, State, Stepper

if TYPE_CHECKING:
    from torch_geometric.data import Data

# A model picked up to here is hardly trained.
FIRST_EPOCHS = 5

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
    settings = FitSettings(
        epochs, patience, learning_rate, weight_decay, clip, schedule, eval_every, budget,
        max_steps, average,
    )  # fmt: skip
    started = time.perf_counter()
    *earlier, last = method.stages(graph, generators)
    for stage in earlier:  # short ones: a training that is resumed takes them again
        _run_stage(stage, graph, replace(settings, budget=None), generators)
    early = distributed.agreed(time.perf_counter() - started)
    if budget is not None:
        settings = replace(settings, budget=max(0.0, budget - early))
    result = _run_stage(last, graph, settings, generators, validate, checkpoints, on_epoch)
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
    settings = {
        **settings,
        "epochs": max(1, before.planned),
        "stop": max(1, before.best_epoch),
    }
    started, device = time.perf_counter(), device_of(method)
    method.move_to(CPU)  # fresh weights are drawn there, the same for every device
    stages = method.final_stages(graph, generators)
    method.move_to(device)
    for stage in stages:
        chosen = FitSettings(**settings)
        if chosen.budget is not None:
            early = distributed.agreed(time.perf_counter() - started)
            chosen = replace(chosen, budget=max(0.0, chosen.budget - early))
        store = checkpoints if stage is stages[-1] else None
        _run_stage(stage, graph, chosen, generators, checkpoints=store)
    method.eval()


def _run_stage(
    stage: Stage,
    graph: MessageGraph,
    settings: FitSettings,
    generators: Generators,
    validate: Callable[[], float] | None = None,
    checkpoints: CheckpointStore | None = None,
    on_epoch: OnEpoch = lambda record: None,
) -> Fit:
    """Train one stage to its end, and leave its method with the weights that count.

    The stage's own settings win. Of several ranks the first one keeps the checkpoints.
    """
    method, settings = stage.method, replace(settings, **stage.settings)
    distributed.copy_from_first(method)
    if not method.trains_from_cpu:
        graph = graph.to(device_of(method))
    stepper = Stepper(method, settings.learning_rate, settings.weight_decay, settings.clip)
    state = State(stepper, generators, settings, stage.keep_last)
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
            if settings.schedule == "cosine":
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
        len(state.history) if state.is_out_of_time else settings.epochs,
    )
