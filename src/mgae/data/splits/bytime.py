"""Split edges by time: train before validation before test, and negatives of their time.

Of each held-out edge one end is kept and joined to a node that had appeared by then: a pair of two
nodes of the past tells nothing about a model that is asked about the future.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from mgae.core.errors import GraphError
from mgae.core.graph import MessageGraph, random_orientation
from mgae.core.negatives import NegativeSampler
from mgae.data.splits.links import LinkSplit, held_out_counts

_ROUNDS = 50


@dataclass(frozen=True)
class TimeCuts:
    """The first time of the validation part and of the test part; infinite without one."""

    val: float
    test: float

    @classmethod
    def of(cls, time: Tensor, val_ratio: float, test_ratio: float) -> TimeCuts:
        """Cut the times of all edges [n] between two of them, as near to the ratios as they allow.

        Raises:
            GraphError: if there are fewer times than parts.
        """
        num_val, num_test = held_out_counts(time.numel(), val_ratio, test_ratio)
        times, counts = torch.unique(time, return_counts=True)
        parts = 1 + (num_val > 0) + (num_test > 0)
        if times.numel() < parts:
            raise GraphError(
                f"a split by time into {parts} parts needs as many times, and the edges have "
                f"{times.numel()}: give --set split.by=random"
            )
        # How many edges a part has that begins at each of the times.
        later = counts.flip(0).cumsum(0).flip(0)
        first_test = cls._nearest(later, num_test, 1 + (num_val > 0), times.numel())
        rest = later - (later[first_test] if num_test else 0)
        last_val = first_test if num_test else times.numel()
        first_val = cls._nearest(rest, num_val, 1, last_val)
        infinite = torch.tensor(torch.inf, dtype=times.dtype)
        test = times[first_test] if num_test else infinite
        return cls(float(times[first_val]) if num_val else float(test), float(test))

    @staticmethod
    def _nearest(later: Tensor, wanted: int, low: int, high: int) -> int:
        """Return the index in [low, high) of the part whose size is nearest to the wanted one."""
        return low + int((later[low:high] - wanted).abs().argmin()) if wanted else 0

    def part(self, time: Tensor) -> Tensor:
        """Return 0 (train), 1 (validation) or 2 (test) for each of the times [n]."""
        return (time >= self.val).long() + (time >= self.test).long()


def split_by_time(
    graph: MessageGraph,
    time: Tensor,
    val_ratio: float,
    test_ratio: float,
    generator: torch.Generator,
) -> LinkSplit:
    """Hold out the last edges; ``time`` [m] is that of each message edge.

    No training edge is younger than a validation edge, and none of these than a test edge. An edge
    of a directed graph has a part of its own: its reverse may be known from the past.

    Raises:
        GraphError: if there are fewer times than parts.
    """
    edges, times = _listed(graph, time)
    cuts = TimeCuts.of(times, val_ratio, test_ratio)
    part, history = cuts.part(times), _History(graph, edges, times)
    drawn: Tensor = torch.empty(0, dtype=torch.long)
    held_out: dict[str, Tensor] = {}
    for number, name in ((1, "val"), (2, "test")):
        chosen = part == number
        pairs = edges[:, chosen]
        pairs = random_orientation(pairs, generator) if graph.undirected else pairs
        negatives, drawn = history.negatives(pairs, times[chosen], drawn, generator)
        held_out |= {name: pairs, f"{name}_negatives": negatives}
    return LinkSplit(graph.only(cuts.part(time) == 0), **held_out)


def _listed(graph: MessageGraph, time: Tensor) -> tuple[Tensor, Tensor]:
    """Return each undirected pair once, or each directed edge, with its time."""
    if not graph.undirected:
        return graph.edge_index, time
    of_pair = torch.empty(graph.pairs.size(1), dtype=time.dtype)
    of_pair[graph.pair_of_edge] = time
    return graph.pairs, of_pair


@dataclass(frozen=True, eq=False)
class _History:
    """All edges [2, n] with their times [n]: who was there when."""

    graph: MessageGraph
    edges: Tensor
    times: Tensor

    @cached_property
    def first(self) -> Tensor:
        """The time at which each node appears; infinite without edges."""
        first = torch.full((self.graph.num_nodes,), torch.inf, dtype=self.times.dtype)
        for end in self.edges:
            first.scatter_reduce_(0, end, self.times, "amin")
        return first

    def negatives(
        self, pairs: Tensor, times: Tensor, drawn: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Return a pair for each of ``pairs``, and ``drawn`` with their keys: none comes twice.

        Where an end has been joined to nearly everybody there may be fewer.
        """
        sampler, size = NegativeSampler.of(self.graph), self.graph.num_nodes
        kept = pairs[0]  # an undirected pair comes in random orientation: either end
        result, left = torch.full_like(pairs, -1), torch.arange(pairs.size(1))
        for _ in range(_ROUNDS):
            if not left.numel():
                break
            tails = self._alive(kept[left], times[left], generator)
            fresh = torch.stack([kept[left], tails])
            keys = fresh.amin(dim=0) * size + fresh.amax(dim=0)
            free = ~(sampler.is_taken(fresh) | sampler.is_taken(fresh.flip(0)))
            free &= ~torch.isin(keys, drawn)
            free &= _first_of_equals(keys)
            result[:, left[free]] = fresh[:, free]
            drawn, left = torch.cat([drawn, keys[free]]), left[~free]
        if bool((result[0] < 0).all()) and pairs.size(1):
            result = sampler.sample_distinct(pairs.size(1), generator)
        return result[:, result[0] >= 0], drawn

    def _alive(self, heads: Tensor, times: Tensor, generator: torch.Generator) -> Tensor:
        """Draw for each head a node that had appeared by its time, on the other side if any."""
        sides, tails = self.graph.sides, heads.clone()
        chance = torch.rand(heads.shape, generator=generator, dtype=torch.double)
        everyone = torch.arange(self.graph.num_nodes)
        groups = [(torch.ones_like(heads, dtype=torch.bool), everyone)]
        if sides is not None:
            groups = [(sides.of[heads] == side, sides.nodes[1 - side]) for side in (0, 1)]
        for mine, group in groups:
            nodes = group[self.first[group].argsort(stable=True)]
            count = torch.searchsorted(self.first[nodes], times[mine].contiguous(), right=True)
            index = (chance[mine] * count).long().minimum((count - 1).clamp(min=0))
            tails[mine] = nodes[index]
        return tails


def _first_of_equals(keys: Tensor) -> Tensor:
    first = torch.zeros_like(keys, dtype=torch.bool)
    order = keys.argsort(stable=True)
    ordered = keys[order]
    new = torch.ones_like(first)
    new[1:] = ordered[1:] != ordered[:-1]
    first[order[new]] = True
    return first
