"""Update a run directory: new edges and nodes join its graph, and its weights stay."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from mgae.core.errors import RunDirectoryError
from mgae.data.io.edges import as_columns
from mgae.data.io.options import InputSettings
from mgae.data.store import save_graph
from mgae.runs import manifest
from mgae.runs.folders import check_free
from mgae.runs.locking import NAME as LOCK
from mgae.runs.locking import lock_folder
from mgae.runs.rundirectory import RunDirectory
from mgae.serving.drift import Drift
from mgae.serving.joining import Growth, NewEdges
from mgae.serving.newcomers import features_in_file
from mgae.serving.predictor import Predictor

_EXCHANGE = 2  # RENAME_EXCHANGE of Linux' renameat2
_HERE = -100  # AT_FDCWD


@dataclass(frozen=True)
class Update:
    """What an update did; ``directory`` is the run with it."""

    directory: Path
    growth: Growth
    drift: Drift
    notes: tuple[str, ...] = ()


def update_run(
    run: str | Path,
    edges: str | Path | list[tuple[Any, Any]],
    features: Any = None,
    out: str | Path | None = None,
    settings: InputSettings | None = None,
    on_stage: Callable[[str, float], None] = lambda stage, share: None,
) -> Update:
    """Let new edges and nodes join the graph of a finished run, without training.

    The directory is replaced in one step, so that readers meet the old run or the new one. Its
    figures, split and weights are those of the training.

    Args:
        run: the run directory.
        edges: a file of edges, or pairs of ids.
        features: of the new nodes: a file, or as `Predictor.updated` takes them.
        out: a new directory for the result, and ``run`` stays as it is.
        settings: how files are read.
        on_stage: called with the stage and the share of it that is done.

    Raises:
        UnsupportedError: if the method cannot embed nodes that were not there in training.
    """
    run, settings = Path(run), settings or InputSettings()
    directory = RunDirectory.open(run)
    target = run.resolve() if out is None else Path(out).absolute()
    if out is not None:
        check_free(target)
    # From here on, so that of two updates at a time none is lost.
    unlock = lock_folder(run, directory) if out is None else None
    try:
        after, notes = _updated(run, edges, features, settings, on_stage)
        fresh = target.with_name(f".{target.name}.update")
        _write(directory, fresh, after, on_stage)
        _put(fresh, target, replaces=out is None)
    except OSError as error:
        raise RunDirectoryError(
            f"cannot write to {error.filename or target}: {error.strerror or error}; the run is "
            "as it was"
        ) from None
    finally:
        if unlock is not None:
            unlock()
    assert after.growth is not None and after.drift is not None
    return Update(Path(run if out is None else out), after.growth, after.drift, notes)


def _updated(
    run: Path, edges: Any, features: Any, settings: InputSettings, on_stage: Any
) -> tuple[Predictor, tuple[str, ...]]:
    """Read what joins; return a predictor of the run with it, and notes on the files."""
    on_stage(f"loading {run}", 0.0)
    before = Predictor.load(run)
    if isinstance(edges, str | Path):
        path = Path(edges).expanduser()
        columns = as_columns(path, settings, before.fields.get("edge_columns"))
        given = NewEdges.read(before.nodes, path, columns, on_stage)
    else:
        given = NewEdges.of(before.nodes, edges)
    if isinstance(features, str | Path):
        path = Path(features).expanduser()
        features = features_in_file(path, settings, before.graph, on_stage)
    on_stage("scoring the new edges", 0.0)
    return before.updated(given, features), given.notes


def _write(old: RunDirectory, fresh: Path, after: Predictor, on_stage: Any) -> None:
    """Copy a run with another graph; what a training would go on with has no use there."""
    assert after.growth is not None and after.drift is not None
    graph = after.graph
    record = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "text": after.drift.text,
        "growth": asdict(after.growth),
        "drift": asdict(after.drift),
    }
    shutil.rmtree(fresh, ignore_errors=True)  # of an update that was killed
    shutil.copytree(old.path, fresh, ignore=shutil.ignore_patterns("checkpoint", LOCK))
    homes = [fresh, *sorted(fresh.glob("seed-*"))] if old.config.runs > 1 else [fresh]
    for home in homes:
        shutil.rmtree(home / "graph")
        save_graph(graph, home / "graph")
        earlier = RunDirectory(old.path / home.relative_to(fresh)).updates()
        RunDirectory(home).write_updates([*earlier, record])
        manifest.renew(home)
    for number in range(old.config.runs):
        on_stage("embedding the nodes", number / old.config.runs)
        predictor = Predictor.load(fresh, number)
        if predictor.embeds:
            home = RunDirectory.open(fresh).run(number).path
            RunDirectory(home).write_embeddings(graph, torch.from_numpy(predictor.embed()))
            manifest.renew(home)


def _put(fresh: Path, target: Path, replaces: bool) -> None:
    """Move a finished folder to where it belongs, in one step."""
    if not replaces:
        if target.is_dir():
            target.rmdir()  # empty, or it would have been refused
        fresh.rename(target)
        return
    if not _exchange(fresh, target):
        aside = target.with_name(f".{target.name}.old")
        target.rename(aside)
        fresh.rename(target)
        fresh = aside
    shutil.rmtree(fresh, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; return False where the system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    return bool(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)
