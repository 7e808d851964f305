"""Filling a table cell by cell, each kept as soon as it is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mgae.errors import UnknownName
from mgae.files import locked, write_text
from mgae.pipeline import Observer
from mgae.reproduction.document import Record, Records, document, records_in
from mgae.reproduction.filling import records
from mgae.reproduction.overview import overview
from mgae.reproduction.statistics import dataset_document
from mgae.reproduction.tables import Cell, Row, Table, table
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
    (request.out / "cells").mkdir(parents=True, exist_ok=True)
    known = records_in(file, cells)
    before = {index: known.get((cell.row.name, cell.dataset)) for index, cell in enumerate(chosen)}
    observer.on_plan(spec, chosen, {index: found for index, found in before.items() if found})
    ours: Records = {}
    made = _written(spec, cells, ours, request)
    for index, record in records(chosen, request.out / "cells", request.jobs, observer):
        ours[chosen[index].row.name, chosen[index].dataset] = record
        observer.on_record(index, record)
        made = _written(spec, cells, ours, request)
    draw_results(made, file)
    write_text(request.out / "README.md", overview(request.out))
    return made


def _written(spec: Table, cells: list[Cell], ours: Records, request: Request) -> Record:
    """The table with our figures, and those that another command may have added meanwhile."""
    file = request.out / f"{spec.stem}.json"
    with locked(request.out / "cells" / f"{spec.stem}.lock"):
        made = document(spec, cells, {**records_in(file, cells), **ours}, request.given)
        write_results(made, file)
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
