"""Turn scores into probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from mgae.core.graph import MessageGraph
from mgae.core.methods.base import Method
from mgae.data.splits.links import LinkSplit
from mgae.evaluation.metrics import Floats
from mgae.evaluation.recommended import Offers, RecommendedWorth


@dataclass(frozen=True)
class Calibration:
    """Platt's: σ(slope · score + intercept).

    Two numbers hold with a few hundred validation pairs, and a strictly rising curve keeps the
    order of the scores: isotonic regression has steps, on which all scores become the same.

    The probability is that of an edge where edges and other pairs are equally many. Among all
    pairs of a sparse graph edges are far rarer: it compares links, and does not count them.
    """

    slope: float
    intercept: float

    @classmethod
    def fit(cls, positive: Floats, negative: Floats) -> Calibration:
        """Fit to scores of edges [n] and of pairs that are none [m]; both sides weigh the same.

        Platt's targets, (n + 1) / (n + 2) and 1 / (m + 2), keep the slope finite if the sides
        do not overlap. A slope below zero would turn the ranking around: it is zero then, and
        every probability 1/2.
        """
        from scipy.optimize import minimize  # noqa: PLC0415 - slow to load
        from scipy.special import expit  # noqa: PLC0415 - slow to load

        scores = np.concatenate([positive, negative]).astype(np.float64)
        center, width = float(np.median(scores)), float(scores.std()) or 1.0
        n, m = len(positive), len(negative)
        target = np.r_[np.full(n, (n + 1) / (n + 2)), np.full(m, 1 / (m + 2))]
        weight = np.r_[np.full(n, 0.5 / n), np.full(m, 0.5 / m)]
        z = (scores - center) / width

        def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
            logit = theta[0] * z + theta[1]
            value = weight @ (np.logaddexp(0, logit) - target * logit)
            gap = weight * (expit(logit) - target)
            return float(value), np.array([gap @ z, gap.sum()])

        bounds = [(0, None), (None, None)]
        slope, shift = minimize(
            loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=bounds, options={"gtol": 1e-9}
        ).x
        return cls(float(slope / width), float(shift - slope * center / width))

    def probability(self, scores: Floats) -> Floats:
        """Return the probabilities [n] of scores [n], in (0, 1)."""
        logits = self.slope * np.asarray(scores, np.float64) + self.intercept
        values: Floats = np.exp(-np.logaddexp(0, -logits))
        return values


@dataclass(frozen=True)
class Calibrations:
    """What scores mean.

    Attributes:
        links: for the scores of links, where edges and other pairs are equally many.
        recommended: for links that are recommended, by the scores that rank them.
    """

    links: Calibration
    recommended: RecommendedWorth


@dataclass(frozen=True, eq=False)
class Calibrating:
    """Calibrations of a method that has not met the validation edges.

    Attributes:
        calibrations: of links, and of recommended ones.
        offers: what was recommended from the ``visible`` edges, all but the validation edges.
        hidden: these [2, n].
    """

    calibrations: Calibrations
    offers: Offers
    visible: MessageGraph
    hidden: Tensor

    @classmethod
    def of(cls, method: Method, split: LinkSplit, visible: MessageGraph) -> Calibrating | None:
        """Measure on validation pairs; None if there are none."""
        pairs = split.asked("val", method.typed)
        if not all(part.size(1) for part in pairs):
            return None
        encoded = method.encode(split.message)
        links = Calibration.fit(*(method.score_links(encoded, part).numpy() for part in pairs))
        offers = Offers.of(method, visible)
        worth = RecommendedWorth.of(offers, visible, split.val)
        return cls(Calibrations(links, worth), offers, visible, split.val)

    def after_final_fit(self, method: Method, graph: MessageGraph) -> Calibrations:
        """Return them for ``method`` after it has learned from all edges of ``graph``.

        What remembers no single edge is measured again. Otherwise the best tenth of its links is
        taken to be worth what the best tenth was before.
        """
        if not method.remembers_edges:
            offers = Offers.of(method, self.visible)
            worth = RecommendedWorth.of(offers, self.visible, self.hidden)
        else:
            worth = self.calibrations.recommended
            curve = worth.curve.moved(self.offers.scores, Offers.of(method, graph).scores)
            worth = replace(worth, curve=curve)
        return replace(self.calibrations, recommended=worth)
