"""Weights of the sources of a score, chosen on validation edges that none of them has met.

A fit of few weights, single sources and the way between are compared; a gain counts less its
standard error, so that chance leaves the evidence alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from mgae.core.evidence.folds import Contests
from mgae.core.seeding import Generators

# The sources of a score besides the columns of the evidence.
LINK, RANK, NETWORK = 0, 1, 2
PARTS = ("link", "rank", "network")
_SHARES = (0.25, 0.5, 0.75, 1.0)  # of the way from the evidence to the fitted weights
_DOUBT = 1.0  # standard errors by which a gain over the evidence alone counts less
_PENALTY = 1e-3
_DRAWS = 200  # of the bootstrap
_MOST_PAIRS = 20_000  # validation edges, and other pairs, that link weights are chosen on


def only(source: int, count: int) -> Tensor:
    """Return weights [count] of one source alone."""
    weights = torch.zeros(count)
    weights[source] = 1.0
    return weights


def choose_link(edges: Tensor, others: Tensor, columns: list[int]) -> Tensor:
    """Return the weights that best separate edges [n, S] from other pairs [m, S]."""
    # More pairs would not change the choice, and the bootstrap holds _DRAWS times as many.
    edges, others = (part[:: 1 + (len(part) - 1) // _MOST_PAIRS] for part in (edges, others))
    choices = _choices(LINK, _logistic(edges, others), [NETWORK, *columns])
    generator = Generators(0).fresh("choice")
    drawn = [_drawn(len(part), generator) for part in (edges, others)]

    def merit(weights: Tensor) -> tuple[float, Tensor]:
        scores = [part.double() @ weights.double() for part in (edges, others)]
        # How often an edge is above another pair, for each edge and for each other pair.
        ordered = [part.sort().values for part in scores]
        above = _share_below(ordered[1], scores[0])
        below = 1 - _share_below(ordered[0], scores[1])
        whole = float(above.mean())
        spread = above[drawn[0]].mean(dim=1) + below[drawn[1]].mean(dim=1) - whole
        return whole, spread

    return _best(choices, [merit(weights) for weights in choices])


def choose_rank(contests: Contests, values: Tensor, columns: list[int]) -> Tensor:
    """Return the weights by which hidden edges come first on shortlists with sources [n, S]."""
    if not len(contests.edge):
        return only(RANK, values.size(1))
    choices = _choices(RANK, _softmax(contests, values), [LINK, *columns])
    drawn = _drawn(len(contests.edge), Generators(0).fresh("choice"))

    def merit(weights: Tensor) -> tuple[float, Tensor]:
        # Discounted by the logarithm of the rank: whether it is below ten is too rough a measure.
        gain = 1 / torch.log2(1 + contests.ranks(values @ weights))
        return float(gain.mean()), gain[drawn].mean(dim=1)

    return _best(choices, [merit(weights) for weights in choices])


def _choices(evidence: int, fitted: Tensor, others: list[int]) -> list[Tensor]:
    """Return what may be scored: the evidence, mixtures with the fitted weights, single sources."""
    alone = only(evidence, len(fitted))
    mixtures = [torch.lerp(alone, fitted, share) for share in _SHARES]
    return [alone, *mixtures, *(only(source, len(fitted)) for source in others)]


def _best(choices: list[Tensor], merits: list[tuple[float, Tensor]]) -> Tensor:
    """Return the choice with the largest gain over the first one, less what chance may give."""
    first, draws_of_first = merits[0]
    gains = [
        mean - first - _DOUBT * float((draws - draws_of_first).std()) for mean, draws in merits
    ]
    return choices[int(np.argmax(gains))]


def _drawn(count: int, generator: torch.Generator) -> Tensor:
    return torch.randint(count, (_DRAWS, count), generator=generator)


def _share_below(ordered: Tensor, values: Tensor) -> Tensor:
    """Return for each value the share of ``ordered`` below it, ties counting half."""
    sides = [torch.searchsorted(ordered, values, right=right) for right in (False, True)]
    return (sides[0] + sides[1]).double() / (2 * max(1, ordered.numel()))


def _logistic(edges: Tensor, others: Tensor) -> Tensor:
    """Fit non-negative weights of the three parts, and an intercept, to edges and other pairs."""
    x = torch.cat([edges, others])[:, : len(PARTS)].double()
    y = (torch.arange(len(x)) < len(edges)).double()

    def loss(theta: Tensor) -> Tensor:
        logits = x @ theta[:-1] + theta[-1]
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, y)

    return _fitted(loss, [1.0, 0.0, 0.0, 0.0], edges.size(1), bias=True)


def _softmax(contests: Contests, values: Tensor) -> Tensor:
    """Fit non-negative weights of the three parts to edges among their competitors."""
    x, count = values[:, : len(PARTS)].double(), len(contests.edge)
    row, listed = contests.rows
    # Other edges of the same list are no competitors.
    void = contests.is_edge[listed] & (listed != contests.edge[row])
    row, listed = row[~void], listed[~void]

    def loss(theta: Tensor) -> Tensor:
        scores = x @ theta
        top = torch.full((count,), -torch.inf, dtype=torch.double)
        top = top.scatter_reduce(0, row, scores[listed].detach(), "amax")
        shares = (scores[listed] - top[row]).exp()
        total = torch.zeros(count, dtype=torch.double).index_add(0, row, shares)
        return (total.log() + top - scores[contests.edge]).mean()

    return _fitted(loss, [0.0, 1.0, 0.0], values.size(1), bias=False)


def _fitted(loss: Callable[[Tensor], Tensor], start: list[float], count: int, bias: bool) -> Tensor:
    """Minimize a loss of the three weights, pulled a little towards ``start``."""
    from scipy.optimize import minimize  # noqa: PLC0415 - slow to load

    center = torch.tensor(start, dtype=torch.double)

    def objective(at: np.ndarray) -> tuple[float, np.ndarray]:
        theta = torch.from_numpy(at).requires_grad_()
        value = loss(theta) + _PENALTY * (theta - center).square().sum()
        (gradient,) = torch.autograd.grad(value, theta)
        return float(value.detach()), gradient.numpy()

    bounds = [(0, None)] * len(PARTS) + ([(None, None)] if bias else [])
    point = minimize(objective, center.numpy(), jac=True, method="L-BFGS-B", bounds=bounds).x
    weights = torch.zeros(count)
    weights[: len(PARTS)] = torch.from_numpy(point[: len(PARTS)]).float()
    return weights if weights.any() else only(start.index(1.0), count)
