"""Divide what a function of the evidence gives among groups of columns, so that the shares add up.

Shapley values over a few groups: a group's share is what it changes, averaged over all orders in
which the groups become known, beginning at the mean pair. They add up exactly, by their definition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import factorial

import torch
from torch import Tensor

START = "a mean pair"
GROUPS = {
    "common neighbors": (
        "common neighbors", "adamic-adar", "resource allocation", "jaccard"
    ),
    "paths of length 3": ("l3", "paths of length 3"),
    "longer walks": (
        "pagerank", "pagerank near", "walks", "katz", "hops", "spectral", "spectral cubed",
        "sketch cosine",
    ),
    "degrees": ("degrees", "degree gap"),
    "components": ("same component", "smaller component", "component gap"),
    "features": ("feature cosine", "neighbor cosine", "two-hop cosine", "cross cosine"),
}  # fmt: skip


def group_of(column: str) -> str:
    """Return the group that a column of the evidence belongs to.

    >>> group_of("katz")
    'longer walks'
    """
    return next(group for group, columns in GROUPS.items() if column in columns)


def shares(
    output: Callable[[Tensor], Tensor], x: Tensor, names: Sequence[str]
) -> dict[str, Tensor]:
    """Return the share [n] of each group of the columns ``names`` in ``output`` of ``x`` [n, F].

    A column is 0 where it is not known. What the output gives then is the share of `START`.
    """
    groups = list(dict.fromkeys(map(group_of, names)))
    masks = torch.tensor([[group_of(name) == group for name in names] for group in groups])
    size = len(groups)
    values: dict[frozenset[int], Tensor] = {}
    for count in range(size + 1):
        for known in combinations(range(size), count):
            visible = masks[list(known)].any(dim=0).to(x)
            values[frozenset(known)] = output(x * visible).double()
    result = {START: values[frozenset()]}
    for number, group in enumerate(groups):
        share = torch.zeros(len(x), dtype=torch.float64)
        for before, value in values.items():
            if number not in before:
                orders = factorial(len(before)) * factorial(size - len(before) - 1)
                share += orders / factorial(size) * (values[before | {number}] - value)
        result[group] = share
    return result
