"""Try settings one after the other, judged on validation edges alone; test edges stay unseen."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch_geometric.data import Data

from mgae.core.errors import ConfigError, MGAEError, RunDirectoryError, UnsupportedError
from mgae.core.training.state import EpochRecord
from mgae.data.atomic import write_json
from mgae.data.columns.choices import FeatureSettings
from mgae.data.io.options import InputSettings
from mgae.data.opening import open_graph
from mgae.registry import METHODS
from mgae.runs.config import RunConfig
from mgae.runs.featureuse import choose_features, message_graph
from mgae.runs.folders import check_free, read_json
from mgae.runs.layering import merge
from mgae.runs.observer import Observer
from mgae.runs.parallel import as_they_come
from mgae.runs.presets import paper_config
from mgae.runs.seeds import seed_configs
from mgae.runs.sweep.findings import write_outputs
from mgae.runs.sweep.space import Space
from mgae.runs.trial import Trial, draw_split

_STUDY = "study.db"
_STARTUP, _WARMUP = 5, 10  # trials and epochs before which none is given up


@dataclass(frozen=True)
class Sweep:
    """The result of a sweep.

    Attributes:
        folder: where the study, the best settings and the picture are.
        value: the best validation score.
        metric: which score that is.
        params: the best settings, by path.
        trials: how many are finished, given up and failed.
        default: the validation score of the settings without a change, if they were tried.
    """

    folder: Path
    value: float
    metric: str
    params: Mapping[str, Any]
    trials: Mapping[str, int]
    default: float | None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {**vars(self), "folder": str(self.folder)}


def sweep(
    graph: str,
    space: Space,
    trials: int,
    out: str | Path,
    timeout: float | None = None,
    jobs: int = 1,
    observer: Observer | None = None,
    **given: Any,
) -> Sweep:
    """Search for the settings with the best validation score.

    The same call again goes on until there are ``trials`` trials in all. The first trial has the
    settings as they are, if the space holds them.

    Args:
        graph: a dataset's name, a file of edges or a prepared folder.
        space: which settings are tried.
        trials: how many, those of earlier calls included.
        out: a folder for the study, ``best.toml`` and ``importance.png``.
        timeout: seconds after which no further trial begins.
        jobs: trials that run at once, in processes of their own.
        observer: receives notes.
        given: settings for all trials, as for `RunConfig`.

    Raises:
        ConfigError: if the space has a setting or a value that does not exist.
        RunDirectoryError: if ``out`` holds something else.
        UnsupportedError: if no trial comes to an end.
    """
    observer, out = observer or Observer(), Path(out)
    optuna = _optuna()
    settings = {"graph": graph, **given}
    base = paper_config(**settings)
    for ends in space.ends:
        paper_config(**merge(settings, ends))  # names that do not exist are refused now
    _require_trained(base)
    observer.on_graph(_opened(base))
    _begin(out, settings, space)
    study = _study(optuna, out)
    for left in study.get_trials(states=[optuna.trial.TrialState.RUNNING]):  # by a killed process
        study.tell(left.number, state=optuna.trial.TrialState.FAIL)
    if not study.trials and (params := space.params_in(base.model_dump())) is not None:
        study.enqueue_trial(params)
    ends_at = None if timeout is None else time.time() + timeout
    begun = [one for one in study.trials if one.state != optuna.trial.TrialState.WAITING]
    arguments = [(str(out), settings, space, ends_at)] * max(0, trials - len(begun))
    for _, note in as_they_come(_one_trial, arguments, jobs):
        if note is not None:
            observer.on_note(note)
    return _result(optuna, out, settings, base)


def _optuna() -> Any:
    try:
        import optuna  # noqa: PLC0415 - an extra
    except ImportError:
        raise UnsupportedError("a sweep needs optuna: pip install 'mgae[sweep]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _require_trained(config: RunConfig) -> None:
    if config.task != "links":
        raise ConfigError("a sweep is judged on validation edges: leave task at links")
    if not METHODS[config.method.kind].build.trains:
        raise ConfigError(f"method {config.method.kind!r} is not trained: there is nothing to try")


def _begin(out: Path, settings: Mapping[str, Any], space: Space) -> None:
    """Make the folder of a sweep, or see that it is of this one."""
    about = {"settings": settings, "space": {path: repr(one) for path, one in space.of.items()}}
    asked, file = json.loads(json.dumps(about)), out / "asked.json"
    if file.is_file():
        if read_json(file) != asked:
            raise RunDirectoryError(f"{out} holds a sweep of other settings: give another --out")
        return
    check_free(out)
    out.mkdir(parents=True, exist_ok=True)
    write_json(file, asked)


def _study(optuna: Any, out: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return optuna.create_study(
            study_name="sweep",
            storage=f"sqlite:///{out.absolute() / _STUDY}",
            direction="maximize",
            load_if_exists=True,
            pruner=optuna.pruners.MedianPruner(_STARTUP, _WARMUP),
        )


def _one_trial(
    out: str, settings: Mapping[str, Any], space: Space, ends_at: float | None
) -> str | None:
    """Run one trial of the stored study, and return why it failed, if it did."""
    if ends_at is not None and time.time() >= ends_at:
        return None
    optuna = _optuna()
    study = _study(optuna, Path(out))
    seed = int(settings.get("seed") or 0) + len(study.trials)
    study.sampler = optuna.samplers.TPESampler(seed=seed)
    trial = study.ask()
    state = optuna.trial.TrialState
    try:
        config = paper_config(**merge(settings, space.suggest(trial)))
        study.tell(trial, _score(config, _opened(config), trial))
    except optuna.TrialPruned:
        study.tell(trial, state=state.PRUNED)
    except MGAEError as error:
        study.tell(trial, state=state.FAIL)
        return f"trial {trial.number} failed: {error}"
    return None


def _opened(config: RunConfig) -> Data:
    read = (config.input.model_dump_json(), config.features.model_dump_json(exclude={"use"}))
    return _open(config.graph, *read)


@lru_cache(maxsize=1)
def _open(graph: str, reading: str, preparing: str) -> Data:
    """Open a graph by settings as texts: a process does that once for all of its trials."""
    features = FeatureSettings.model_validate_json(preparing)
    return open_graph(graph, InputSettings.model_validate_json(reading), preparing=features)


def _score(config: RunConfig, graph: Data, trial: Any) -> float:
    """Return the mean validation score of all runs; the first one reports each epoch's."""
    config, _ = choose_features(config, graph)
    message, scores = message_graph(config, graph), []
    none = torch.empty(2, 0, dtype=torch.long)
    for number, one in enumerate(seed_configs(config)):
        # As it will be trained later on, but without the edges that the test is of.
        split = replace(draw_split(one, graph, message), test=none, test_negatives=none)
        held_out = Trial(one, graph, message, split)
        held_out.fit(on_epoch=_reporter(trial) if number == 0 else lambda record: None)
        scores.append(held_out.val_figures(held_out.method)[metric_of(one)])
    return fmean(scores)


def _reporter(trial: Any) -> Any:
    """Return what tells the study each score, and gives up a trial that is behind the others."""
    from optuna import TrialPruned  # noqa: PLC0415 - an extra

    def report(record: EpochRecord) -> None:
        if record.score is None:
            return
        trial.report(record.score, record.epoch)
        if trial.should_prune():
            raise TrialPruned

    return report


def metric_of(config: RunConfig) -> str:
    """Return the validation figure that is maximized: the monitor, or AUC where it is none."""
    monitor = config.train.monitor.partition("+")[0]  # of several Hits@K the first
    return monitor if monitor != "loss" else "auc"


def _result(optuna: Any, out: Path, settings: Mapping[str, Any], base: RunConfig) -> Sweep:
    study, state = _study(optuna, out), optuna.trial.TrialState
    finished = study.get_trials(states=[state.COMPLETE])
    if not finished:
        raise UnsupportedError(
            f"no trial of {out} came to its end: see the notes, or raise --trials"
        )
    best, metric = study.best_trial, metric_of(base)
    first = study.trials[0]
    was_default = bool(first.system_attrs.get("fixed_params")) and first.state == state.COMPLETE
    counts = {
        name: len(study.get_trials(states=[kind]))
        for name, kind in (
            ("finished", state.COMPLETE), ("given up", state.PRUNED), ("failed", state.FAIL)
        )
    }  # fmt: skip
    result = Sweep(
        out, best.value, metric, dict(best.params), counts, first.value if was_default else None
    )
    write_outputs(out, study, result.to_json(), settings)
    return result
