"""Show the progress of a command on stderr; without a terminal only its notes."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from torch_geometric.data import Data

from mgae.data.datasets.loading import statistics
from mgae.runs.bars import Progress, TerminalBar


class ProgressObserver(Progress):
    """Draw a bar with loss and validation score; stdout holds the result alone.

    Notes are kept in ``notes``, and printed even if nothing else is ``shown``.
    """

    def __init__(self, shown: bool, notes_shown: bool = True) -> None:
        self.console = Console(stderr=True, quiet=not (shown or notes_shown), markup=False)
        self.shown = shown
        self.notes: list[str] = []
        self.drawn = TerminalBar(self.console, shown)
        super().__init__(self.drawn)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.drawn.close()

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

    def on_warning(self, text: str) -> None:
        """Print it as a note."""
        self.on_note(text)
