"""Run the seeds of a configuration: train, measure and write each of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mgae.core.errors import (
    ConfigError,
    RunDirectoryError,
    UnsupportedError,
    is_out_of_memory,
)
from mgae.core.graph import MessageGraph
from mgae.core.training import distributed
from mgae.core.training.loop import Fit, OnEpoch
from mgae.core.training.state import EpochRecord
from mgae.runs.advice import ideas_for, tried
from mgae.runs.config import RunConfig
from mgae.runs.featureuse import choose_features, message_graph
from mgae.runs.observer import Observer
from mgae.runs.parallel import as_they_come
from mgae.runs.results import Figures, RunResult, SeedResult, heading
from mgae.runs.rundirectory import RunDirectory, write_record
from mgae.runs.tracking.tracker import tracked
from mgae.runs.trial import Trial, splits_by_time

if TYPE_CHECKING:
    from torch_geometric.data import Data

LEARNING_FROM_ALL = "learning from all edges"
# A handful of validation edges may all be ranked right: no patience gives a better score.
_BEST_SCORE = 100.0


def seed_configs(config: RunConfig) -> list[RunConfig]:
    """Return one configuration per run: run k has seed + k."""
    return [
        config.model_copy(update={"seed": config.seed + k, "runs": 1}) for k in range(config.runs)
    ]


def run_seed(
    config: RunConfig,
    graph: Data,
    message: MessageGraph,
    home: RunDirectory | None,
    observer: Observer,
) -> SeedResult:
    """Train and measure one seed; of a finished one return the stored result."""
    is_done = home is not None and home.finished
    stored = distributed.from_first(lambda: home.seed_result() if home and is_done else None)
    if stored is not None:
        return stored
    trial = Trial(config, graph, message)
    with ExitStack() as stack:
        on_epoch: OnEpoch = observer.on_epoch
        if home is not None:
            home.write_split(trial.split)
            history = stack.enter_context(home.history())
            on_epoch = _both(lambda record: write_record(history, record), observer.on_epoch)
        every = config.train.checkpoint_seconds
        fit = trial.fit(home.checkpoints(every) if home else None, on_epoch)
    if (note := _given_up_early(config, fit)) is not None:
        observer.on_warning(note)
    result = trial.result(fit, observer.on_stage)
    if _needs_other_split(config, graph):
        figures = _by_other_split(config, graph, message, observer)
        observer.on_note(_both_splits(config, graph, result.test, figures))
        result = replace(result, other_split=figures)
    beside = {name: _beside(name, trial, observer) for name in config.evaluation.beside}
    result = replace(result, beside=beside)
    if home is not None:
        home.write_model(dict(trial.method.state_dict()))
        observer.on_stage("measuring what probabilities mean")
    measured = None if home is None else trial.calibrating()
    if trial.fits_again and distributed.from_first(lambda: home is not None):
        observer.on_stage(LEARNING_FROM_ALL)
        every = config.train.checkpoint_seconds
        trial.fit_again(fit, home.final_checkpoints(every) if home else None)
        if home is not None:
            home.write_final_model(dict(trial.method.state_dict()))
    if home is not None:
        home.write_calibrations(trial.calibrations(measured))
        trial.write_embeddings(home)
    if RunResult(config, (result,)).needs_advice:
        ideas = ideas_for(trial, fit)
        result = replace(result, advice=tried(ideas, trial, result.val, observer.on_stage))
    if home is not None:
        metrics = RunResult(config, (result,)).metrics()
        home.write_result(metrics, [config.seed], [result.seconds], str(trial.device))
    return result


def _beside(name: str, trial: Trial, observer: Observer) -> Figures:
    """Train another method with its own defaults on the same split; return its test figures."""
    observer.on_stage(f"training {name} beside")
    config, _ = choose_features(trial.config.with_defaults(name), trial.graph)
    other = Trial(config, trial.graph, message_graph(config, trial.graph))
    other.fit()
    return other.test_figures(other.asked)


def _needs_other_split(config: RunConfig, graph: Data) -> bool:
    """Return whether to train on both splits: a random one flatters where edges have times."""
    timed = graph.get("edge_time") is not None and config.task == "links"
    measured = config.split.test_ratio > 0
    return timed and measured and (config.split.both or config.split.by == "random")


def _by_other_split(
    config: RunConfig, graph: Data, message: MessageGraph, observer: Observer
) -> Figures:
    by = "random" if splits_by_time(config, graph) else "time"
    observer.on_stage(f"training on the split by {'chance' if by == 'random' else 'time'}")
    split = {**config.split.model_dump(), "by": by}
    trial = Trial(config.changed(split=split), graph, message)
    trial.fit()
    return trial.test_figures(trial.asked)


def _both_splits(config: RunConfig, graph: Data, ours: Figures, other: Figures) -> str:
    """Return both figures in one line."""
    metric = config.ranked_by if config.ranked_by in ours else "auc"
    by_time, by_chance = (ours, other) if splits_by_time(config, graph) else (other, ours)
    return (
        f"seed {config.seed}: {heading(metric)} {by_time[metric]:.2f} if the last edges are held "
        f"out, {by_chance[metric]:.2f} if random ones are: a random split lets the model see the "
        "future, and the first is what to expect of new links"
    )


def _given_up_early(config: RunConfig, fit: Fit) -> str | None:
    """Return a note if a first peak by chance may have outlasted the patience."""
    stopped = fit.epochs < config.train.epochs
    if not (stopped and fit.is_hardly_trained) or fit.best_score >= _BEST_SCORE:
        return None
    return (
        f"seed {config.seed}: epoch {fit.best_epoch} of {fit.epochs} was the best, a model close "
        f"to its start; train.patience={config.train.epochs} instead of "
        f"{config.train.patience} may find a better one"
    )


def _both(first: OnEpoch, second: OnEpoch) -> OnEpoch:
    def call(record: EpochRecord) -> None:
        first(record)
        second(record)

    return call


def run_apart(
    config: RunConfig, graph: Data, directory: RunDirectory | None, observer: Observer, jobs: int
) -> list[SeedResult]:
    """Run each seed in a process of its own, some at a time; notes come at their ends.

    Raises:
        ConfigError: if ranks share the run already.
    """
    if distributed.world() > 1:
        raise ConfigError("--jobs runs seeds in processes, and these are ranks: leave --jobs out")
    seeds = seed_configs(config)
    # Each is unlocked here as soon as it is made: its process locks it again.
    homes = [None if directory is None else directory.seed(one, graph).path for one in seeds]
    calls = [(one, graph, home) for one, home in zip(seeds, homes, strict=True)]
    results: dict[int, SeedResult] = {}
    noted: set[str] = set()
    observer.on_stage(f"training {len(seeds)} runs, {jobs} at a time")
    for index, (result, notes) in as_they_come(_run_one, calls, jobs):
        results[index] = result
        observer.on_stage(f"training {len(seeds)} runs, {jobs} at a time; {len(results)} done")
        for note in notes:
            if note not in noted:
                observer.on_note(note)
        noted.update(notes)
    return [results[index] for index in range(len(seeds))]


class _Notes(Observer):
    """Keeps the notes of a run in another process."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def on_note(self, text: str) -> None:
        self.texts.append(text)


def _run_one(config: RunConfig, graph: Data, path: Path | None) -> tuple[SeedResult, list[str]]:
    """Train one seed in its own directory; return its result and its notes."""
    home, notes = None if path is None else RunDirectory.writable(path), _Notes()
    with resumable(home), tracked(config, path, notes) as observers:
        observers.on_run(0, config)
        result = run_seed(config, graph, message_graph(config, graph), home, observers)
        observers.on_result(config, result)
    return result, notes.texts


@contextmanager
def resumable(directory: RunDirectory | None) -> Iterator[None]:
    """Say how to go on if the directory cannot be written to any more, as on a full disk.

    Raises:
        UnsupportedError: if memory runs out.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise UnsupportedError(
            "there is not enough memory for this: lower encoder.hidden_channels, num_layers or "
            "train.chunk_size, or set train.memory_limit_gb"
        ) from None
    except OSError as error:
        if directory is None:
            raise
        raise RunDirectoryError(
            f"cannot write to {error.filename or directory.path}: {error.strerror or error}; once "
            f"that works again, go on with mgae train --resume {directory.path}"
        ) from None
