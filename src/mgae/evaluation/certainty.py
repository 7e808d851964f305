"""How sure the figures of a run are: its intervals, and its differences from the heuristics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mgae.evaluation.bootstrap import (
    Deviations,
    Difference,
    deviations,
    difference,
    interval,
    over_runs,
)
from mgae.evaluation.measured import Measured

Intervals = dict[str, tuple[float, float]]


@dataclass(frozen=True)
class Certainty:
    """95% intervals in percent, by metric.

    Attributes:
        intervals: of our own figures.
        heuristics: of the heuristics' figures, by their name.
        differences: ours less the heuristic's, by its name, paired over the same edges.
        chance: what guessing gives, for some of the metrics.
        units: how many edges or nodes the figures rest on.
    """

    intervals: Intervals = field(default_factory=dict)
    heuristics: dict[str, Intervals] = field(default_factory=dict)
    differences: dict[str, dict[str, Difference]] = field(default_factory=dict)
    chance: dict[str, float] = field(default_factory=dict)
    units: int = 0

    @classmethod
    def of(cls, ours: Measured, heuristics: Mapping[str, Measured]) -> Certainty:
        """Draw the test edges again and again, the same ones for every method."""
        moved = deviations(ours)
        intervals, differences = {}, {}
        for name, other in heuristics.items():
            theirs = deviations(other)
            intervals[name] = _intervals(other, theirs)
            differences[name] = {
                metric: difference(
                    (ours.figures[metric], moved[metric]), (other.figures[metric], theirs[metric])
                )
                for metric in moved
                if metric in theirs
            }
        return cls(_intervals(ours, moved), intervals, differences, ours.chance, ours.units)


def pooled(
    runs: Sequence[Certainty], figures: Sequence[Mapping[str, float]], same_edges: bool
) -> Certainty:
    """Return one for several runs, with the ``figures`` of each; see `over_runs`."""
    first = runs[0]
    if len(runs) == 1:
        return first
    intervals = {
        metric: _over_runs(
            [one[metric] for one in figures], [run.intervals[metric] for run in runs], same_edges
        )
        for metric in first.intervals
    }
    differences = {
        name: {
            metric: over_runs([run.differences[name][metric] for run in runs], same_edges)
            for metric in by_metric
        }
        for name, by_metric in first.differences.items()
    }
    chance = {name: float(np.mean([run.chance[name] for run in runs])) for name in first.chance}
    # Edges that every run draws anew are so many more.
    units = first.units if same_edges else sum(run.units for run in runs)
    return Certainty(intervals, {}, differences, chance, units)


def _intervals(measured: Measured, moved: Deviations) -> Intervals:
    return {
        metric: interval(
            measured.figures[metric], values, len(measured.values.get(metric, ())) or measured.units
        )
        for metric, values in moved.items()
    }


def _over_runs(
    figures: Sequence[float], intervals: Sequence[tuple[float, float]], same_edges: bool
) -> tuple[float, float]:
    runs = [
        Difference(figure, low, high, (high - low) / 3.92)
        for figure, (low, high) in zip(figures, intervals, strict=True)
    ]
    whole = over_runs(runs, same_edges)
    return max(0.0, whole.low), min(100.0, whole.high)
