"""graph in → split → mask → encode → decode → train → evaluate, for each seed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from mgae.core.errors import MGAEError, RankError, RunDirectoryError, TrainingError
from mgae.core.graph import CPU, MessageGraph
from mgae.core.training import distributed
from mgae.core.training.device import Device, choose_device, device_again
from mgae.core.training.loop import Fit
from mgae.data.opening import open_graph
from mgae.data.sharing import shared_graph
from mgae.evaluation.nodes import require_labels
from mgae.registry import DATASETS
from mgae.runs.adapting import adapted, too_few, without_hard
from mgae.runs.config import RunConfig
from mgae.runs.featureuse import message_graph
from mgae.runs.featureworth import after_check, worth_of_features
from mgae.runs.folders import check_free
from mgae.runs.observer import LogObserver, Observer, ended
from mgae.runs.results import RunResult, SeedResult
from mgae.runs.rundirectory import RunDirectory
from mgae.runs.sections import EvaluationSettings
from mgae.runs.seeds import resumable, run_apart, run_seed, seed_configs
from mgae.runs.tracking.tracker import require_trackers, tracked
from mgae.runs.trial import Trial

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
    if (few := too_few(config, message)) is not None:
        observer.on_warning(few)
    if (not_hard := without_hard(config, graph, message)) is not None:
        observer.on_note(not_hard)
    directory = None if out is None else RunDirectory.create(Path(out), config, graph)
    try:
        return _run_seeds(config, graph, message, directory, observer, jobs)
    except MGAEError as error:
        # Nothing was learned: a setting that only the graph could prove wrong leaves no trace.
        if directory is not None and not isinstance(error, _KEPT):
            directory.discard()
        raise


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
    with resumable(directory), ended(observer):
        if jobs > 1 and config.runs > 1:
            results += run_apart(config, graph, directory, observer, jobs)
        else:
            with tracked(config, home, observer) as observers:
                for index, one in enumerate(seed_configs(config)):
                    own = None if directory is None else directory.seed(one, graph)
                    observers.on_run(index, one)
                    results.append(run_seed(one, graph, message, own, observers))
                    observers.on_result(one, results[-1])
        result = RunResult(config, tuple(results), home)
        if directory is not None:
            seconds = [seed.seconds for seed in results]
            directory.write_result(
                result.metrics(), [seed.seed for seed in results], seconds, str(device)
            )
    return result


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
