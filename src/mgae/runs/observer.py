"""Observers of a run: what they hear of, and what becomes of notes and warnings."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mgae.core.errors import MGAEWarning

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from mgae.core.training.state import EpochRecord
    from mgae.runs.config import RunConfig
    from mgae.runs.results import SeedResult

LOGGER = logging.getLogger("mgae")


class Observer:
    """Gets each event of a run; this one ignores them all.

    >>> class Losses(Observer):
    ...     def __init__(self):
    ...         self.losses = []
    ...
    ...     def on_epoch(self, record):
    ...         self.losses.append(record.loss)
    >>> import mgae
    >>> losses = Losses()
    >>> result = mgae.run(mgae.RunConfig(train={"epochs": 2}), observer=losses)
    >>> len(losses.losses)
    2
    """

    def on_graph(self, graph: Data) -> None:
        """Take note that the graph is read."""

    def on_cell(self, name: str, index: int, count: int) -> None:
        """Take note that one of ``count`` run sets begins."""

    def on_note(self, text: str) -> None:
        """Take a note for the user."""

    def on_warning(self, text: str) -> None:
        """Take a note of what puts the result in doubt."""
        self.on_note(text)

    def on_run(self, index: int, config: RunConfig) -> None:
        """Take note that run ``index`` begins."""

    def on_epoch(self, record: EpochRecord) -> None:
        """Take note of a finished epoch."""

    def on_stage(self, text: str) -> None:
        """Take note that another stage begins that may take a while."""

    def on_result(self, config: RunConfig, result: SeedResult) -> None:
        """Take note of the figures of a run, its last word."""

    def on_end(self) -> None:
        """Take note that all runs are done, or that one has failed."""


class LogObserver(Observer):
    """Log notes under the name ``mgae``, and warn of what puts the result in doubt.

    What a script or a notebook has if it gives no observer.
    """

    def on_graph(self, graph: Data) -> None:
        """Log the notes of the graph."""
        for note in graph.get("notes") or ():
            self.on_note(note)

    def on_note(self, text: str) -> None:
        """Log a note."""
        LOGGER.info(text)

    def on_warning(self, text: str) -> None:
        """Warn."""
        warnings.warn(text, MGAEWarning, stacklevel=2)


@contextmanager
def ended(observer: Observer) -> Iterator[None]:
    """Tell an observer at the end of a block, however it ends."""
    try:
        yield
    finally:
        observer.on_end()


class Observers(Observer):
    """Passes events on to several observers; a function is called with each epoch's record."""

    def __init__(self, observers: Iterable[Observer | Callable[[EpochRecord], object]]) -> None:
        self.observers = [one if isinstance(one, Observer) else _Called(one) for one in observers]

    def on_graph(self, graph: Data) -> None:
        """Pass it on."""
        for observer in self.observers:
            observer.on_graph(graph)

    def on_cell(self, name: str, index: int, count: int) -> None:
        """Pass it on."""
        for observer in self.observers:
            observer.on_cell(name, index, count)

    def on_note(self, text: str) -> None:
        """Pass it on."""
        for observer in self.observers:
            observer.on_note(text)

    def on_warning(self, text: str) -> None:
        """Pass it on."""
        for observer in self.observers:
            observer.on_warning(text)

    def on_run(self, index: int, config: RunConfig) -> None:
        """Pass it on."""
        for observer in self.observers:
            observer.on_run(index, config)

    def on_epoch(self, record: EpochRecord) -> None:
        """Pass it on."""
        for observer in self.observers:
            observer.on_epoch(record)

    def on_stage(self, text: str) -> None:
        """Pass it on."""
        for observer in self.observers:
            observer.on_stage(text)

    def on_result(self, config: RunConfig, result: SeedResult) -> None:
        """Pass it on."""
        for observer in self.observers:
            observer.on_result(config, result)

    def on_end(self) -> None:
        """Pass it on."""
        for observer in self.observers:
            observer.on_end()


class _Called(Observer):
    """Call a function with each epoch's record."""

    def __init__(self, function: Callable[[EpochRecord], object]) -> None:
        self.function = function

    def on_epoch(self, record: EpochRecord) -> None:
        """Call it."""
        self.function(record)
