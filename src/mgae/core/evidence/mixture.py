"""Choose what is added to a score by how well the sum orders edges whose answer is known.

Nothing is fitted: the weights come from a short list, one source is taken at a time, and only one
whose gain is larger than what chance gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

WEIGHTS = (0.5, 1.0, 2.0)  # of a source, in units of its deviation over that of the sum
ROUNDS = 3  # sources that may be added
DOUBT = 2.0  # standard errors by which a gain counts less
_CONSTANT = 1e-6

Merit = Callable[[Tensor], Tensor]  # scores of all rows [n] to how well each edge fares [e]


def mixture(sources: Tensor, spread: Tensor, start: int, merit: Merit) -> Tensor:
    """Return weights [S] of the ``sources`` [n, S] of a score; that of the ``start`` is 1 or 0.

    Args:
        sources: the higher, the likelier an edge.
        spread: the deviation of each source [S]; one that is constant is left out.
        start: what is kept where nothing is better, and first added to.
        merit: what is compared, edge by edge.
    """
    known = spread > _CONSTANT
    units = torch.where(known, 1 / spread.clamp(min=_CONSTANT), 0.0)
    scaled = sources * units
    weights = torch.zeros(sources.size(1)).index_fill_(0, torch.tensor(start), 1.0)
    if not known[start]:
        return weights
    usable = [column for column in known.nonzero().flatten().tolist() if column != start]
    scores = scaled[:, start]
    for number in range(ROUNDS):
        before, options = merit(scores), list(_options(usable, weights, number == 0))
        gains = [_sure_gain(merit(scaled @ option) - before) for option in options]
        if not gains or max(gains) <= 0:
            break
        weights = options[gains.index(max(gains))]
        scores = scaled @ weights
    return weights * units * spread[start]


def _options(usable: list[int], weights: Tensor, alone: bool) -> Iterator[Tensor]:
    """Yield the weights with one more source, or ``alone`` with that source and no other."""
    for column in usable:
        only = torch.zeros_like(weights).index_fill_(0, torch.tensor(column), 1.0)
        if alone:
            yield only
        for weight in WEIGHTS:
            yield weights + weight * only


def _sure_gain(differences: Tensor) -> float:
    """Return the mean of paired differences less what chance may give."""
    if len(differences) < 2:
        return 0.0
    error = differences.std() / len(differences) ** 0.5
    return float(differences.mean() - DOUBT * error)
