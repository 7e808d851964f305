"""Fill a table cell by cell, each kept as soon as it is finished."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from mgae.core.errors import (
    ConfigError,
    MGAEError,
    MissingData,
    RunDirectoryError,
    UnknownName,
    UnsupportedError,
)
from mgae.core.graph import MessageGraph
from mgae.data.atomic import locked
from mgae.data.datasets.sources import has_twins
from mgae.data.opening import open_graph
from mgae.paper.document import (
    NO_DATA,
    REFUSED,
    Measured,
    Outcome,
    Outcomes,
    Refused,
    StatisticsDocument,
    TableDocument,
    Unmeasured,
    outcome_of,
)
from mgae.paper.pages import TablePages, make_results_folder, write_statistics
from mgae.paper.plan import Cell, Row, Table, table
from mgae.paper.statistics import dataset_document
from mgae.runs.cells import CellResult, cell_folder, finished_runs, run_cell
from mgae.runs.config import RunConfig
from mgae.runs.memory import fitted
from mgae.runs.observer import Observer
from mgae.runs.parallel import as_they_come

_OPTION_INSTEAD = {
    "graph": "use --datasets",
    "task": "name a table of that task",
    "method": "use --methods",
    "protocol": "use --protocol",
    "runs": "use --runs",
}


class TableObserver(Observer):
    """Receive the progress of a table; this one does nothing with it."""

    def on_plan(
        self,
        table: Table,
        cells: list[Cell],
        earlier: Mapping[int, Outcome],
        finished: Mapping[int, int],
    ) -> None:
        """Receive what will be run, earlier figures of its cells, and its finished runs."""

    def on_outcome(self, index: int, outcome: Outcome) -> None:
        """Receive the figures of a cell of the plan, or why it has none."""


@dataclass(frozen=True)
class Request:
    """What is to be reproduced.

    Attributes:
        datasets, methods: those to run, by name; none: all. A method may be named as its row is.
        runs: of every cell, instead of what the table has.
        given: settings that override those of the experiment files.
    """

    name: str
    protocol: str = "paper"
    datasets: Sequence[str] = ()
    methods: Sequence[str] = ()
    runs: int | None = None
    out: Path = Path("results")
    jobs: int = 1
    given: Mapping[str, Any] = field(default_factory=dict)


def reproduce(request: Request, observer: TableObserver | None = None) -> TableDocument:
    """Run what is missing of a table, and write it; the same again continues where it stopped.

    Raises:
        UnknownName: if a table, graph or row is unknown.
        RunDirectoryError: if nothing can be written, or a stored file is damaged.
        ConfigError: if the settings given would put another graph or method into the cells.
    """
    observer = observer or TableObserver()
    _refuse_other_runs(request.given)
    if has_twins():
        raise ConfigError(
            "MGAE_DATA has drawn twins, whose figures mean nothing: add --estimate, or set it to "
            "real data"
        )
    spec = table(request.name, request.protocol)
    wanted = chooser(spec, request)
    cells = spec.cells(request.given, request.runs, wanted)
    chosen = [cell for cell in cells if wanted(cell.row, cell.dataset)]
    pages = TablePages(spec, cells, request.given, request.out)
    folder = make_results_folder(request.out)
    known = pages.known()
    finished = [finished_runs(cell.config, cell_folder(folder, cell.config)) for cell in chosen]
    keys = enumerate((cell.row.name, cell.dataset) for cell in chosen)
    earlier = {index: known[key] for index, key in keys if key in known}
    observer.on_plan(spec, chosen, earlier, dict(enumerate(finished)))
    ours: Outcomes = {}
    try:
        for index, outcome in _outcomes(chosen, folder, request.jobs, observer):
            ours[chosen[index].row.name, chosen[index].dataset] = outcome
            observer.on_outcome(index, outcome)
            pages.write(ours)
    finally:
        made = pages.write(ours, drawn=True)
    if outnumbered := _outnumbered(ours, known):
        kept = f"{pages.file} keeps its figures of more runs than these for {outnumbered}"
        observer.on_note(f"{kept}; give another --out for a table of these alone")
    return made


def reproduce_datasets(
    datasets: Sequence[str], out: Path, observer: Observer | None = None
) -> StatisticsDocument:
    """Write Table 1; nothing is trained."""
    make_results_folder(out)
    return write_statistics(dataset_document(datasets, observer or Observer()), out)


def _outnumbered(ours: Outcomes, known: Outcomes) -> str:
    """Return the cells that show earlier figures though they were run again, by comma."""
    return ", ".join(
        f"{row} on {dataset}"
        for (row, dataset), outcome in ours.items()
        if isinstance(outcome, Measured)
        and (row, dataset) in known
        and outcome.runs < known[row, dataset].runs
    )


def _refuse_other_runs(given: Mapping[str, Any]) -> None:
    """Refuse settings that choose the method or the graph; a method's own settings may be given."""
    for key, instead in _OPTION_INSTEAD.items():
        if key in given and (key != "method" or "kind" in given[key]):
            raise ConfigError(f"--set {key} would fill the table with other runs: {instead}")


def chooser(spec: Table, request: Request) -> Callable[[Row, str], bool]:
    """Return whether a row on a graph is asked for, as a function."""
    for name in request.datasets:
        if name not in spec.columns:
            raise UnknownName("dataset", name, spec.columns)
    rows = [row.name for name in request.methods for row in _called(spec, name)]

    def wanted(row: Row, dataset: str) -> bool:
        here = not request.datasets or dataset in request.datasets
        return here and (not request.methods or row.name in rows)

    return wanted


def _called(spec: Table, name: str) -> list[Row]:
    """Return the rows of a name: as in the table, or else a method's, or else in other case."""
    for same in (
        lambda row: name in (row.name, row.series),
        lambda row: name == row.method,
        lambda row: name.lower() in (row.name.lower(), (row.series or row.name).lower()),
    ):
        if rows := [row for row in spec.rows if same(row)]:
            return rows
    raise UnknownName("method", name, {row.series or row.name for row in spec.rows})


def _outcomes(
    cells: list[Cell], folder: Path, jobs: int, observer: Observer
) -> Iterator[tuple[int, Outcome]]:
    """Yield the index of each cell in ``cells`` and its outcome, as they come."""
    parallel = jobs > 1
    made = _in_processes(cells, folder, jobs) if parallel else _in_turn(cells, folder, observer)
    for index, outcome in made:
        if isinstance(outcome, Unmeasured) and outcome.reason:
            observer.on_note(outcome.reason)
        yield index, outcome


def _in_turn(cells: list[Cell], folder: Path, observer: Observer) -> Iterator[tuple[int, Outcome]]:
    for index, cell in enumerate(cells):
        observer.on_cell(f"{cell.row.name} on {cell.dataset}", index, len(cells))
        yield index, _run_one(cell, folder, observer)


def _run_one(cell: Cell, folder: Path, observer: Observer | None = None) -> Outcome:
    """Return a cell's figures, or the reason why it has none."""
    try:
        graph = _graph(cell.dataset)
        _refuse_sampling(cell.config, graph)
        trained = None
        if cell.trained is not None:
            trained = _run(cell.trained, folder, graph, observer)[1]
        finished, _ = _run(cell.config, folder, graph, observer, trained)
    except RunDirectoryError:
        raise  # what is stored is damaged: this says nothing about the method
    except MissingData as error:
        return Unmeasured(status=NO_DATA, reason=str(error))
    except MGAEError as error:
        return Refused(status=REFUSED, reason=str(error))
    return outcome_of(cell, finished)


def _run(
    config: RunConfig,
    folder: Path,
    graph: Data,
    observer: Observer | None,
    trained: Path | None = None,
) -> tuple[CellResult, Path]:
    home = cell_folder(folder, config)
    # Two tables may share a cell, and two commands may fill them at the same time.
    with locked(home.with_name(f"{home.name}.lock")):
        return run_cell(config, home, graph, observer, trained), home


def _refuse_sampling(config: RunConfig, graph: Data) -> None:
    """Refuse to sample for lack of memory: a table must state what was run."""
    chosen, note = fitted(config, MessageGraph.of(graph))
    if chosen.train.fanouts != config.train.fanouts:
        raise UnsupportedError(f"{note}; ask for that with --set train.fanouts, or free memory")


@lru_cache(maxsize=1)
def _graph(name: str) -> Data:
    return open_graph(name)


def _in_processes(cells: list[Cell], folder: Path, jobs: int) -> Iterator[tuple[int, Outcome]]:
    """Run several at once; those that measure others' models after these."""
    for phase in (False, True):
        indices = [index for index, cell in enumerate(cells) if (cell.trained is not None) == phase]
        arguments = [(cells[index], folder) for index in indices]
        for number, outcome in as_they_come(_run_one, arguments, jobs):
            yield indices[number], outcome
