"""A few random edges of each node, without a look at the rest of the graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

IsHidden = Callable[[Tensor], Tensor]
# Edges looked at for each one wanted, before the nodes that still lack some look again.
_LOOKS = 3


def sample_edges(
    targets: Tensor, nodes: Tensor, fanout: int, is_hidden: IsHidden, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Draw at most ``fanout`` visible edges into each of ``nodes`` [n], uniformly.

    ``targets`` [m] are those of all edges, sorted, so that a binary search finds a node's own;
    ``is_hidden`` says which of some edges [k] must not be used. Gives for each chosen edge the
    index of its target among ``nodes``, and its own number. A node with no more visible edges than
    ``fanout`` keeps them all.
    """
    first = torch.searchsorted(targets, nodes)
    degree = torch.searchsorted(targets, nodes, right=True) - first
    order = _Order.draw(degree, generator)
    counts, block, examined = torch.zeros_like(degree), _LOOKS * fanout, 0
    chosen = [(first[:0], first[:0])]
    lacking = degree.nonzero().squeeze(1)
    while lacking.numel():
        position, there = order.part(lacking, slice(examined, examined + block))
        edges = first[lacking].unsqueeze(1) + position
        visible = there.masked_scatter(there, ~is_hidden(edges[there]))
        kept = visible & (visible.cumsum(1) <= (fanout - counts[lacking]).unsqueeze(1))
        counts[lacking] += kept.sum(1)
        chosen.append((lacking[kept.nonzero()[:, 0]], edges[kept]))
        examined += block
        lacking = lacking[(counts[lacking] < fanout) & (order.size[lacking] > examined)]
    owners, numbers = zip(*chosen, strict=True)
    return torch.cat(owners), torch.cat(numbers)


@dataclass(frozen=True, eq=False)
class _Order:
    """A random order of each node's edges.

    Nodes whose degrees round up to the same power of two share one order and begin anywhere in
    it, so that the memory follows the largest degree. An order has room for edges that a node
    does not have; it passes over them.
    """

    degree: Tensor
    size: Tensor
    start: Tensor
    shared: Tensor

    @classmethod
    def draw(cls, degree: Tensor, generator: torch.Generator) -> _Order:
        largest = int(degree.max()) if degree.any() else 1
        powers = 2 ** torch.arange((largest - 1).bit_length() + 1)
        size = powers[torch.bucketize(degree, powers)]
        start = torch.randint(2**62, degree.shape, generator=generator)
        orders = [torch.randperm(power, generator=generator) for power in powers.tolist()]
        # One filler, and the order of 2^i edges begins at 2^i.
        return cls(degree, size, start, torch.cat([powers[:1], *orders]))

    def part(self, nodes: Tensor, turns: slice) -> tuple[Tensor, Tensor]:
        """Return the edges [n, turns] that come at these turns, and whether there is one."""
        turn = torch.arange(turns.start, turns.stop)
        degree, size, start = (
            values[nodes].unsqueeze(1) for values in (self.degree, self.size, self.start)
        )
        position = self.shared[size + ((start + turn) & (size - 1))]
        return position, (turn < size) & (position < degree)
