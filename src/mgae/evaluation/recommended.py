"""What recommended links are worth: how many of them are edges that are missing.

Validation edges are hidden, and every node gets its recommendations from the others. Of the links
of one score or rank, v turn out to be hidden edges and u do not. If M edges are missing from the
graph, and V are hidden, then among those u are v·M/V of the missing ones: they turn up as the
hidden ones do. So v·M/V of the u links that have no edge in the graph are missing edges. How many
edges a graph lacks nobody knows, so all is said for the same case: a tenth of all edges.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mgae.core.graph import MessageGraph
from mgae.core.methods.base import Method
from mgae.core.seeding import Generators
from mgae.evaluation.metrics import Floats
from mgae.evaluation.ranking import offered

Flags = npt.NDArray[np.bool_]

MISSING_SHARE = 0.1  # of all edges: what the numbers are said for
TOP = 10
_MOST_HEADS, _FEWEST_HEADS = 2000, 100
_MOST_SCORES = 4_000_000  # of a method without shortlists, if there are not too few heads
_SCORES_AT_ONCE = 1 << 22
_HITS_PER_PIECE, _MOST_PIECES = 40, 5


@dataclass(frozen=True)
class RisingCurve:
    """How many hits there are for each other candidate, by the score.

    Attributes:
        knots: scores [k], k ≥ 2, rising; the logarithm is linear between them and beyond.
        logits: that logarithm at the knots [k], not falling.
        most: the highest probability that the number of hits supports.
    """

    knots: tuple[float, ...]
    logits: tuple[float, ...]
    most: float = 1.0

    @classmethod
    def fit(cls, hits: Floats, others: Floats) -> RisingCurve:
        """Fit to the scores of hits [n] and of other candidates [m], by the likelihood.

        Platt's targets, (n + 1) / (n + 2) and 1 / (m + 2), keep it finite. Every 40 hits allow a
        piece more, up to five: with few it is Platt's curve.
        """
        from scipy.optimize import minimize  # noqa: PLC0415 - slow to load
        from scipy.special import expit, logit  # noqa: PLC0415 - slow to load

        n, m = len(hits), len(others)
        pieces = int(np.clip(n // _HITS_PER_PIECE, 1, _MOST_PIECES))
        scores = np.concatenate([hits, others]).astype(np.float64)
        knots = _knots(hits if n else scores, scores, pieces)
        target = np.r_[np.full(n, (n + 1) / (n + 2)), np.full(m, 1 / (m + 2))]
        basis = np.stack([np.ones(n + m), *_ramps(scores, knots)])

        def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
            values = theta @ basis
            cost = np.logaddexp(0, values) - target * values
            return float(cost.mean()), basis @ (expit(values) - target) / (n + m)

        start = np.r_[logit(target.mean()), np.zeros(len(basis) - 1)]
        bounds = [(None, None), *([(0, None)] * (len(basis) - 1))]
        theta = minimize(
            loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"gtol": 1e-9}
        ).x
        logits = theta[0] + np.concatenate([[0.0], np.cumsum(theta[1:])])
        return cls(tuple(knots.tolist()), tuple(logits.tolist()), (n + 1) / (n + 2))

    def probability(self, scores: Floats, missing: float) -> Floats:
        """Return how likely candidates with ``scores`` [n] are missing edges.

        ``missing`` is how many edges are missing for each one that was hidden.
        """
        knots, logits = np.array(self.knots), np.array(self.logits)
        ramps = _ramps(np.asarray(scores, np.float64), knots)
        ratio = logits[0] + np.diff(logits) @ ramps + np.log(missing)
        values: Floats = np.minimum(np.exp(np.minimum(ratio, 0.0)), self.most)
        return values

    def moved(self, before: Floats, after: Floats) -> RisingCurve:
        """Return the curve for scores of another scale.

        ``before`` and ``after`` are the scores of candidates by both: the best tenth of these is
        worth what the best tenth of those is worth.
        """
        if not (len(before) and len(after)):
            return self
        rank = np.searchsorted(np.sort(before), self.knots, side="right") / len(before)
        knots = np.quantile(after, np.clip(rank, 0, 1))
        # Where many scores are equal, knots must not be.
        gap = 1e-6 * max(1.0, float(np.abs(knots).max()))
        knots = np.maximum.accumulate(knots) + gap * np.arange(len(knots))
        return replace(self, knots=tuple(knots.tolist()))


def _knots(hits: Floats, scores: Floats, pieces: int) -> Floats:
    """Return scores between which there are equally many hits."""
    knots: Floats = np.unique(np.quantile(hits, np.linspace(0, 1, pieces + 1)))
    if len(knots) > 1:
        return knots
    around: Floats = knots[0] + np.array([-0.5, 0.5]) * (float(scores.std()) or 1.0)
    return around


def _ramps(scores: Floats, knots: Floats) -> Floats:
    """Return for each piece how far along it scores [n] are: [k - 1, n], 0 to 1 but at the ends."""
    way = (scores - knots[:-1, None]) / np.diff(knots)[:, None]
    low = np.r_[-np.inf, np.zeros(len(way) - 1)][:, None]
    high = np.r_[np.ones(len(way) - 1), np.inf][:, None]
    ramps: Floats = np.clip(way, low, high)
    return ramps


@dataclass(frozen=True, eq=False)
class Offers:
    """The best recommendations of some heads: pairs [2, n], their scores and ranks from 1 [n]."""

    pairs: Tensor
    scores: Floats
    rank: Floats
    num_heads: int

    @classmethod
    def of(cls, method: Method, graph: MessageGraph) -> Offers:
        """Recommend from the edges of ``graph`` for all nodes, or for a random sample of them."""
        encoded, count = method.encode(graph), min(_MOST_HEADS, graph.num_nodes)
        if not method.shortlists:
            count = min(count, max(_FEWEST_HEADS, _MOST_SCORES // graph.num_nodes))
        order = torch.randperm(graph.num_nodes, generator=Generators(0)["probe"])
        heads = order[:count].sort().values
        pairs, scores, ranks = [], [], []
        for some in heads.split(max(1, _SCORES_AT_ONCE // graph.num_nodes)):
            best = torch.topk(offered(method, encoded, graph, some), min(TOP, graph.num_nodes))
            there = best.values > -torch.inf
            row, column = there.nonzero().t()
            pairs.append(torch.stack([some[row], best.indices[there]]))
            scores.append(best.values[there])
            ranks.append(column + 1)
        values, rank = torch.cat(scores).double().numpy(), torch.cat(ranks).numpy()
        return cls(torch.cat(pairs, dim=1), values, rank, count)

    def are_among(self, edges: Tensor, graph: MessageGraph) -> Flags:
        """Return which of the pairs are one of ``edges`` [2, m]: [n]."""
        if graph.undirected:
            edges = torch.cat([edges, edges.flip(0)], dim=1)
        keys = (pairs[0] * graph.num_nodes + pairs[1] for pairs in (self.pairs, edges))
        hits: Flags = torch.isin(*keys).numpy()
        return hits


@dataclass(frozen=True)
class RecommendedWorth:
    """What recommended links are worth if `MISSING_SHARE` of all edges is missing.

    Attributes:
        curve: hits for each other recommended link, by its ranking score.
        missing: how many edges are missing then for each one that was hidden.
        precision: for each rank from 1 the share of links of that rank that are missing edges.
        num_heads: nodes whose recommendations were looked at.
        num_hits: hidden edges among these: what the numbers rest on.
    """

    curve: RisingCurve
    missing: float
    precision: tuple[float, ...]
    num_heads: int
    num_hits: int

    @classmethod
    def of(cls, offers: Offers, graph: MessageGraph, hidden: Tensor) -> RecommendedWorth:
        """Count ``hidden`` edges [2, n] among what is offered from the edges of ``graph``."""
        is_hit = offers.are_among(hidden, graph)
        visible = graph.pairs.size(1) if graph.undirected else graph.edge_index.size(1)
        missing = MISSING_SHARE / (1 - MISSING_SHARE) * (1 + visible / hidden.size(1))
        curve = RisingCurve.fit(offers.scores[is_hit], offers.scores[~is_hit])
        by_rank = (is_hit[offers.rank == rank] for rank in range(1, TOP + 1))
        precision = tuple(_precision(hits, missing) for hits in by_rank if len(hits))
        return cls(curve, missing, precision, offers.num_heads, int(is_hit.sum()))

    def probability(self, scores: Floats) -> Floats:
        """Return how likely recommended links with ranking ``scores`` [n] are missing edges."""
        return self.curve.probability(scores, self.missing)


def _precision(is_hit: Flags, missing: float) -> float:
    """Return the share of links that are missing edges, of those that have no edge.

    >>> _precision(np.array([True, False, False, False, False]), missing=2.0)
    0.5
    """
    others = int((~is_hit).sum())
    return float(min(1.0, missing * is_hit.sum() / max(1, others)))
