"""A cell of `benchmarks.worth`: one graph, method and seed, in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.worthfigures import figures
from benchmarks.worthgraphs import Variant, open_inputs
from benchmarks.worthmethods import MORE_ROWS, ROWS, configure, fit
from benchmarks.worthofficial import official_cell
from benchmarks.worthreport import read_cell
from mgae.core.errors import MGAEError, UnsupportedError
from mgae.data.atomic import write_json
from mgae.runs.environment import environment

PREPARING_MINUTES = 150.0
MEMORY_GIB = 8
_GIB = 2**30
_SHORT = {"auc": "AUC", "ap": "AP"}


@dataclass(frozen=True)
class Cell:
    """One graph, method and seed, and the file that its figures go to."""

    graph: str  # a variant's key, or that of an official split
    method: str
    seed: int
    variant: Variant | None = None  # None: an official split

    def path(self, folder: Path) -> Path:
        return folder / self.graph / f"{self.method}-{self.seed}.json"

    def measure(self, inputs: Path) -> dict[str, Any]:
        """Return figures, seconds and settings."""
        if self.variant is None:
            return official_cell(self.graph, self.method, self.seed)
        task = open_inputs(self.variant, self.seed, inputs)
        fitted = fit(configure((ROWS | MORE_ROWS)[self.method], self.graph, self.seed), task.graph)
        started = time.process_time()
        measured = figures(fitted.scores, task)
        counts = {"hidden": task.hidden.size(1), "ranked": task.ranked.size(1)}
        return fitted.describe(measured, time.process_time() - started) | {"counts": counts}

    def record(self, status: str, **more: Any) -> dict[str, Any]:
        return {
            "graph": self.graph,
            "method": self.method,
            "seed": self.seed,
            "status": status,
            **more,
        }


def run_cell(cell: Cell, folder: Path) -> None:
    """Measure a cell and write its file."""
    try:
        record = cell.record("ok", **cell.measure(folder / "inputs"))
    except UnsupportedError as error:
        record = cell.record("refused", reason=str(error))
    except Exception as error:
        traceback.print_exc()
        record = cell.record("failed", reason=_one_line(error))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / _GIB
    about = environment([cell.seed], [])
    kept = {key: about[key] for key in ("commit", "versions", "threads", "processor")}
    write_json(cell.path(folder), record | {"peak_gib": round(peak, 2), **kept})


def _one_line(error: Exception) -> str:
    name = "" if isinstance(error, MGAEError) else f"{type(error).__name__}: "
    return name + " ".join(str(error).split())


def run_apart(work: Callable[..., None], args: tuple[Any, ...], minutes: float) -> str | None:
    """Call ``work`` in a process of its own; return why it did not end well, or None."""
    # Forked from a server that has loaded everything and computed nothing: fast, and safe for
    # libraries with threads.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=_quietly, args=(work, args))
    process.start()
    assert process.pid is not None
    reason, deadline = None, time.monotonic() + 60 * minutes
    watched = psutil.Process(process.pid)
    while reason is None and process.is_alive():
        process.join(0.2)
        if time.monotonic() > deadline:
            reason = f"took longer than {minutes:g} minutes"
        elif _memory(watched) > MEMORY_GIB * _GIB:
            reason = f"took more than {MEMORY_GIB} GiB of memory"
    if reason is not None:
        process.kill()
    process.join()
    if reason is None and process.exitcode:
        reason = f"its process ended with {process.exitcode}"
    return reason


def _quietly(work: Callable[..., None], args: tuple[Any, ...]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        work(*args)
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


def _end_with_parent() -> None:
    """End this process as soon as the one that asked for it is gone."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _memory(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.Error:
        return 0


def prepare(variant: Variant, seed: int, folder: Path) -> None:
    """Draw the hidden edges and the hard negatives, so that no cell's time contains that."""
    open_inputs(variant, seed, folder / "inputs")


def run_cells(cells: list[Cell], folder: Path, minutes: float, again: bool = False) -> int:
    """Run the cells that have no file, ``again`` those that failed too; return how many."""
    missing = [cell for cell in cells if _is_missing(cell.path(folder), again)]
    print(f"{len(cells) - len(missing)} of {len(cells)} cells are there", flush=True)
    for index, cell in enumerate(missing):
        cell.path(folder).parent.mkdir(parents=True, exist_ok=True)
        reason = _prepare_apart(cell, folder) or run_apart(run_cell, (cell, folder), minutes)
        if reason is not None:
            write_json(cell.path(folder), cell.record("failed", reason=reason))
        print(f"[{index + 1}/{len(missing)}] {_line(cell, folder)}", flush=True)
    return len(missing)


def _prepare_apart(cell: Cell, folder: Path) -> str | None:
    """Draw the inputs of a cell unless they are there; return why that failed, or None."""
    if cell.variant is None or _inputs_of(cell, folder).exists():
        return None
    reason = run_apart(prepare, (cell.variant, cell.seed, folder), PREPARING_MINUTES)
    return None if reason is None else f"no hidden edges: {reason}"


def _inputs_of(cell: Cell, folder: Path) -> Path:
    return folder / "inputs" / f"{cell.graph}-{cell.seed}.safetensors"


def _is_missing(path: Path, again: bool) -> bool:
    return not path.exists() or (again and read_cell(path)["status"] == "failed")


def _line(cell: Cell, folder: Path) -> str:
    record = read_cell(cell.path(folder))
    about = f"{cell.graph} {cell.method} seed {cell.seed}:"
    if record["status"] != "ok":
        return f"{about} {record['status']}: {record['reason']}"
    values = (f"{_SHORT.get(name, name)} {value:.4g}" for name, value in record["figures"].items())
    return f"{about} {', '.join(values)}; {sum(record['seconds'].values()):.1f} s"
