"""A cell of a table: one configuration over its seeds, each run kept as soon as it is there.

A cell's folder has a run directory ``seed-N`` for each seed. A cell that was broken off goes on
where it stopped, inside a run too; one that is asked for more seeds keeps those it has; one whose
settings or graph have changed begins anew.
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
from mgae.core.training.loop import EpochRecord
from mgae.data.atomic import write_json
from mgae.data.checks import checked
from mgae.runs.config import RunConfig
from mgae.runs.peakmemory import PeakMemory
from mgae.runs.pipeline import Observer, evaluate, resume, run_opened, seed_configs
from mgae.runs.results import RunResult, SeedResult, seed_result
from mgae.runs.rundirectory import RunDirectory


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
    are measured anew instead of being trained again.

    Raises:
        MGAEError: what the method says against the graph; nothing is left behind then.
        RunDirectoryError: where the folder holds something that cannot be read.
    """
    observer = observer or Observer()
    _begin(folder, _asked(config, graph), observer)
    try:
        seeds = [
            _finished(home, observer)
            or _run_seed(one, home, graph, _OneRun(observer, index), trained)
            for index, one in enumerate(seed_configs(config))
            for home in [folder / f"seed-{one.seed}"]
        ]
    except MGAEError:
        if not any(folder.glob("seed-*")):
            shutil.rmtree(folder)
        raise
    result = RunResult(config, tuple(seeds), folder)
    write_json(folder / "metrics.json", result.metrics())
    peaks = [_stored_peak(folder / f"seed-{seed.seed}") for seed in seeds]
    return CellResult(result, max((peak for peak in peaks if peak is not None), default=None))


def finished_runs(config: RunConfig, folder: Path) -> int:
    """How many of a cell's runs are there already."""
    seeds = (folder / f"seed-{one.seed}" / "metrics.json" for one in seed_configs(config))
    return sum(file.exists() for file in seeds)


def fingerprint(graph: Data) -> str:
    """A checksum of all that a graph holds."""
    if graph.get("checksum"):
        return str(graph.checksum)
    digest = hashlib.sha256(repr(graph.node_ids).encode())
    for key, value in sorted(graph.items()):
        if isinstance(value, torch.Tensor):
            digest.update(f"{key}{tuple(value.shape)}".encode())
            digest.update(value.contiguous().numpy().tobytes())
    return digest.hexdigest()


def settings_of(config: RunConfig) -> dict[str, Any]:
    """What makes two cells the same: everything but the seeds."""
    settings = config.model_dump(exclude_none=True, mode="json", exclude={"seed", "runs"})
    # Cells were measured under this name: their checksums stay.
    settings["evaluation"]["floors"] = settings["evaluation"].pop("heuristics")
    return settings


def config_hash(config: RunConfig) -> str:
    """A short checksum of a cell's settings."""
    text = json.dumps(settings_of(config), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _asked(config: RunConfig, graph: Data) -> dict[str, Any]:
    return {"graph": fingerprint(graph), "settings": settings_of(config)}


def _begin(folder: Path, asked: dict[str, Any], observer: Observer) -> None:
    file = folder / "cell.json"
    if file.exists() and _stored(file) != asked:
        observer.on_note(f"{folder.name}: the settings or the graph have changed, it begins anew")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        write_json(file, asked)


def _stored(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunDirectoryError(f"cannot read {file}: {error}: remove it") from None


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
    """A run's figures; a run whose files are damaged goes on from its last checkpoint."""
    home = RunDirectory(folder)
    if not home.finished:
        return None
    try:
        return seed_result(home.metrics(), home.environment()["seconds"][0])
    except (RunDirectoryError, LookupError, TypeError, ValueError, AttributeError):
        place = f"{folder.parent.name}/{folder.name}"
        observer.on_note(f"{place}: its result is damaged, it runs again")
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
    """Train on a ring: what the libraries load when first used is no method's memory."""
    nodes = torch.arange(8)
    edges = torch.stack([nodes, (nodes + 1) % 8])
    ring = checked(Data(edge_index=edges, num_nodes=8))
    config = RunConfig(graph="ring", train={"epochs": 1}, evaluation={"heuristics": ()})
    with TemporaryDirectory() as folder:
        run_opened(config, ring, Path(folder) / "run", Observer())


def _stored_peak(folder: Path) -> int | None:
    """What was measured; nothing where that was not written, or is damaged."""
    try:
        text = (folder / "memory.json").read_text(encoding="utf-8")
        return int(json.loads(text)["peak_bytes"])
    except (OSError, ValueError, LookupError, TypeError):
        return None


class _OneRun(Observer):
    """Passes on how one run of a cell goes; the graph was shown before."""

    def __init__(self, observer: Observer, index: int) -> None:
        self.observer, self.index = observer, index

    def on_note(self, text: str) -> None:
        """Once for all runs."""
        if self.index == 0:
            self.observer.on_note(text)

    def on_run(self, index: int, config: RunConfig) -> None:
        """Under its number in the cell."""
        self.observer.on_run(self.index, config)

    def on_epoch(self, record: EpochRecord) -> None:
        """As it is."""
        self.observer.on_epoch(record)

    def on_stage(self, text: str) -> None:
        """As it is."""
        self.observer.on_stage(text)
