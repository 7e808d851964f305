"""The two sides of a bipartite graph, such as users and items: every edge joins the two."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from mgae.core.ops.backend import bring


@dataclass(frozen=True, eq=False)
class Sides:
    """The side of each node.

    Attributes:
        of: [num_nodes], 0 or 1; -1 for a node without edges whose side nobody has named.
    """

    of: Tensor

    @cached_property
    def nodes(self) -> tuple[Tensor, Tensor]:
        """The nodes of side 0 and those of side 1, in order."""
        first, second = ((self.of == side).nonzero().squeeze(1) for side in (0, 1))
        return first, second

    @property
    def num_pairs(self) -> int:
        """How many pairs have an end on either side."""
        return self.nodes[0].numel() * self.nodes[1].numel()

    def across(self, heads: Tensor, tails: Tensor) -> Tensor:
        """Return whether ``heads`` and ``tails``, broadcast together, are on different sides."""
        return (self.of[heads] ^ self.of[tails]) == 1

    def opposite(self, node: int) -> Tensor:
        """Return the nodes on the other side [n]; for a node of no side those of both sides."""
        side = int(self.of[node])
        return (self.of >= 0).nonzero().squeeze(1) if side < 0 else self.nodes[1 - side]

    def draw_pairs(self, count: int, generator: torch.Generator) -> Tensor:
        """Draw pairs [2, count] across the sides, uniformly, in random orientation."""
        ends = [
            nodes[bring(torch.randint(nodes.numel(), (count,), generator=generator), nodes.device)]
            for nodes in self.nodes
        ]
        turned = torch.randint(2, (count,), generator=generator).bool()
        turned = bring(turned, self.of.device)
        first, second = torch.stack(ends), torch.stack(ends[::-1])
        return torch.where(turned, second, first)

    def draw_tails(self, heads: Tensor, generator: torch.Generator) -> Tensor:
        """Draw a tail on the other side for each of ``heads`` [n]; one of no side gets itself."""
        chance = torch.rand(heads.shape, generator=generator, dtype=torch.double)
        tails = heads.clone()
        for side, others in ((0, self.nodes[1]), (1, self.nodes[0])):
            mine = self.of[heads] == side
            index = (chance * others.numel()).long().clamp(max=others.numel() - 1)
            tails[mine] = others[bring(index, heads.device)[mine]]
        return tails
