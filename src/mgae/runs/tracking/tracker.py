"""What a tracker is: an observer that writes a run's settings and figures to a tool."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mgae.core.errors import UnsupportedError
from mgae.core.training import distributed
from mgae.core.training.state import EpochRecord
from mgae.data.atomic import write_text
from mgae.registry import TRACKERS
from mgae.runs.config import RunConfig
from mgae.runs.layering import flat
from mgae.runs.observer import Observer, Observers
from mgae.runs.results import RunResult, SeedResult


class Tracker(Observer):
    """Writes each run of a training to a tool; a subclass has the four methods that are abstract.

    A run that is resumed reports all its epochs again, so that ``begin`` should go on with what
    it began before; `remembered` helps with that.

    Attributes:
        directory: the run directory; None if nothing is written.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = directory
        self.is_open = False
        self.epoch = 0

    @abstractmethod
    def begin(self, name: str, settings: Mapping[str, Any], folder: Path | None) -> None:
        """Begin a run of one seed: its name, its settings by their path, and its own folder."""

    @abstractmethod
    def log(self, figures: Mapping[str, float], epoch: int) -> None:
        """Write figures of an epoch."""

    @abstractmethod
    def end(self, figures: Mapping[str, float], verdict: str | None) -> None:
        """Write the final figures, in percent, and the verdict in words; close the run."""

    @abstractmethod
    def stop(self) -> None:
        """Close a run that was broken off."""

    def on_run(self, index: int, config: RunConfig) -> None:
        """Begin a run, unless it is finished."""
        self.close()
        folder, name = self.directory, config.label
        if folder is not None:
            seed = f"seed-{config.seed}"
            folder = folder / seed if (folder / seed).is_dir() else folder
            whole = folder.resolve()
            name = f"{whole.parent.name}-{seed}" if whole.name == seed else whole.name
            if (folder / "metrics.json").exists():
                return  # it came to its end before the whole was broken off
        self.begin(name, flat(config.model_dump(exclude_none=True, mode="json")), folder)
        self.is_open, self.epoch = True, 0

    def on_epoch(self, record: EpochRecord) -> None:
        """Write loss and validation score."""
        self.epoch = record.epoch
        scores = {} if record.score is None else {"validation/score": record.score}
        self.log({"loss": record.loss, **scores}, record.epoch)

    def on_result(self, config: RunConfig, result: SeedResult) -> None:
        """Write the figures, and close the run."""
        if not self.is_open:
            return
        parts = {"test": result.test, "validation": result.val}
        parts |= {f"heuristics/{name}": figures for name, figures in result.heuristics.items()}
        figures = {f"{part}/{name}": v for part, of in parts.items() for name, v in of.items()}
        verdict = RunResult(config, (result,)).verdict
        self.is_open = False
        self.end({**figures, "best epoch": result.best_epoch}, verdict.text if verdict else None)

    def close(self) -> None:
        """Close a run that has not come to its end."""
        if self.is_open:
            self.is_open = False
            self.stop()


class _Guarded(Observer):
    """Passes a tracker what it wants to know until it fails: training goes on without it."""

    def __init__(self, name: str, tracker: Tracker, observer: Observer) -> None:
        self.name, self.tracker, self.observer = name, tracker, observer
        self.has_failed = False

    def _call(self, what: Callable[..., None], *arguments: Any) -> None:
        if self.has_failed:
            return
        try:
            what(*arguments)
        except Exception as error:  # whatever a tool, its network or its disk may raise
            self.has_failed = True
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            self.observer.on_note(f"tracking by {self.name} has stopped: {reason}")

    def on_run(self, index: int, config: RunConfig) -> None:
        self._call(self.tracker.on_run, index, config)

    def on_epoch(self, record: EpochRecord) -> None:
        self._call(self.tracker.on_epoch, record)

    def on_result(self, config: RunConfig, result: SeedResult) -> None:
        self._call(self.tracker.on_result, config, result)

    def close(self) -> None:
        self._call(self.tracker.close)


def require_trackers(config: RunConfig) -> dict[str, type[Tracker]]:
    """Return the trackers that a configuration asks for, by their names.

    Raises:
        UnsupportedError: if the package of one is not installed.
    """
    return {name: _kind(name) for name in config.train.track}


@contextmanager
def tracked(config: RunConfig, directory: Path | None, observer: Observer) -> Iterator[Observer]:
    """Return an observer that tells the trackers of a configuration too, the first rank's only."""
    if not config.train.track or not distributed.is_first():
        yield observer
        return
    kinds = require_trackers(config)
    guarded = [_Guarded(name, kind(directory), observer) for name, kind in kinds.items()]
    try:
        yield Observers([observer, *guarded])
    finally:
        for one in guarded:
            one.close()


def remembered(folder: Path | None, name: str) -> str | None:
    """Return the id of the run that a tool has begun for a folder; None if there is none."""
    file = None if folder is None else folder / f"{name}.id"
    return file.read_text(encoding="utf-8").strip() if file and file.is_file() else None


def remember(folder: Path | None, name: str, number: str) -> None:
    """Keep the id of a tool's run in a folder, for when it is resumed."""
    if folder is not None:
        write_text(folder / f"{name}.id", f"{number}\n")


def _kind(name: str) -> type[Tracker]:
    entry = TRACKERS[name]
    try:
        kind: type[Tracker] = entry.build
    except ImportError as error:
        package = entry.extras.get("package", error.name or name)
        extra = entry.extras.get("extra")
        advice = f"'mgae[{extra}]'" if extra else package
        raise UnsupportedError(f"--track {name} needs {package}: pip install {advice}") from None
    return kind
