"""A cell of a table: one configuration over its seeds, each run kept as soon as it is finished.

A cell's folder has a run directory ``seed-N`` for each seed. An interrupted cell continues where
it stopped, inside a run too; if it is asked for more seeds, it keeps those it has; if its settings
or its graph have changed, it starts again.

Stored results stay valid when an option is added or renamed:

- What is stored (``cell.json``, ``results/*.json``) is all settings. `same_settings` reads them
  with today's classes, which fill in the default of an option that did not exist then and know
  old names, and compares values. The stored checksum is never compared, so results stored with
  the checksums of version 0.1, which covered all settings, match as well.
- The checksum, which names a new cell's folder, covers only the settings that differ from the
  defaults of their classes. `cell_folder` finds a folder of the same settings under any name.

If the default of an option is changed, cells that were measured with the old one no longer match:
they have stored its value.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch_geometric.data import Data

from mgae.core.errors import MGAEError, RunDirectoryError
from mgae.core.training.state import EpochRecord
from mgae.data.atomic import write_json
from mgae.data.checks import checked
from mgae.runs.config import RunConfig
from mgae.runs.folders import read_json
from mgae.runs.observer import Observer
from mgae.runs.peakmemory import PeakMemory
from mgae.runs.pipeline import evaluate, resume, run_opened
from mgae.runs.results import RunResult, SeedResult
from mgae.runs.rundirectory import RunDirectory
from mgae.runs.seeds import seed_configs
from mgae.settings import Settings

_SEEDS = {"seed", "runs"}  # two cells that differ in these alone are the same


@dataclass(frozen=True)
class CellResult:
    """A cell's figures; ``peak_bytes`` is the most memory that one of its runs took."""

    result: RunResult
    peak_bytes: int | None


def run_cell(
    config: RunConfig,
    folder: Path,
    graph: Data,
    observer: Observer | None = None,
    trained: Path | None = None,
) -> CellResult:
    """Run what is missing of a cell, and read the rest.

    ``trained`` is the folder of a finished cell that differs in the evaluation alone: its models
    are measured again instead of being trained again.

    Raises:
        MGAEError: if the method refuses the graph; nothing is left behind then.
        RunDirectoryError: if the folder holds something that cannot be read.
    """
    observer = observer or Observer()
    _begin(folder, config, fingerprint(graph), observer)
    seeds: list[SeedResult] = []
    try:
        for index, one in enumerate(seed_configs(config)):
            home = folder / f"seed-{one.seed}"
            result = _finished(home, observer)
            if result is None:
                result = _run_seed(one, home, graph, _OneRun(observer, index), trained)
            seeds.append(result)
    except MGAEError:
        if not any(folder.glob("seed-*")):
            shutil.rmtree(folder)
        raise
    whole = RunResult(config, tuple(seeds), folder)
    write_json(folder / "metrics.json", whole.metrics())
    peaks = [_stored_peak(folder / f"seed-{seed.seed}") for seed in seeds]
    return CellResult(whole, max((peak for peak in peaks if peak is not None), default=None))


def finished_runs(config: RunConfig, folder: Path) -> int:
    """Count the runs of a cell that are finished."""
    seeds = (folder / f"seed-{one.seed}" / "metrics.json" for one in seed_configs(config))
    return sum(file.exists() for file in seeds)


def fingerprint(graph: Data) -> str:
    """Return a checksum of everything in a graph."""
    if graph.get("checksum"):
        return str(graph.checksum)
    if graph.get("prepared") is not None:
        return str(graph.prepared["digest"])
    digest = hashlib.sha256(repr(graph.node_ids).encode())
    for key, value in sorted(graph.items()):
        if isinstance(value, torch.Tensor):
            digest.update(f"{key}{tuple(value.shape)}".encode())
            digest.update(value.contiguous().numpy().tobytes())
    return digest.hexdigest()


def settings_of(config: RunConfig) -> dict[str, Any]:
    """Return all settings of a cell, as they are stored."""
    return config.model_dump(exclude_none=True, mode="json", exclude=_SEEDS)


def same_settings(stored: Any, config: RunConfig) -> bool:
    """Return whether stored settings are those of a configuration, whatever the seeds."""
    wanted = {name: value for name, value in config if name not in _SEEDS}
    try:
        read = {
            name: type(value)(**stored.get(name, {}))
            if isinstance(value, Settings)
            else stored.get(name, RunConfig.model_fields[name].default)
            for name, value in wanted.items()
        }
    except (MGAEError, TypeError, AttributeError):
        return False
    return read == wanted and stored.keys() <= wanted.keys()


def config_hash(config: RunConfig) -> str:
    """Return a short checksum of the settings that differ from their defaults."""
    changed = config.model_dump(
        exclude_none=True, exclude_defaults=True, mode="json", exclude=_SEEDS
    )
    return hashlib.sha256(json.dumps(changed, sort_keys=True).encode()).hexdigest()[:12]


def cell_folder(parent: Path, config: RunConfig) -> Path:
    """Return the folder below ``parent`` that has a cell's settings, or else a new one's name."""
    new = parent / f"{config.label}-{config_hash(config)}"
    if new.exists():
        return new
    others = sorted(parent.glob(f"{config.label}-*/cell.json"))
    return next((file.parent for file in others if _fits(_stored(file), config)), new)


def _begin(folder: Path, config: RunConfig, graph: str, observer: Observer) -> None:
    file = folder / "cell.json"
    if file.exists():
        stored = _stored(file)
        if not _fits(stored, config) or stored["graph"] != graph:
            changed = "the settings or the graph have changed"
            observer.on_note(f"{folder.name}: {changed}, it begins anew")
            shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        write_json(file, {"graph": graph, "settings": settings_of(config)})


def _stored(file: Path) -> Any:
    return read_json(file, "remove it")


def _fits(stored: Any, config: RunConfig) -> bool:
    complete = isinstance(stored, dict) and {"graph", "settings"} <= stored.keys()
    return complete and same_settings(stored["settings"], config)


def _run_seed(
    config: RunConfig, folder: Path, graph: Data, observer: Observer, trained: Path | None
) -> SeedResult:
    if trained is not None:
        return _measure_seed(config, folder, trained / folder.name, observer)
    _warm_up()
    with PeakMemory() as memory:
        if (folder / "config.toml").exists():
            result = resume(folder, observer)
        else:
            if folder.exists():
                shutil.rmtree(folder)  # killed before its configuration was written
            result = run_opened(config, graph, folder, observer)
    write_json(folder / "memory.json", {"peak_bytes": memory.peak_bytes})
    return result.seeds[0]


def _finished(folder: Path, observer: Observer) -> SeedResult | None:
    """Return a run's figures; a damaged one continues from its last checkpoint."""
    home = RunDirectory(folder)
    if not home.finished:
        return None
    try:
        return home.seed_result()
    except RunDirectoryError:
        name = f"{folder.parent.name}/{folder.name}"
        observer.on_note(f"{name}: its result is damaged, it runs again")
        (folder / "metrics.json").unlink()
        return None


def _measure_seed(config: RunConfig, folder: Path, trained: Path, observer: Observer) -> SeedResult:
    result = evaluate(trained, observer, config.evaluation)
    (seed,) = result.seeds
    folder.mkdir(parents=True, exist_ok=True)
    RunDirectory(folder).write_result(result.metrics(), [seed.seed], [seed.seconds])
    return seed


@cache
def _warm_up() -> None:
    """Train on a ring, so that what libraries load on first use counts for no method."""
    nodes = torch.arange(8)
    edges = torch.stack([nodes, (nodes + 1) % 8])
    ring = checked(Data(edge_index=edges, num_nodes=8))
    quick = {"train": {"epochs": 1}, "evaluation": {"heuristics": ()}}
    config = RunConfig(graph="ring", method="mgae", **quick)
    with TemporaryDirectory() as folder:
        run_opened(config, ring, Path(folder) / "run", Observer())


def _stored_peak(folder: Path) -> int | None:
    """Return what was measured, or None if it was not written or is damaged."""
    try:
        return int(read_json(folder / "memory.json")["peak_bytes"])
    except (RunDirectoryError, ValueError, LookupError, TypeError):
        return None


class _OneRun(Observer):
    """Report the progress of one run of a cell; the graph was reported before."""

    def __init__(self, observer: Observer, index: int) -> None:
        self.observer, self.index = observer, index

    def on_note(self, text: str) -> None:
        """Report it once for all runs."""
        if self.index == 0:
            self.observer.on_note(text)

    def on_run(self, index: int, config: RunConfig) -> None:
        """Report it under its number in the cell."""
        self.observer.on_run(self.index, config)

    def on_epoch(self, record: EpochRecord) -> None:
        """Report it as it is."""
        self.observer.on_epoch(record)

    def on_stage(self, text: str) -> None:
        """Report it as it is."""
        self.observer.on_stage(text)
