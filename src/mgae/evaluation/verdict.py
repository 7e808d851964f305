"""Say in one sentence whether a trained model is worth using, or which heuristic is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from mgae.data.ids import counted
from mgae.evaluation.bootstrap import Difference
from mgae.evaluation.certainty import Certainty

Heading = Callable[[str], str]
Kind = Literal["better", "level", "worse", "chance", "unclear", "alone"]
# Below that an interval says nothing: all edges may agree by chance.
FEWEST = 20
_NAMES = {
    "personalized-pagerank": "personalized PageRank",
    "adamic-adar": "Adamic–Adar",
    "resource-allocation": "Resource Allocation",
    "random-init": "the untrained encoder",
    "l3": "L3",
    "katz": "Katz",
    "jaccard": "Jaccard",
}
# Metrics that a user looks at besides the one that counts.
_ALSO = ("auc", "accuracy")


@dataclass(frozen=True)
class Verdict:
    """Whether to use a model, by the metric that counts.

    Attributes:
        kind: ``better`` than every heuristic, ``level`` with one, ``worse`` than one, no better
            than ``chance``, ``unclear`` for too few edges, ``alone`` without a heuristic beside.
        text: the sentence.
        metric: what was compared, and on how many ``units`` (edges, users or nodes).
        figure: ours in percent, with its interval.
        heuristic: the one that it was compared with, by its name, and its figure.
        difference: ours less the heuristic's, paired over the same edges.
    """

    kind: Kind
    text: str
    metric: str
    units: int
    figure: float
    interval: tuple[float, float] | None
    heuristic: str | None = None
    other: float | None = None
    difference: Difference | None = None

    @property
    def is_bad(self) -> bool:
        """Return whether the scores should not be used."""
        return self.kind in ("chance", "worse")


@dataclass(frozen=True)
class Standing:
    """What a verdict is made from: figures in percent by metric, and how sure they are.

    Attributes:
        ours, heuristics: the figures, those of the heuristics by their name.
        certainty: intervals, and differences paired over the same edges.
        unit: what the figures rest on, ``edge`` or ``node``.
    """

    ours: Mapping[str, float]
    heuristics: Mapping[str, Mapping[str, float]]
    certainty: Certainty
    unit: str = "edge"

    def of(self, heuristic: str, metric: str) -> float:
        """Return a heuristic's figure."""
        return self.heuristics[heuristic][metric]

    def best(self, heuristics: Iterable[str], metric: str) -> str | None:
        """Return the name of the best of some heuristics; None without any."""
        return max(heuristics, key=lambda one: self.of(one, metric), default=None)

    def compared(self, metric: str) -> dict[str, Difference]:
        """Return the differences in one metric by heuristic."""
        every = self.certainty.differences
        return {name: by[metric] for name, by in every.items() if metric in by}


def judge(standing: Standing, metric: str, heading: Heading = str) -> Verdict:
    """Return the verdict by one metric; ``heading`` gives a metric's name as people write it."""
    figure, certainty = standing.ours[metric], standing.certainty
    interval, compared = certainty.intervals.get(metric), standing.compared(metric)
    best = standing.best(compared, metric)
    shown = f"{heading(metric)} {figure:.1f}"
    sure = "" if interval is None else f" (95%: {interval[0]:.1f} to {interval[1]:.1f})"
    guessed = certainty.chance.get(metric)

    def verdict(kind: Kind, text: str, heuristic: str | None = best) -> Verdict:
        beside = None if heuristic is None else standing.of(heuristic, metric)
        apart = None if heuristic is None else compared[heuristic]
        facts = (metric, certainty.units, figure, interval, heuristic, beside, apart)
        return Verdict(kind, text, *facts)

    if certainty.units < FEWEST:
        text = f"too few to tell: {counted(certainty.units, f'held-out {standing.unit}')}, {shown}"
        beside = f" against {standing.of(best, metric):.1f} ({display(best)})" if best else ""
        return verdict("unclear", text + beside)
    if _is_chance(standing, metric):
        text = f"no better than chance: do not use these scores; {shown}{sure}"
        text += "" if guessed is None else f" against {guessed:.1f} by guessing"
        if best is not None and compared[best].high < 0:
            text += f", {display(best)} has {standing.of(best, metric):.1f}"
        return verdict("chance", text)
    if best is None:
        return verdict("alone", f"{shown}{sure}; no heuristic was measured beside it")
    but = _but(standing, metric, heading)
    if compared[best].high < 0:
        there = f"{heading(metric)} {standing.of(best, metric):.1f} against our {figure:.1f}"
        apart = _apart(compared[best])
        return verdict("worse", f"not worth it here: use {display(best)} ({there}), {apart}{but}")
    near = standing.best((one for one, apart in compared.items() if apart.low <= 0), metric)
    nearest = best if near is None else near
    figures = f"{shown} against {standing.of(nearest, metric):.1f}"
    apart = _apart(compared[nearest])
    if near is None:
        text = f"beats every heuristic: {figures} ({display(nearest)}), {apart}{but}"
        return verdict("better", text)
    text = f"level with {display(nearest)}: {figures}, {apart}; the difference is within chance"
    return verdict("level", text + but, nearest)


def display(heuristic: str) -> str:
    """Return a heuristic's name as people write it.

    >>> display("personalized-pagerank"), display("common-neighbors")
    ('personalized PageRank', 'common neighbors')
    """
    return _NAMES.get(heuristic, heuristic.replace("-", " "))


def _apart(difference: Difference) -> str:
    low, high = _signed(difference.low), _signed(difference.high)
    return f"difference {_signed(difference.mean)} (95%: {low} to {high})"


def _signed(value: float) -> str:
    """Return a number with its sign; what rounds to zero has none.

    >>> _signed(8.04), _signed(-3.0), _signed(-0.01)
    ('+8.0', '−3.0', '0.0')
    """
    text = f"{value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")


def _is_chance(standing: Standing, metric: str) -> bool:
    """Return whether neither the metric that counts nor the AUC is above guessing."""
    certainty = standing.certainty
    asked = [one for one in dict.fromkeys((metric, "auc")) if one in certainty.chance]
    low = {one: certainty.intervals[one][0] for one in asked if one in certainty.intervals}
    return bool(low) and all(end <= certainty.chance[one] for one, end in low.items())


def _but(standing: Standing, metric: str, heading: Heading) -> str:
    """Return a remark on another metric that people look at, where it may tell otherwise."""
    for other in _ALSO:
        compared = standing.compared(other)
        best = standing.best(compared, other)
        if other == metric or best is None:
            continue
        figures = f"by {heading(other)} {{}}, {standing.ours[other]:.1f} against "
        figures += f"{standing.of(best, other):.1f} ({display(best)})"
        here = [one.high < 0 for one in standing.compared(metric).values()]
        if compared[best].high < 0 and not any(here):
            return f"; {figures.format('it is worse')}"
        if any(here) and all(one.low > 0 for one in compared.values()):
            return f"; {figures.format('it is better')}"
    return ""
