"""What an evaluation leaves behind: the figures, and what each edge or node added to them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mgae.evaluation.metrics import Floats


@dataclass(frozen=True, eq=False)
class Measured:
    """Figures in percent, with what a bootstrap needs to say how sure they are.

    Attributes:
        figures: by metric.
        values: by metric what each unit (an edge, a user, a node) adds, in percent [units]: their
            mean moves as the figure does. The same units in the same order for every method.
        scores: of the edges [n] and of their negatives [m], for metrics that compare the two.
        known: which negatives the user gave [m], if she gave any.
        chance: what guessing gives, for some of the metrics.
    """

    figures: dict[str, float]
    values: dict[str, Floats] = field(default_factory=dict)
    scores: tuple[Floats, Floats] | None = None
    known: NDArray[np.bool_] | None = None
    chance: dict[str, float] = field(default_factory=dict)

    @property
    def units(self) -> int:
        """Return how many edges or nodes the figures rest on."""
        if self.scores is not None:
            return len(self.scores[0])
        return min(map(len, self.values.values()), default=0)
