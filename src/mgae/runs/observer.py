"""Who is told how a run goes."""

from __future__ import annotations

from collections.abc import Sequence

from torch_geometric.data import Data

from mgae.core.training.loop import EpochRecord
from mgae.runs.config import RunConfig
from mgae.runs.results import SeedResult


class Observer:
    """Is told how a run goes; this one keeps it to itself."""

    def on_graph(self, graph: Data) -> None:
        """Take note that the graph is read."""

    def on_cell(self, name: str, index: int, count: int) -> None:
        """Take note that one of ``count`` run sets begins."""

    def on_note(self, text: str) -> None:
        """Take a note for the user."""

    def on_run(self, index: int, config: RunConfig) -> None:
        """Run ``index`` begins."""

    def on_epoch(self, record: EpochRecord) -> None:
        """Take note of a finished epoch."""

    def on_stage(self, text: str) -> None:
        """Take note that another stage begins that may take a while."""

    def on_result(self, config: RunConfig, result: SeedResult) -> None:
        """Take note of the figures of a run, its last word."""


class Observers(Observer):
    """Tells several observers, in turn."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self.observers = observers

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
