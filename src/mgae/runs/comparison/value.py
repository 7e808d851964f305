"""The result of a comparison."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mgae.runs.cells import CellResult
from mgae.runs.config import RunConfig
from mgae.runs.presets import Published, published
from mgae.runs.results import RunResult, Summary


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
        """Return the method's name."""
        return self.config.method.kind

    @property
    def test(self) -> dict[str, Summary]:
        """Return the test figures; none if the method refused."""
        return self.cell.result.test if self.cell else {}

    @property
    def published(self) -> Published | None:
        """Return what the paper printed."""
        return published(self.config)

    def paper_mean(self, metric: str) -> float | None:
        """Return the paper's mean, if it has one."""
        return self.published.mean(metric) if self.published else None

    @property
    def seconds(self) -> float | None:
        """Return the mean over the runs, from the first epoch to the figures."""
        if self.cell is None:
            return None
        return statistics.fmean(seed.seconds for seed in self.cell.result.seeds)

    @property
    def peak_mib(self) -> float | None:
        """Return the most memory that a run took above its start."""
        peak = self.cell.peak_bytes if self.cell else None
        return None if peak is None else peak / 2**20

    def to_json(self) -> dict[str, Any]:
        """Return figures of every seed, seconds, memory, and the paper's figures."""
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
        """Return the first method's: graph, task, protocol and seeds are those of all."""
        return self.rows[0].config

    @property
    def ranked(self) -> list[Row]:
        """Return trained methods with figures, the best first."""
        return self._sorted([row for row in self.rows if row.trains and row.cell])

    @property
    def heuristics(self) -> list[Row]:
        """Return what learns nothing, the best first."""
        return self._sorted([row for row in self.rows if not row.trains and row.cell])

    @property
    def refusals(self) -> list[Row]:
        """Return methods without figures."""
        return [row for row in self.rows if row.refused]

    @property
    def metric(self) -> str:
        """Return the metric to rank by."""
        return self._some_result.main_metric

    @property
    def metrics(self) -> list[str]:
        """Return the columns of a table: the metric to rank by, then others of the protocol."""
        others = [name for name in self._some_result.shown if name != self.metric]
        # The sort is stable: figures on hard negatives come before those on random ones.
        return [self.metric, *sorted(others, key=lambda name: name == "mrr")[:2]]

    @property
    def has_figures(self) -> bool:
        """Return whether any method could do it."""
        return any(row.cell for row in self.rows)

    def has_published(self, metric: str) -> bool:
        """Return whether the paper has a figure for one of the rows."""
        return any(row.paper_mean(metric) is not None for row in self.ranked)

    @property
    def _some_result(self) -> RunResult:
        return next(row.cell.result for row in self.rows if row.cell)

    def _sorted(self, rows: list[Row]) -> list[Row]:
        return sorted(rows, key=lambda row: -row.test[self.metric].mean)

    def to_json(self) -> dict[str, Any]:
        """Return everything, the ranked methods first."""
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
