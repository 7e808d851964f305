"""One bar on stderr for reading or fetching; silent if it is no terminal."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn


class StageProgress:
    """Draw one bar for reading or fetching, from the beginning to the end of a block."""

    def __init__(self, shown: bool = True) -> None:
        console = Console(stderr=True, markup=False)
        described = TextColumn("{task.description}", markup=False)
        left = TimeRemainingColumn(compact=True)
        columns = (described, BarColumn(), TaskProgressColumn(), left)
        hidden = not (shown and console.is_terminal)
        self.progress = Progress(*columns, console=console, disable=hidden, transient=True)
        self.bar = self.progress.add_task("", total=None)

    def __enter__(self) -> Self:
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def on_share(self, stage: str, share: float) -> None:
        """Show a stage, and how much of the whole is done."""
        self.progress.update(self.bar, description=stage, completed=share, total=1.0)

    def on_bytes(self, file: str, done: int, total: int | None) -> None:
        """Show a file, and how many of its bytes are here."""
        self.progress.update(self.bar, description=file, completed=done, total=total)
