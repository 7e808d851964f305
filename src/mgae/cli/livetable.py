"""A table that fills in cell by cell; plain lines where it is no terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table as Grid
from rich.text import Text

from mgae.core.training.loop import EpochRecord
from mgae.paper.document import DONE, Record
from mgae.paper.plan import Cell, Table
from mgae.paper.rendering import display, figure_text
from mgae.paper.running import TableObserver
from mgae.paper.timing import in_words, seconds_left
from mgae.runs.config import RunConfig
from mgae.runs.results import heading


class LiveTable(TableObserver):
    """Draws on stderr, so that stdout holds the result alone."""

    def __init__(self, shown: bool, jobs: int) -> None:
        self.console = Console(stderr=True, quiet=not shown, markup=False)
        self.drawing, self.jobs = shown and self.console.is_terminal, jobs
        self.cells: list[Cell] = []
        self.records: dict[int, Record] = {}
        self.earlier: Mapping[int, Record] = {}
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
        earlier: Mapping[int, Record],
        finished: Mapping[int, int],
    ) -> None:
        """An empty table; what an earlier reproduction has tells how long this one takes."""
        self.cells, self.columns = cells, table.columns
        self.earlier, self.finished = earlier, finished

    def on_cell(self, name: str, index: int, count: int) -> None:
        """Its place shows how far it is."""
        self.now = (index, "…")

    def on_note(self, text: str) -> None:
        """A line of its own."""
        self.console.print(f"note: {text}", highlight=False, soft_wrap=True)

    def on_run(self, index: int, config: RunConfig) -> None:
        """Which run of the cell it is."""
        self._progress(f"run {index + 1}")

    def on_epoch(self, record: EpochRecord) -> None:
        """How far the run is."""
        if self.now:
            self._progress(f"{self.now[1].split(',')[0]}, epoch {record.epoch}")

    def on_record(self, index: int, record: Record) -> None:
        """A cell is filled."""
        self.records[index], self.now = record, None
        if not self.drawing:
            cell, count = self.cells[index], f"[{len(self.records)}/{len(self.cells)}]"
            name = f"{cell.row.name} on {display(cell.dataset)}"
            told = f"{count} {name}: {self._figures(index)}; {self._left()}"
            self.console.print(told, highlight=False, soft_wrap=True)

    def _progress(self, text: str) -> None:
        if self.now:
            self.now = (self.now[0], text)

    def _left(self) -> str:
        left = seconds_left(self.cells, self.records, self.earlier, self.finished, self.jobs)
        return f"time left: {in_words(left)}"

    def _view(self) -> Group:
        """Asked for some times a second."""
        told = f"{len(self.records)} of {len(self.cells)} cells; {self._left()}"
        return Group(self._grid(), Text(told))

    def _grid(self) -> Grid:
        """A line for each row, a column for each graph."""
        grid = Grid(box=box.HORIZONTALS, pad_edge=False)
        datasets = [name for name in self.columns if any(c.dataset == name for c in self.cells)]
        grid.add_column("method")
        for dataset in datasets:
            grid.add_column(display(dataset), justify="right")
        places = {(c.row.name, c.dataset): index for index, c in enumerate(self.cells)}
        for name in dict.fromkeys(cell.row.name for cell in self.cells):
            found = (places.get((name, dataset)) for dataset in datasets)
            grid.add_row(name, *("" if index is None else self._text(index) for index in found))
        return grid

    def _text(self, index: int) -> str:
        if index in self.records:
            return self._figures(index, named=False)
        return self.now[1] if self.now and self.now[0] == index else "·"

    def _figures(self, index: int, named: bool = True) -> str:
        """All metrics of a cell, or what stands in their place."""
        cell, record = self.cells[index], self.records[index]
        if record["status"] != DONE:
            return str(record["status"])
        found = {metric: figure_text(record, metric) for metric in self.columns[cell.dataset]}
        if not named:
            return " / ".join(found.values())
        return ", ".join(f"{heading(metric)} {text}" for metric, text in found.items())
