"""A difference of two figures, and how far chance could have made it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mgae.runs.results import Summary


@dataclass(frozen=True)
class Gap:
    """A difference of means, and its standard deviation over the runs.

    A ``single`` run has no spread that could be known.
    """

    value: float
    spread: float
    single: bool = False

    @classmethod
    def between(cls, first: Summary, second: Summary) -> Gap:
        """The first's mean less the second's.

        Runs of the same seed share their split, so of as many runs it is their differences that
        spread; otherwise both spreads count.
        """
        pairs = list(zip(first.values, second.values, strict=False))
        spread = math.hypot(first.std, second.std)
        if len(first.values) == len(second.values):
            spread = Summary.of([mine - theirs for mine, theirs in pairs]).std
        return cls(first.mean - second.mean, spread, len(pairs) == 1)

    @classmethod
    def mean(cls, gaps: Sequence[Gap]) -> Gap:
        """The mean of some, and its spread."""
        value = sum(gap.value for gap in gaps) / len(gaps)
        spread = math.hypot(*(gap.spread for gap in gaps)) / len(gaps)
        return cls(value, spread, any(gap.single for gap in gaps))

    def __sub__(self, other: Gap) -> Gap:
        spread = math.hypot(self.spread, other.spread)
        return Gap(self.value - other.value, spread, self.single or other.single)

    def is_clear_of(self, limit: float = 0.0) -> bool:
        """Whether it is farther from a limit than it spreads; of a single run nobody knows."""
        return not self.single and abs(self.value - limit) > self.spread

    def __str__(self) -> str:
        if self.single:
            return f"{self.value:+.2f} (one run)"
        if not self.is_clear_of():
            return f"{self.value:+.2f} (within ± {self.spread:.2f})"
        return f"{self.value:+.2f} ± {self.spread:.2f}"
