"""Running cells, one after another or several at once."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from pathlib import Path

import torch
from torch_geometric.data import Data

from mgae.core.errors import MGAEError, MissingData, RunDirectoryError, UnsupportedError
from mgae.core.graph import MessageGraph
from mgae.data.atomic import locked
from mgae.data.opening import open_graph
from mgae.paper.document import NO_DATA, REFUSED, Record, record_of
from mgae.paper.plan import Cell
from mgae.paper.tables import cell_folder
from mgae.runs.cells import CellResult, run_cell
from mgae.runs.config import RunConfig
from mgae.runs.memory import fitted
from mgae.runs.pipeline import Observer

_KILLED = (
    "one of {jobs} jobs was killed, perhaps for lack of memory: what is finished is kept, "
    "go on with the same command and fewer --jobs"
)


def records(
    cells: list[Cell], folder: Path, jobs: int, observer: Observer
) -> Iterator[tuple[int, Record]]:
    """The number of each cell in ``cells`` and its figures, as they come."""
    parallel = jobs > 1
    made = _in_processes(cells, folder, jobs) if parallel else _in_turn(cells, folder, observer)
    for index, record in made:
        if record["status"] == NO_DATA:
            # Why there is none is of this machine alone: it is said, and not kept.
            observer.on_note(record.pop("reason"))
        yield index, record


def _in_turn(cells: list[Cell], folder: Path, observer: Observer) -> Iterator[tuple[int, Record]]:
    for index, cell in enumerate(cells):
        observer.on_cell(f"{cell.row.name} on {cell.dataset}", index, len(cells))
        yield index, run_one(cell, folder, observer)


def run_one(cell: Cell, folder: Path, observer: Observer | None = None) -> Record:
    """A cell's figures, or the reason why it has none."""
    try:
        graph = _graph(cell.dataset)
        _refuse_sampling(cell.config, graph)
        trained = None
        if cell.trained is not None:
            trained = _run(cell.trained, folder, graph, observer)[1]
        found, _ = _run(cell.config, folder, graph, observer, trained)
    except RunDirectoryError:
        raise  # what is stored is damaged: that says nothing of the method
    except MissingData as error:
        return {"status": NO_DATA, "reason": str(error)}
    except MGAEError as error:
        return {"status": REFUSED, "reason": str(error)}
    return record_of(cell, found)


def _run(
    config: RunConfig,
    folder: Path,
    graph: Data,
    observer: Observer | None,
    trained: Path | None = None,
) -> tuple[CellResult, Path]:
    home = folder / cell_folder(config)
    # Two tables may share a run set, and two commands may fill them at the same time.
    with locked(home.with_name(f"{home.name}.lock")):
        return run_cell(config, home, graph, observer, trained), home


def _refuse_sampling(config: RunConfig, graph: Data) -> None:
    """A table says what was run: where the memory is short it is not something else."""
    chosen, told = fitted(config, MessageGraph.of(graph))
    if chosen.train.fanouts != config.train.fanouts:
        raise UnsupportedError(f"{told}; ask for that with --set train.fanouts, or free memory")


@lru_cache(maxsize=1)
def _graph(name: str) -> Data:
    return open_graph(name)


def _in_processes(cells: list[Cell], folder: Path, jobs: int) -> Iterator[tuple[int, Record]]:
    """Several at once; those that measure others' models when these are there."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, _begin_process, (os.getpid(), jobs))
    try:
        for phase in (False, True):
            waiting = {
                pool.submit(run_one, cell, folder): index
                for index, cell in enumerate(cells)
                if (cell.trained is not None) == phase
            }
            for done in as_completed(waiting):
                yield waiting[done], done.result()
    except BaseException as error:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
        if isinstance(error, BrokenProcessPool):
            raise UnsupportedError(_KILLED.format(jobs=jobs)) from None
        raise
    pool.shutdown()


def _begin_process(parent: int, jobs: int) -> None:
    """Share the cores, and end when the parent was killed."""
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // jobs))

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
