"""graph in → split → mask → encode → decode → train → evaluate, for each seed.

The only module that knows every stage.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from mgae.core.errors import MGAEError, TrainingError
from mgae.core.graph import MessageGraph
from mgae.core.training.loop import EpochRecord, Fit, OnEpoch
from mgae.data.opening import open_graph
from mgae.data.splits.hard import too_costly
from mgae.evaluation.links import hard_parts
from mgae.evaluation.nodes import require_labels
from mgae.registry import DATASETS
from mgae.runs.budget import shortened
from mgae.runs.config import RunConfig
from mgae.runs.featureworth import after_check, worth_of_features
from mgae.runs.folders import check_free
from mgae.runs.memory import fitted
from mgae.runs.results import RunResult, SeedResult, seed_result
from mgae.runs.rundirectory import RunDirectory, write_record
from mgae.runs.sections import EvaluationSettings
from mgae.runs.trial import Trial

# Below this the AUC of a split is off by several points from the next.
_FEW_EDGES = 50
# A handful of validation edges may all be ranked right: no patience gives a better score.
_BEST_SCORE = 100.0


class Observer:
    """Is told how a run goes; this one keeps it to itself."""

    def on_graph(self, graph: Data) -> None:
        """Take note that the graph is read."""

    def on_cell(self, name: str, index: int, count: int) -> None:
        """Take note that one of ``count`` run sets begins."""

    def on_note(self, text: str) -> None:
        """Take a note for the user."""

    def on_run(self, index: int, config: RunConfig) -> None:
        """Run ``index`` begins."""

    def on_epoch(self, record: EpochRecord) -> None:
        """Take note of a finished epoch."""

    def on_stage(self, text: str) -> None:
        """Take note that another stage begins that may take a while."""


def run(
    config: RunConfig,
    graph: Any = None,
    out: str | Path | None = None,
    observer: Observer | None = None,
    check_features: bool = False,
) -> RunResult:
    """Train and evaluate once for each seed.

    Args:
        config: what to run.
        graph: a graph in memory (PyG ``Data``, networkx, scipy sparse, a table of edges); without
            it the dataset or file that ``config.graph`` names.
        out: a new directory for everything the run leaves behind; without it nothing is written.
        observer: gets progress and notes.
        check_features: train with and without the features first, and note what they are worth.

    >>> result = run(RunConfig(train={"epochs": 1}))
    >>> 50 < result.test["auc"].mean < 100
    True
    """
    observer = observer or Observer()
    if out is not None:
        check_free(Path(out))
    opened = open_graph(
        config.graph if graph is None else graph, config.input, preparing=config.features
    )
    if graph is not None and config.graph in DATASETS:
        # Under the name of a dataset it would be held against that one's published figures.
        config = config.changed(graph=opened.name)
    observer.on_graph(opened)
    if check_features:
        observer.on_stage("training with and without the features")
        observer.on_note(str(worth_of_features(config, opened)))
        config = after_check(config)
    return run_opened(config, opened, out, observer)


def run_opened(
    config: RunConfig, graph: Data, out: str | Path | None, observer: Observer
) -> RunResult:
    """Do what `run` does for a graph that `open_graph` gave."""
    if config.task == "nodes":
        require_labels(graph)
    message = MessageGraph.of(graph)
    config, fewer = shortened(config, message)
    config, changed = fitted(config, message)
    for note in (fewer, changed, _too_few(config, message), _not_hard(config, graph, message)):
        if note is not None:
            observer.on_note(note)
    directory = None if out is None else RunDirectory.create(Path(out), config, graph)
    try:
        return _run_seeds(config, graph, message, directory, observer)
    except MGAEError as error:
        # Nothing was learned: a setting that only the graph could prove wrong leaves no trace.
        if directory is not None and not isinstance(error, TrainingError):
            directory.discard()
        raise


def _too_few(config: RunConfig, message: MessageGraph) -> str | None:
    """Return a warning if the figures will rest on a handful of edges."""
    count = int(config.split.test_ratio * message.pairs.size(1))
    if config.task != "links" or count >= _FEW_EDGES:
        return None
    left = f"{count} edges are" if count > 1 else "1 edge is"
    return f"only about {left} left for the test: its figures will be rough"


def _not_hard(config: RunConfig, graph: Data, message: MessageGraph) -> str | None:
    """Return why there are no hard negatives, though they are asked for."""
    held = 0
    for part in hard_parts(config.train.monitor):
        official = graph.get(f"{part}_edges")
        drawn = int(getattr(config.split, f"{part}_ratio") * message.pairs.size(1))
        held += drawn if official is None else official.size(1)
    return too_costly(message, held, config.evaluation.hard_negatives)


def resume(path: str | Path, observer: Observer | None = None) -> RunResult:
    """Resume a run that was interrupted, to the result it would have had."""
    observer = observer or Observer()
    directory = RunDirectory.open(Path(path))
    graph = directory.graph()
    observer.on_graph(graph)
    return _run_seeds(directory.config, graph, MessageGraph.of(graph), directory, observer)


def evaluate(
    path: str | Path,
    observer: Observer | None = None,
    settings: EvaluationSettings | None = None,
) -> RunResult:
    """Measure a finished run again, from its graph, split and weights.

    ``settings`` measure it in another way than when it was trained.
    """
    observer = observer or Observer()
    directory = RunDirectory.open(Path(path))
    whole = directory.config
    if settings is not None:
        whole = whole.changed(evaluation=settings.model_dump(exclude_none=True))
    graph = directory.graph()
    message = MessageGraph.of(graph)
    observer.on_graph(graph)
    results = []
    for index, config in enumerate(seed_configs(whole)):
        observer.on_run(index, config)
        home = directory.run(index)
        stored = seed_result(home.metrics(), home.environment()["seconds"][0])
        trial = Trial(config, graph, message, home.split(graph, message))
        trial.method.load_state_dict(home.weights())
        results.append(trial.result(Fit((), stored.best_epoch, 0.0), observer.on_stage, stored))
    return RunResult(whole, tuple(results), directory.path)


def seed_configs(config: RunConfig) -> list[RunConfig]:
    """Return one configuration per run: run k has seed + k."""
    return [config.changed(seed=config.seed + k, runs=1) for k in range(config.runs)]


def _run_seeds(
    config: RunConfig,
    graph: Data,
    message: MessageGraph,
    directory: RunDirectory | None,
    observer: Observer,
) -> RunResult:
    results = []
    for index, one in enumerate(seed_configs(config)):
        observer.on_run(index, one)
        home = None if directory is None else directory.seed(one, graph)
        results.append(_run_seed(one, graph, message, home, observer))
    result = RunResult(config, tuple(results), None if directory is None else directory.path)
    if directory is not None:
        seconds = [seed.seconds for seed in results]
        directory.write_result(result.metrics(), [seed.seed for seed in results], seconds)
    return result


def _run_seed(
    config: RunConfig,
    graph: Data,
    message: MessageGraph,
    home: RunDirectory | None,
    observer: Observer,
) -> SeedResult:
    if home is not None and home.finished:
        return seed_result(home.metrics(), home.environment()["seconds"][0])
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
        observer.on_note(note)
    result = trial.result(fit, observer.on_stage)
    if home is not None:
        trial.write(home)
        home.write_result(RunResult(config, (result,)).metrics(), [config.seed], [result.seconds])
    return result


def _given_up_early(config: RunConfig, fit: Fit) -> str | None:
    """Return a note if a first peak by chance may have outlasted the patience."""
    stopped = fit.epochs < config.train.epochs
    if not (stopped and fit.is_hardly_trained) or fit.best_score >= _BEST_SCORE:
        return None
    return (
        f"seed {config.seed}: epoch {fit.best_epoch} of {fit.epochs} was the best, a model close "
        f"to its start; train.patience={config.train.epochs} in place of "
        f"{config.train.patience} may find a better one"
    )


def _both(first: OnEpoch, second: OnEpoch) -> OnEpoch:
    def call(record: EpochRecord) -> None:
        first(record)
        second(record)

    return call
