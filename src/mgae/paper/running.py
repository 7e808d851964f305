"""Filling a table cell by cell, each kept as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mgae.core.errors import ConfigError, UnknownName
from mgae.paper.document import DONE, Record, Records
from mgae.paper.filling import records
from mgae.paper.pages import TablePages, make_results_folder, write_statistics
from mgae.paper.plan import Cell, Row, Table
from mgae.paper.statistics import dataset_document
from mgae.paper.tables import cell_folder, table
from mgae.runs.cells import finished_runs
from mgae.runs.pipeline import Observer

_ASKED_OTHERWISE = {
    "graph": "use --datasets",
    "task": "name a table of that task",
    "method": "use --methods",
    "protocol": "use --protocol",
    "runs": "use --runs",
}


class TableObserver(Observer):
    """Is told how a table fills; this one keeps it to itself."""

    def on_plan(
        self,
        table: Table,
        cells: list[Cell],
        earlier: Mapping[int, Record],
        finished: Mapping[int, int],
    ) -> None:
        """What will be run; ``earlier`` figures of its cells, and how many runs are there."""

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
        RunDirectoryError: where nothing can be written, or what is there is damaged.
        ConfigError: where the settings given would put another graph or method into the cells.
    """
    observer = observer or TableObserver()
    _refuse_other_runs(request.given)
    spec = table(request.name, request.protocol)
    wanted = _chooser(spec, request)
    cells = spec.cells(request.given, request.runs, wanted)
    chosen = [cell for cell in cells if wanted(cell.row, cell.dataset)]
    pages = TablePages(spec, cells, request.given, request.out)
    folder = make_results_folder(request.out)
    known = pages.known()
    finished = [finished_runs(cell.config, folder / cell_folder(cell.config)) for cell in chosen]
    places = enumerate((cell.row.name, cell.dataset) for cell in chosen)
    earlier = {index: known[place] for index, place in places if place in known}
    observer.on_plan(spec, chosen, earlier, dict(enumerate(finished)))
    ours: Records = {}
    try:
        for index, record in records(chosen, folder, request.jobs, observer):
            ours[chosen[index].row.name, chosen[index].dataset] = record
            observer.on_record(index, record)
            pages.write(ours)
    finally:
        made = pages.write(ours, drawn=True)
    if outnumbered := _outnumbered(ours, known):
        kept = f"{pages.file} keeps its figures of more runs than these for {outnumbered}"
        observer.on_note(f"{kept}; give another --out for a table of these alone")
    return made


def reproduce_datasets(
    datasets: Sequence[str], out: Path, observer: Observer | None = None
) -> Record:
    """Table 1: nothing is trained."""
    make_results_folder(out)
    return write_statistics(dataset_document(datasets, observer or Observer()), out)


def _outnumbered(ours: Records, known: Records) -> str:
    """The cells that show earlier figures though they were run again, by comma."""
    runs = {place: len(record.get("seeds", ())) for place, record in known.items()}
    return ", ".join(
        f"{row} on {dataset}"
        for (row, dataset), record in ours.items()
        if record["status"] == DONE and len(record["seeds"]) < runs.get((row, dataset), 0)
    )


def _refuse_other_runs(given: Mapping[str, Any]) -> None:
    """A row is one method, a column one graph; a method's own settings may well be given."""
    for key, instead in _ASKED_OTHERWISE.items():
        if key in given and (key != "method" or "kind" in given[key]):
            raise ConfigError(f"--set {key} would fill the table with other runs: {instead}")


def _chooser(spec: Table, request: Request) -> Callable[[Row, str], bool]:
    """Whether a row on a graph is asked for."""
    for name in request.datasets:
        if name not in spec.columns:
            raise UnknownName("dataset", name, spec.columns)
    rows = [row.name for name in request.methods for row in _called(spec, name)]

    def wanted(row: Row, dataset: str) -> bool:
        here = not request.datasets or dataset in request.datasets
        return here and (not request.methods or row.name in rows)

    return wanted


def _called(spec: Table, name: str) -> list[Row]:
    """The rows of a name: as the table has it, or else a method's, or else in other letters."""
    for same in (
        lambda row: name in (row.name, row.series),
        lambda row: name == row.method,
        lambda row: name.lower() in (row.name.lower(), (row.series or row.name).lower()),
    ):
        if rows := [row for row in spec.rows if same(row)]:
            return rows
    raise UnknownName("method", name, {row.series or row.name for row in spec.rows})
