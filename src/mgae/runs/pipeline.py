"""graph in → split → mask → encode → decode → train → evaluate, for each seed.

The only module that knows every stage.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from mgae.core.errors import (
    ConfigError,
    MGAEError,
    RankError,
    RunDirectoryError,
    TrainingError,
    UnsupportedError,
    is_out_of_memory,
)
from mgae.core.graph import CPU, MessageGraph
from mgae.core.training import distributed
from mgae.core.training.device import Device, choose_device, device_again
from mgae.core.training.loop import Fit, OnEpoch
from mgae.core.training.state import EpochRecord
from mgae.data.inspection import listed_times, readable_time
from mgae.data.opening import open_graph
from mgae.data.sharing import shared_graph
from mgae.data.splits.bytime import TimeCuts
from mgae.data.splits.hard import too_costly
from mgae.evaluation.links import hard_parts
from mgae.evaluation.nodes import require_labels
from mgae.registry import DATASETS, METHODS
from mgae.runs.advice import ideas_for, tried
from mgae.runs.budget import shortened
from mgae.runs.build import reads_edge_features
from mgae.runs.config import RunConfig
from mgae.runs.featureuse import choose_features, message_graph
from mgae.runs.featureworth import after_check, worth_of_features
from mgae.runs.folders import check_free
from mgae.runs.memory import fitted
from mgae.runs.observer import LogObserver, Observer, ended
from mgae.runs.parallel import as_they_come
from mgae.runs.results import Figures, RunResult, SeedResult, heading
from mgae.runs.rundirectory import RunDirectory, write_record
from mgae.runs.sections import EvaluationSettings
from mgae.runs.tracking.tracker import require_trackers, tracked
from mgae.runs.trial import Trial, recalls_of, splits_by_time

LEARNING_FROM_ALL = "learning from all edges"
# Below this the AUC of a split is off by several points from the next.
_FEW_EDGES = 50
# A handful of validation edges may all be ranked right: no patience gives a better score.
_BEST_SCORE = 100.0
# In percent: other orders of rounding alone may move two near scores past each other.
_SAME_FIGURE = 1e-3


# After these a run directory is kept: there is something to go on with.
_KEPT = (TrainingError, RunDirectoryError, RankError)


def run(
    config: RunConfig,
    graph: Any = None,
    out: str | Path | None = None,
    observer: Observer | None = None,
    check_features: bool = False,
    jobs: int = 1,
) -> RunResult:
    """Train and evaluate once for each seed.

    Args:
        config: what to run.
        graph: a graph in memory (PyG ``Data``, networkx, scipy sparse, a table of edges); without
            it the dataset or file that ``config.graph`` names.
        out: a new directory for everything the run leaves behind; without it nothing is written.
        observer: gets progress and notes.
        check_features: train with and without the features first, and note what they are worth.
        jobs: runs at the same time, each in a process of its own and with its share of the cores.

    >>> result = run(RunConfig(train={"epochs": 1}))
    >>> 50 < result.test["auc"].mean < 100
    True
    """
    observer = observer or LogObserver()
    if not distributed.is_first():
        out, observer = None, Observer()
    choose_device(config.train.device)  # what is not here is known before the graph is read
    require_trackers(config)
    if out is not None:
        check_free(Path(out))
    opened = shared_graph(
        lambda: open_graph(
            config.graph if graph is None else graph, config.input, preparing=config.features
        )
    )
    if graph is not None and config.graph in DATASETS:
        # Under the name of a dataset it would be compared with that one's published figures.
        config = config.changed(graph=opened.name)
    observer.on_graph(opened)
    if check_features:
        observer.on_stage("training with and without the features")
        observer.on_note(str(worth_of_features(config, opened)))
        config = after_check(config)
    return run_opened(config, opened, out, observer, jobs)


def run_opened(
    config: RunConfig, graph: Data, out: str | Path | None, observer: Observer, jobs: int = 1
) -> RunResult:
    """Do what `run` does for a graph that `open_graph` gave."""
    if config.task == "nodes":
        require_labels(graph)
    config, message = adapted(config, graph, observer)
    if (few := _too_few(config, message)) is not None:
        observer.on_warning(few)
    if (not_hard := _not_hard(config, graph, message)) is not None:
        observer.on_note(not_hard)
    directory = None if out is None else RunDirectory.create(Path(out), config, graph)
    try:
        return _run_seeds(config, graph, message, directory, observer, jobs)
    except MGAEError as error:
        # Nothing was learned: a setting that only the graph could prove wrong leaves no trace.
        if directory is not None and not isinstance(error, _KEPT):
            directory.discard()
        raise


def adapted(config: RunConfig, graph: Data, observer: Observer) -> tuple[RunConfig, MessageGraph]:
    """Return a configuration that fits a graph and this machine, and what its method sees of it.

    Notes say what was changed, and what of the graph is not read.
    """
    config, left_out = distributed.from_first(partial(choose_features, config, graph))
    message = message_graph(config, graph)
    config, fewer = shortened(config, message)
    config, changed = distributed.from_first(partial(fitted, config, message))
    unread = (_unread_types(config, graph), _unread_edge_features(config, message))
    by_time, sampled = _held_out_by_time(config, graph), _sampled_recall(config, message)
    for note in (left_out, fewer, changed, *unread, by_time, sampled):
        if note is not None:
            observer.on_note(note)
    return config, message


def _unread_types(config: RunConfig, graph: Data) -> str | None:
    """Return a note if the edges have types that the method does not tell apart."""
    if graph.get("triples") is None or METHODS[config.method.kind].build.typed:
        return None
    count = len(graph.get("type_names") or [])
    return (
        f"the {count} types of edges are not read by method {config.method.kind!r}: "
        "--method combined-relational tells them apart"
    )


def _unread_edge_features(config: RunConfig, message: MessageGraph) -> str | None:
    """Return a note if nothing reads the features of the edges."""
    if message.edge_attr is None or reads_edge_features(config):
        return None
    what = f"method {config.method.kind!r}" + (
        "" if config.encoder is None else f" with encoder {config.encoder.kind!r}"
    )
    return (
        f"{message.num_edge_features} features of the edges are not read by {what}: "
        "--method mgae with --encoder gcn, sage, gin or gat reads them"
    )


def _too_few(config: RunConfig, message: MessageGraph) -> str | None:
    """Return a warning if the figures will rest on a handful of edges."""
    num_edges = message.pairs.size(1)
    count = int(config.split.ratios(num_edges)[1] * num_edges)
    if config.task != "links" or count >= _FEW_EDGES:
        return None
    if config.split.test_ratio == 0:
        return "split.test_ratio is 0: no edges are held out for the test, so there are no figures"
    left = f"{count} edges are" if count > 1 else "1 edge is"
    return f"only about {left} left for the test: its figures will be rough"


def _sampled_recall(config: RunConfig, message: MessageGraph) -> str | None:
    """Return a note if recall@10 is measured on fewer edges than there are, or not at all."""
    recalls, most = recalls_of(config, message)
    asked = config.task == "links" and config.evaluation.recall_pairs and not config.recalls
    count = int(config.split.ratios(message.pairs.size(1))[1] * message.pairs.size(1))
    if not asked or message.sides is not None or (recalls and count <= most):
        return None
    if not recalls:
        return "recall@10 would rank too many pairs here; --set evaluation.recall=[10] measures it"
    return f"a large graph: recall@{recalls[0]} is measured on {most:,} of {count:,} test edges"


def _not_hard(config: RunConfig, graph: Data, message: MessageGraph) -> str | None:
    """Return why there are no hard negatives, though they are asked for."""
    num_held_out = 0
    for part in hard_parts(config.train.monitor):
        official = graph.get(f"{part}_edges")
        num_edges = message.pairs.size(1)
        drawn = int(config.split.ratios(num_edges)[part == "test"] * num_edges)
        num_held_out += drawn if official is None else official.size(1)
    return too_costly(message, num_held_out, config.evaluation.hard_negatives)


def resume(
    path: str | Path,
    observer: Observer | None = None,
    device: str | None = None,
    jobs: int = 1,
) -> RunResult:
    """Resume a run that was interrupted, to the result it would have had.

    On another kind of ``device`` than before the result differs by rounding. The number of ranks
    may be another one too; the result is then that of as many from there on.

    >>> import mgae, tempfile
    >>> ring = [(node, (node + 1) % 30) for node in range(30)]
    >>> config = mgae.RunConfig(graph="ring", method="gae", train={"epochs": 1})
    >>> out = tempfile.TemporaryDirectory()
    >>> result = mgae.run(config, ring, out.name, mgae.Observer())
    >>> mgae.resume(out.name, mgae.Observer()).test == result.test  # it was finished already
    True
    >>> out.cleanup()
    """
    observer = (observer or LogObserver()) if distributed.is_first() else Observer()
    directory = RunDirectory.open(Path(path))
    graph = shared_graph(directory.graph)
    observer.on_graph(graph)
    for note in directory.notes:
        observer.on_note(note)
    config = directory.config
    if device is not None:
        train = config.train.model_dump(exclude_none=True)
        config = config.changed(train={**train, "device": device})
    message, writing = message_graph(config, graph), directory if distributed.is_first() else None
    return _run_seeds(config, graph, message, writing, observer, jobs)


def evaluate(
    path: str | Path,
    observer: Observer | None = None,
    settings: EvaluationSettings | None = None,
    device: Device | None = None,
) -> RunResult:
    """Measure a finished run again, from its graph, split and weights.

    ``settings`` measure it in another way than when it was trained, ``device`` elsewhere.

    >>> import mgae, tempfile
    >>> ring = [(node, (node + 1) % 30) for node in range(30)]
    >>> config = mgae.RunConfig(graph="ring", method="gae", train={"epochs": 1})
    >>> out = tempfile.TemporaryDirectory()
    >>> result = mgae.run(config, ring, out.name, mgae.Observer())
    >>> mgae.evaluate(out.name, mgae.Observer()).test == result.test
    True
    >>> out.cleanup()
    """
    observer = (observer or LogObserver()) if distributed.is_first() else Observer()
    directory = RunDirectory.open(Path(path))
    whole = directory.config
    if settings is not None:
        whole = whole.changed(evaluation=settings.model_dump(exclude_none=True))
    graph = shared_graph(directory.graph)
    message = message_graph(whole, graph)
    observer.on_graph(graph)
    for remark in directory.notes:
        observer.on_note(remark)
    results = []
    with ended(observer):
        for index, config in enumerate(seed_configs(whole)):
            observer.on_run(index, config)
            home = directory.run(index)
            stored = home.seed_result()
            where = device_again(device, config.train.device)
            trial = Trial(config, graph, message, home.split(graph, message), where)
            home.load_weights(trial.method)
            results.append(trial.result(Fit((), stored.best_epoch, 0.0), observer.on_stage, stored))
            as_trained = settings is None and not directory.updates()
            if as_trained and (note := _differs(results[-1], stored)) is not None:
                observer.on_warning(note)
    return RunResult(whole, tuple(results), directory.path)


def _differs(measured: SeedResult, stored: SeedResult) -> str | None:
    """Return a note if figures are not those of ``metrics.json``, with the one that is most off."""
    pairs = {"test": (measured.test, stored.test), "validation": (measured.val, stored.val)}
    off = [
        (abs(now[name] - before[name]), f"{part} {name} is {now[name]:.4f}, not {before[name]:.4f}")
        for part, (now, before) in pairs.items()
        for name in now.keys() & before.keys()
        if not math.isclose(now[name], before[name], rel_tol=0, abs_tol=_SAME_FIGURE)
    ]
    if not off:
        return None
    return (
        f"seed {measured.seed}: the figures differ from metrics.json: {max(off)[1]}; another "
        "version or processor may do that, and so may damaged files"
    )


def seed_configs(config: RunConfig) -> list[RunConfig]:
    """Return one configuration per run: run k has seed + k."""
    return [
        config.model_copy(update={"seed": config.seed + k, "runs": 1}) for k in range(config.runs)
    ]


def _run_seeds(
    config: RunConfig,
    graph: Data,
    message: MessageGraph,
    directory: RunDirectory | None,
    observer: Observer,
    jobs: int,
) -> RunResult:
    results: list[SeedResult] = []
    device = choose_device(config.train.device)
    if device != CPU:
        observer.on_note(f"computing on {device}")
    home = None if directory is None else directory.path
    with _resumable(directory), ended(observer):
        if jobs > 1 and config.runs > 1:
            results += _run_apart(config, graph, directory, observer, jobs)
        else:
            with tracked(config, home, observer) as observers:
                for index, one in enumerate(seed_configs(config)):
                    own = None if directory is None else directory.seed(one, graph)
                    observers.on_run(index, one)
                    results.append(_run_seed(one, graph, message, own, observers))
                    observers.on_result(one, results[-1])
        result = RunResult(config, tuple(results), home)
        if directory is not None:
            seconds = [seed.seconds for seed in results]
            directory.write_result(
                result.metrics(), [seed.seed for seed in results], seconds, str(device)
            )
    return result


def _run_apart(
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
    with _resumable(home), tracked(config, path, notes) as observers:
        observers.on_run(0, config)
        result = _run_seed(config, graph, message_graph(config, graph), home, observers)
        observers.on_result(config, result)
    return result, notes.texts


@contextmanager
def _resumable(directory: RunDirectory | None) -> Iterator[None]:
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


def _run_seed(
    config: RunConfig,
    graph: Data,
    message: MessageGraph,
    home: RunDirectory | None,
    observer: Observer,
) -> SeedResult:
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


def _held_out_by_time(config: RunConfig, graph: Data) -> str | None:
    """Return from when on edges are held out."""
    if graph.get("edge_time") is None or not splits_by_time(config, graph):
        return None
    times, dated = listed_times(graph), bool(graph.get("dated"))
    cuts = TimeCuts.of(times, *config.split.ratios(len(times)))
    parts = [
        f"{name} from {readable_time(time, dated)}"
        for name, time in (("validation", cuts.val), ("test", cuts.test))
        if math.isfinite(time)
    ]
    return f"split by time: {', '.join(parts)} on"


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
