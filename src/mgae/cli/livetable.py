"""A table that fills in cell by cell, or plain lines if the output is no terminal."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Self

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table as Grid
from rich.text import Text

from mgae.core.training.state import EpochRecord
from mgae.paper.document import Measured, Outcome, display
from mgae.paper.plan import Cell, Table
from mgae.paper.running import TableObserver
from mgae.runs.config import RunConfig
from mgae.runs.results import heading


class LiveTable(TableObserver):
    """Draw on stderr, so that stdout holds the result alone."""

    def __init__(self, shown: bool, jobs: int) -> None:
        self.console = Console(stderr=True, quiet=not shown, markup=False)
        self.drawing, self.jobs = shown and self.console.is_terminal, jobs
        self.cells: list[Cell] = []
        self.outcomes: dict[int, Outcome] = {}
        self.earlier: Mapping[int, Outcome] = {}
        self.finished: Mapping[int, int] = {}
        self.columns: Mapping[str, Sequence[str]] = {}
        self.now: tuple[int, str] | None = None
        self.live = Live(
            console=self.console, get_renderable=self._view, transient=True, refresh_per_second=2
        )

    def __enter__(self) -> Self:
        if self.drawing:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.drawing:
            self.live.stop()

    def on_plan(
        self,
        table: Table,
        cells: list[Cell],
        earlier: Mapping[int, Outcome],
        finished: Mapping[int, int],
    ) -> None:
        """Start with an empty table; earlier figures tell how long this one takes."""
        self.cells, self.columns = cells, table.columns
        self.earlier, self.finished = earlier, finished

    def on_cell(self, name: str, index: int, count: int) -> None:
        """Show that a cell is running."""
        self.now = (index, "…")

    def on_note(self, text: str) -> None:
        """Print a line of its own."""
        self.console.print(f"note: {text}", highlight=False, soft_wrap=True)

    def on_run(self, index: int, config: RunConfig) -> None:
        """Show which run of the cell it is."""
        self._progress(f"run {index + 1}")

    def on_epoch(self, record: EpochRecord) -> None:
        """Show which epoch it is."""
        if self.now:
            self._progress(f"{self.now[1].split(',')[0]}, epoch {record.epoch}")

    def on_outcome(self, index: int, outcome: Outcome) -> None:
        """Fill a cell."""
        self.outcomes[index], self.now = outcome, None
        if not self.drawing:
            cell, count = self.cells[index], f"[{len(self.outcomes)}/{len(self.cells)}]"
            name = f"{cell.row.name} on {display(cell.dataset)}"
            line = f"{count} {name}: {self._figures(index)}; {self._left()}"
            self.console.print(line, highlight=False, soft_wrap=True)

    def _progress(self, text: str) -> None:
        if self.now:
            self.now = (self.now[0], text)

    def _left(self) -> str:
        left = seconds_left(self.cells, self.outcomes, self.earlier, self.finished, self.jobs)
        return f"time left: {in_words(left)}"

    def _view(self) -> Group:
        """Return what is drawn, some times a second."""
        count = f"{len(self.outcomes)} of {len(self.cells)} cells"
        return Group(self._grid(), Text(f"{count}; {self._left()}"))

    def _grid(self) -> Grid:
        """Return a line for each row, a column for each graph."""
        grid = Grid(box=box.HORIZONTALS, pad_edge=False)
        datasets = [name for name in self.columns if any(c.dataset == name for c in self.cells)]
        grid.add_column("method")
        for dataset in datasets:
            grid.add_column(display(dataset), justify="right")
        indices = {(c.row.name, c.dataset): index for index, c in enumerate(self.cells)}
        for name in dict.fromkeys(cell.row.name for cell in self.cells):
            own = (indices.get((name, dataset)) for dataset in datasets)
            grid.add_row(name, *("" if index is None else self._text(index) for index in own))
        return grid

    def _text(self, index: int) -> str:
        if index in self.outcomes:
            return self._figures(index, named=False)
        return self.now[1] if self.now and self.now[0] == index else "·"

    def _figures(self, index: int, named: bool = True) -> str:
        """Return all metrics of a cell, or why it has none."""
        outcome = self.outcomes[index]
        if not isinstance(outcome, Measured):
            return outcome.status
        metrics = self.columns[self.cells[index].dataset]
        if not named:
            return " / ".join(map(outcome.text, metrics))
        return ", ".join(f"{heading(metric)} {outcome.text(metric)}" for metric in metrics)


def seconds_left(
    cells: Sequence[Cell],
    outcomes: Mapping[int, Outcome],
    earlier: Mapping[int, Outcome],
    finished: Mapping[int, int],
    jobs: int,
) -> float | None:
    """Estimate the time left from the cells that have figures; return None before the first.

    A run takes as long as the mean run on its graph, heuristics apart, or else as the mean of all;
    what an ``earlier`` reproduction has measured counts. Of each cell so many runs are
    ``finished`` and only read again.
    """
    known: dict[tuple[str, bool], list[float]] = {}
    for index, outcome in {**earlier, **outcomes}.items():
        if isinstance(outcome, Measured):
            known.setdefault(_kind(cells[index]), []).extend(outcome.seconds)
    if not known:
        return None
    usual = statistics.fmean(value for values in known.values() for value in values)
    means = {kind: statistics.fmean(values) for kind, values in known.items()}
    rest = [(index, cell) for index, cell in enumerate(cells) if index not in outcomes]
    missing = ((cell, cell.config.runs - finished.get(index, 0)) for index, cell in rest)
    return sum(runs * means.get(_kind(cell), usual) for cell, runs in missing) / jobs


def in_words(seconds: float | None) -> str:
    """Return a time as one says it.

    >>> in_words(40), in_words(400), in_words(40000), in_words(None)
    ('40 s', '7 min', '11.1 h', 'unknown')
    """
    if seconds is None:
        return "unknown"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _kind(cell: Cell) -> tuple[str, bool]:
    return cell.dataset, cell.row.group == "heuristic"
