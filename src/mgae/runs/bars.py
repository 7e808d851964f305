"""Progress of a training: a bar in a terminal or in a notebook."""

from __future__ import annotations

import html
import sys
import time
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from mgae.evaluation.monitors import LOSS
from mgae.runs.observer import LogObserver

if TYPE_CHECKING:
    from mgae.core.training.state import EpochRecord
    from mgae.runs.config import RunConfig

_SECONDS_BETWEEN = 0.1  # two drawings in a notebook


class Bar(Protocol):
    """Where progress is drawn."""

    def begin(self, description: str, total: int) -> None:
        """Start with nothing done."""

    def update(self, completed: int | None, state: str) -> None:
        """Show how many epochs are done, and what is known of them; None: as many as before."""

    def close(self) -> None:
        """Draw nothing more."""


class Progress(LogObserver):
    """Draw a bar while a run trains, in a notebook or on a terminal; elsewhere draw nothing.

    Notes are logged and warnings given as without it.

    >>> import mgae
    >>> config = mgae.RunConfig(train={"epochs": 1})
    >>> mgae.run(config, observer=mgae.Progress()).seeds[0].epochs
    1
    """

    def __init__(self, bar: Bar | None = None) -> None:
        self.bar: Bar = bar or (NotebookBar() if in_notebook() else TerminalBar())
        self.cell, self.monitor, self.best, self.state = "", "auc", 0.0, ""

    def on_cell(self, name: str, index: int, count: int) -> None:
        """Show its name before the run's."""
        self.cell = f"{name} ({index + 1}/{count}), "

    def on_run(self, index: int, config: RunConfig) -> None:
        """Start a new bar."""
        self.monitor, self.best = config.train.monitor, 0.0
        description = f"{self.cell}run {index + 1}, seed {config.seed}"
        self.bar.begin(description, config.train.epochs)

    def on_epoch(self, record: EpochRecord) -> None:
        """Advance the bar."""
        self.best = max(self.best, record.score or 0.0)
        self.state = f"loss {record.loss:.3f}"
        if self.monitor != LOSS:
            self.state += f", best validation {self.monitor} {self.best:.2f}"
        self.bar.update(record.epoch, self.state)

    def on_stage(self, text: str) -> None:
        """Show what takes its time."""
        self.bar.update(None, text)

    def on_end(self) -> None:
        """Let the bar end with what is known of the last epoch."""
        if self.state:
            self.bar.update(None, self.state)
        self.bar.close()


class TerminalBar:
    """A bar on stderr, if that is a terminal."""

    def __init__(self, console: Console | None = None, shown: bool = True) -> None:
        console = console or Console(stderr=True, markup=False)
        self.progress = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}", markup=False),
            TimeRemainingColumn(compact=True),
            console=console,
            disable=not (shown and console.is_terminal),
            transient=True,
        )
        self.task = self.progress.add_task("", state="", visible=False)

    def begin(self, description: str, total: int) -> None:
        """Draw an empty bar."""
        self.progress.start()
        self.progress.reset(self.task, total=total, description=description, state="", visible=True)

    def update(self, completed: int | None, state: str) -> None:
        """Draw it as it is now."""
        self.progress.start()
        self.progress.update(self.task, completed=completed, state=state, visible=True)

    def close(self) -> None:
        """Remove it."""
        self.progress.stop()


class NotebookBar:
    """A bar under a notebook's cell; the last state of it stays there."""

    def __init__(self) -> None:
        self.description, self.state, self.completed, self.total = "", "", 0, 0
        self.started = self.drawn = 0.0
        self.handle: Any = None

    def begin(self, description: str, total: int) -> None:
        """Draw an empty bar."""
        from IPython.display import display  # noqa: PLC0415 - a notebook has it

        self.description, self.state, self.completed, self.total = description, "", 0, total
        self.started = time.perf_counter()
        self.handle = display(self, display_id=True)

    def update(self, completed: int | None, state: str) -> None:
        """Draw it as it is now, if the last drawing was not just before."""
        self.completed = self.completed if completed is None else completed
        self.state = state
        if self.handle is not None and time.perf_counter() - self.drawn > _SECONDS_BETWEEN:
            self._draw()

    def close(self) -> None:
        """Draw the last state."""
        if self.handle is not None:
            self._draw()
            self.handle = None

    def _draw(self) -> None:
        self.drawn = time.perf_counter()
        self.handle.update(self)

    @property
    def text(self) -> str:
        """What stands beside the bar."""
        seconds = max(0.0, self.drawn - self.started)
        done = f"{self.completed}/{self.total} epochs, {seconds:.0f} s"
        return ", ".join(part for part in (done, self.state) if part)

    def __repr__(self) -> str:
        return f"{self.description}: {self.text}"

    def _repr_html_(self) -> str:
        bar = f"<progress value='{self.completed}' max='{self.total}'></progress>"
        return f"<div>{html.escape(self.description)} {bar} {html.escape(self.text)}</div>"


def in_notebook() -> bool:
    """Return whether this is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")
