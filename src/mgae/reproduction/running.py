"""Filling a table cell by cell, each kept as soon as it is there."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from mgae.allocator import keep_freed
from mgae.cells import CellResult, run_cell
from mgae.config import RunConfig
from mgae.errors import GraphError, MGAEError, UnknownName
from mgae.files import locked, write_text
from mgae.graphs.opening import open_graph
from mgae.pipeline import Observer
from mgae.reproduction.document import NO_DATA, Record, document, record_of, records_in
from mgae.reproduction.overview import overview
from mgae.reproduction.statistics import dataset_document
from mgae.reproduction.tables import Cell, Row, Table, cell_folder, table
from mgae.reproduction.writing import draw_results, write_results


class TableObserver(Observer):
    """Is told how a table fills; this one keeps it to itself."""

    def on_plan(self, table: Table, cells: list[Cell], done: Mapping[int, Record]) -> None:
        """What will be run; ``done`` are the cells of which an earlier run has figures."""

    def on_record(self, index: int, record: Record) -> None:
        """A cell of the plan has its figures, or will have none."""


@dataclass(frozen=True)
class Request:
    """What is to be reproduced.

    Attributes:
        datasets, methods: those to be run, by name; none: all. A method may be named as its row is.
        runs: for every cell, instead of what the table has.
        given: settings above those of the experiment files.
    """

    name: str
    protocol: str = "paper"
    datasets: Sequence[str] = ()
    methods: Sequence[str] = ()
    runs: int | None = None
    out: Path = Path("results")
    jobs: int = 1
    given: Mapping[str, Any] = field(default_factory=dict)


def reproduce(request: Request, observer: TableObserver | None = None) -> Record:
    """Run what is missing of a table, and write it; the same again goes on where it stopped.

    Raises:
        UnknownName: where a table, graph or row is unknown.
    """
    observer = observer or TableObserver()
    spec = table(request.name, request.protocol)
    cells = spec.cells(request.given, request.runs)
    chosen = _chosen(spec, cells, request)
    file = request.out / f"{spec.stem}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    records = records_in(file)
    before = {
        index: records.get((cell.row.name, cell.dataset)) for index, cell in enumerate(chosen)
    }
    observer.on_plan(spec, chosen, {index: found for index, found in before.items() if found})
    for index, record in _records(chosen, request, observer):
        records[chosen[index].row.name, chosen[index].dataset] = record
        observer.on_record(index, record)
        write_results(document(spec, cells, records, request.given), file)
    made = document(spec, cells, records, request.given)
    draw_results(made, file)
    write_text(request.out / "README.md", overview(request.out))
    return made


def reproduce_datasets(datasets: Sequence[str], out: Path) -> Record:
    """Table 1: nothing is trained."""
    made = dataset_document(datasets)
    out.mkdir(parents=True, exist_ok=True)
    write_results(made, out / "datasets.json")
    draw_results(made, out / "datasets.json")
    write_text(out / "README.md", overview(out))
    return made


def _chosen(spec: Table, cells: list[Cell], request: Request) -> list[Cell]:
    """The cells that are asked for."""
    for name in request.datasets:
        if name not in spec.columns:
            raise UnknownName("dataset", name, spec.columns)
    rows = [row for name in request.methods for row in _called(spec, name)]
    return [
        cell
        for cell in cells
        if (not request.datasets or cell.dataset in request.datasets)
        and (not request.methods or cell.row in rows)
    ]


def _called(spec: Table, name: str) -> list[Row]:
    """The rows of a name: as the table has it, or else a method's, or else in other letters."""
    for same in (
        lambda row: name in (row.name, row.series),
        lambda row: name == row.method,
        lambda row: name.lower() in (row.name.lower(), (row.series or "").lower()),
    ):
        if rows := [row for row in spec.rows if same(row)]:
            return rows
    raise UnknownName("method", name, {row.series or row.name for row in spec.rows})


def _records(
    cells: list[Cell], request: Request, observer: TableObserver
) -> Iterator[tuple[int, Record]]:
    folder = request.out / "cells"
    folder.mkdir(parents=True, exist_ok=True)
    if request.jobs > 1:
        yield from _in_processes(cells, folder, request.jobs)
        return
    for index, cell in enumerate(cells):
        observer.on_cell(f"{cell.row.name} on {cell.dataset}", index, len(cells))
        yield index, run_one(cell, folder, observer)


def run_one(cell: Cell, folder: Path, observer: Observer | None = None) -> Record:
    """A cell's figures, or why it has none."""
    try:
        graph = _graph(cell.dataset)
    except GraphError as error:
        return {"status": NO_DATA, "reason": str(error)}
    try:
        trained = None
        if cell.trained is not None:
            trained = _run(cell.trained, folder, graph, observer)[1]
        found, _ = _run(cell.config, folder, graph, observer, trained)
    except MGAEError as error:
        return {"status": "refused", "reason": str(error)}
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
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    pool.shutdown()


def _begin_process(parent: int, jobs: int) -> None:
    """Share the cores, and end when the parent was killed."""
    keep_freed()
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // jobs))

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
