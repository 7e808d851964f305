"""A table's plan: its rows, its graphs, and the run set that fills each cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from mgae.core.errors import ConfigError, UnknownName
from mgae.registry import METHODS, PARTS
from mgae.runs.cells import config_hash
from mgae.runs.config import RunConfig
from mgae.runs.layering import merge
from mgae.runs.presets import paper_config


@dataclass(frozen=True)
class Row:
    """One row of a table; ``series`` and ``ratio`` are a curve's name and its place on it.

    ``trained_as`` names the row whose models this one measures anew; its ``settings`` lie above
    those of that row.
    """

    name: str
    method: str
    encoder: str | None = None
    group: str = "baseline"
    settings: Mapping[str, Any] = field(default_factory=dict)
    only: Sequence[str] = ()
    runs: Mapping[str, int] = field(default_factory=dict)
    trained_as: str | None = None
    series: str | None = None
    ratio: float | None = None


@dataclass(frozen=True)
class Cell:
    """A row on a graph: the run set that fills it."""

    row: Row
    dataset: str
    config: RunConfig
    is_papers: bool
    trained: RunConfig | None = None

    @cached_property
    def config_hash(self) -> str:
        """A checksum of the settings."""
        return config_hash(self.config)


@dataclass(frozen=True)
class Table:
    """A table under a protocol; ``columns`` are the metrics of each graph."""

    name: str
    title: str
    source: str
    task: str
    protocol: str
    caption: str
    kind: str
    columns: Mapping[str, Sequence[str]]
    rows: tuple[Row, ...]
    runs: Mapping[str, int]
    settings: Mapping[str, Any]

    def cells(
        self,
        given: Mapping[str, Any],
        runs: int | None = None,
        chosen: Callable[[Row, str], bool] = lambda row, dataset: True,
    ) -> list[Cell]:
        """All of them, graph by graph; those that only measure another's models come last.

        Raises:
            ConfigError: where a ``chosen`` one has no use for what is given.
        """
        cells = [
            self._cell(row, dataset, given, runs, chosen(row, dataset))
            for dataset in self.columns
            for row in self.rows
            if not row.only or dataset in row.only
        ]
        return sorted(cells, key=lambda cell: cell.trained is not None)

    def _cell(
        self, row: Row, dataset: str, given: Mapping[str, Any], runs: int | None, chosen: bool
    ) -> Cell:
        try:
            return self._built(row, dataset, given, runs)
        except ConfigError:
            if chosen:
                raise
            return self._built(row, dataset, {}, runs)

    def _built(self, row: Row, dataset: str, given: Mapping[str, Any], runs: int | None) -> Cell:
        usual = self.runs.get(dataset, self.runs["default"])
        about = {
            "graph": dataset,
            "task": self.task,
            "protocol": self.protocol,
            "method": row.method,
            "encoder": row.encoder,
            "runs": runs or row.runs.get(dataset, usual),
            "evaluation": {"heuristics": ()},
        }
        shared = _taken(row, given)
        plain = paper_config(**merge(about, shared))
        measured = self._named(row.trained_as).settings if row.trained_as else {}
        own = merge(self.settings.get(dataset, {}), measured, row.settings)
        config = paper_config(**merge(about, own, shared)) if own else plain
        is_papers = config_hash(config) == config_hash(plain)
        return Cell(row, dataset, config, is_papers, self._trained(row, dataset, given, runs))

    def _trained(
        self, row: Row, dataset: str, given: Mapping[str, Any], runs: int | None
    ) -> RunConfig | None:
        """The run set of the row whose models are measured again, with as many runs."""
        if row.trained_as is None:
            return None
        trained = replace(self._named(row.trained_as), runs=row.runs)
        return self._built(trained, dataset, given, runs).config

    def _named(self, name: str) -> Row:
        named = {row.name: row for row in self.rows}
        if name not in named:
            raise UnknownName("row", name, named)
        return named[name]


def _taken(row: Row, given: Mapping[str, Any]) -> dict[str, Any]:
    """Of what is given for all rows: not a part that the method lacks, nor training for a floor."""
    known = METHODS[row.method].extras["parts"]
    taken = {key: value for key, value in given.items() if key not in PARTS or key in known}
    if row.group != "floor":
        return taken
    return {key: value for key, value in taken.items() if key in ("seed", "split", "evaluation")}
