"""What a comparison gives back."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mgae.paper import Published, published
from mgae.runs.cells import CellResult
from mgae.runs.config import RunConfig
from mgae.runs.results import RunResult, Summary

MIB = 2**20


@dataclass(frozen=True)
class Row:
    """One method: its figures, or why it has none.

    Attributes:
        config: what was run, with all its seeds.
        trains: whether it is one that learns; the others are heuristics.
        cell: its figures, or None.
        refused: what it says against this graph, or None.
    """

    config: RunConfig
    trains: bool
    cell: CellResult | None = None
    refused: str | None = None

    @property
    def name(self) -> str:
        """The method's."""
        return self.config.method.kind

    @property
    def test(self) -> dict[str, Summary]:
        """The test figures; none where the method refused."""
        return self.cell.result.test if self.cell else {}

    @property
    def published(self) -> Published | None:
        """What the paper printed."""
        return published(self.config)

    @property
    def seconds(self) -> float | None:
        """The mean over the runs, from the first epoch to the figures."""
        if self.cell is None:
            return None
        return statistics.fmean(seed.seconds for seed in self.cell.result.seeds)

    @property
    def peak_mib(self) -> float | None:
        """The most that a run took above its start."""
        peak = self.cell.peak_bytes if self.cell else None
        return None if peak is None else peak / MIB

    def to_json(self) -> dict[str, Any]:
        """Figures of every seed, seconds, memory, and the paper's."""
        paper = self.published
        result = self.cell.result.to_json() if self.cell else {}
        return {
            **result,
            "method": self.name,
            "trains": self.trains,
            "peak_mib": None if self.peak_mib is None else round(self.peak_mib, 1),
            "published": paper.to_json() if paper else None,
            "refused": self.refused,
        }


@dataclass(frozen=True)
class Comparison:
    """All rows, in the order in which they were run."""

    rows: tuple[Row, ...]
    directory: Path

    @property
    def config(self) -> RunConfig:
        """Of the first method: graph, task, protocol, seeds are those of all."""
        return self.rows[0].config

    @property
    def ranked(self) -> list[Row]:
        """Trained methods with figures, the best first."""
        return self._sorted([row for row in self.rows if row.trains and row.cell])

    @property
    def heuristics(self) -> list[Row]:
        """What learns nothing, the best first."""
        return self._sorted([row for row in self.rows if not row.trains and row.cell])

    @property
    def refusals(self) -> list[Row]:
        """Methods without figures."""
        return [row for row in self.rows if row.refused]

    @property
    def metric(self) -> str:
        """What is ranked by."""
        return self._some_result.main_metric

    @property
    def metrics(self) -> list[str]:
        """The columns of a table: what is ranked by, then what the protocol has besides."""
        others = [name for name in self._some_result.shown if name != self.metric]
        # A stable sort: what hard negatives give goes before what random ones do.
        return [self.metric, *sorted(others, key=lambda name: name == "mrr")[:2]]

    @property
    def has_figures(self) -> bool:
        """Whether any method could do it."""
        return any(row.cell for row in self.rows)

    def has_published(self, metric: str) -> bool:
        """Whether the paper has a figure for one of the rows."""
        return any(row.published and metric in row.published.figures for row in self.ranked)

    @property
    def _some_result(self) -> RunResult:
        return next(row.cell.result for row in self.rows if row.cell)

    def _sorted(self, rows: list[Row]) -> list[Row]:
        return sorted(rows, key=lambda row: -row.test[self.metric].mean)

    def to_json(self) -> dict[str, Any]:
        """Everything, the ranked methods first."""
        config = self.config
        return {
            "dataset": config.graph,
            "task": config.task,
            "protocol": config.protocol,
            "runs": config.runs,
            "ranked_by": self.metric,
            "rows": [row.to_json() for row in (*self.ranked, *self.heuristics, *self.refusals)],
            "directory": str(self.directory),
        }
