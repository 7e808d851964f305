"""Draw progress bars on stderr; silent if it is no terminal."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from torch_geometric.data import Data

from mgae.core.training.loop import EpochRecord
from mgae.data.datasets.loading import statistics
from mgae.evaluation.monitors import LOSS
from mgae.runs.config import RunConfig
from mgae.runs.observer import Observer


class _Drawn:
    """Draw a bar from the beginning to the end of a block."""

    progress: Progress

    def __enter__(self) -> Self:
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()


class StageProgress(_Drawn):
    """Draw one bar for reading or fetching."""

    def __init__(self, shown: bool = True) -> None:
        console = Console(stderr=True, markup=False)
        described = TextColumn("{task.description}", markup=False)
        left = TimeRemainingColumn(compact=True)
        columns = (described, BarColumn(), TaskProgressColumn(), left)
        hidden = not (shown and console.is_terminal)
        self.progress = Progress(*columns, console=console, disable=hidden, transient=True)
        self.bar = self.progress.add_task("", total=None)

    def on_share(self, stage: str, share: float) -> None:
        """Show a stage, and how much of the whole is done."""
        self.progress.update(self.bar, description=stage, completed=share, total=1.0)

    def on_bytes(self, file: str, done: int, total: int | None) -> None:
        """Show a file, and how many of its bytes are here."""
        self.progress.update(self.bar, description=file, completed=done, total=total)


class ProgressObserver(_Drawn, Observer):
    """Draw a bar with loss and validation score; stdout holds the result alone.

    Notes are kept in ``notes``, and printed even if nothing else is ``shown``.
    """

    def __init__(self, shown: bool, notes_shown: bool = True) -> None:
        self.console = Console(stderr=True, quiet=not (shown or notes_shown), markup=False)
        self.shown = shown
        self.notes: list[str] = []
        self.progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}", markup=False),
            TimeRemainingColumn(compact=True),
            console=self.console,
            disable=not (shown and self.console.is_terminal),
            transient=True,
        )
        self.bar = self.progress.add_task("", state="", visible=False)
        self.cell, self.monitor, self.best = "", "auc", 0.0

    def on_graph(self, graph: Data) -> None:
        """Print the counts and notes of the graph."""
        counts = ", ".join(f"{count:,} {what}" for what, count in statistics(graph).items())
        if self.shown:
            self.console.print(f"{graph.get('name') or 'graph'}: {counts}", highlight=False)
        for note in graph.get("notes") or ():
            self.on_note(note)

    def on_note(self, text: str) -> None:
        """Print a line of its own, and keep it."""
        self.notes.append(text)
        self.console.print(f"note: {text}", highlight=False, soft_wrap=True)

    def on_cell(self, name: str, index: int, count: int) -> None:
        """Show its name before the run's."""
        self.cell = f"{name} ({index + 1}/{count}), "

    def on_run(self, index: int, config: RunConfig) -> None:
        """Start a new bar."""
        self.monitor, self.best = config.train.monitor, 0.0
        description = f"{self.cell}run {index + 1}, seed {config.seed}"
        total = config.train.epochs
        self.progress.reset(self.bar, total=total, description=description, state="", visible=True)

    def on_epoch(self, record: EpochRecord) -> None:
        """Advance the bar."""
        self.best = max(self.best, record.score or 0.0)
        state = f"loss {record.loss:.3f}"
        if self.monitor != LOSS:
            state += f", best validation {self.monitor} {self.best:.2f}"
        self.progress.update(self.bar, completed=record.epoch, state=state)

    def on_stage(self, text: str) -> None:
        """Show what takes its time."""
        self.progress.update(self.bar, state=text, visible=True)
