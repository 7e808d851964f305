"""Pairs that are no edges."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from mgae.core.errors import GraphError
from mgae.core.graph import MessageGraph
from mgae.core.ops.backend import bring
from mgae.core.ops.distinct import distinct
from mgae.core.sides import Sides

_ROUNDS = 20
_MOST_KNOWN = 0.5  # of the negatives of a step: the others say what a random pair looks like


@dataclass(frozen=True, eq=False)
class NegativeSampler:
    """Draws pairs that are neither a known edge nor a self-loop.

    ``edge_keys`` are sorted ``target * num_nodes + source``; an undirected graph has both
    directions, so a pair is tested in the order that it has. What is not among them, such as a
    held-out edge, is not avoided: a sampler for training knows the training edges and no others.
    With ``sides`` it draws across them only.
    """

    edge_keys: Tensor
    num_nodes: int
    sides: Sides | None = None

    @classmethod
    def of(cls, graph: MessageGraph) -> NegativeSampler:
        """Return a sampler that avoids the graph's message edges."""
        sampler = cls(graph.edge_keys, graph.num_nodes, graph.sides)
        if graph.known_negatives is None:
            return sampler
        return InformedSampler(**vars(sampler), known=graph.known_negatives)

    def is_taken(self, pairs: Tensor) -> Tensor:
        """Return whether each of ``pairs`` [2, n] is an edge, a self-loop or on one side: [n]."""
        keys = pairs[1] * self.num_nodes + pairs[0]
        index = torch.searchsorted(self.edge_keys, keys).clamp_(max=self.edge_keys.numel() - 1)
        known = self.edge_keys[index] == keys if self.edge_keys.numel() else torch.zeros_like(keys)
        taken = known.bool() | (pairs[0] == pairs[1])
        return taken if self.sides is None else taken | ~self.sides.across(*pairs)

    def _draw(self, count: int, generator: torch.Generator) -> Tensor:
        if self.sides is not None:
            return self.sides.draw_pairs(count, generator)
        pairs = torch.randint(self.num_nodes, (2, count), generator=generator)
        return bring(pairs, self.edge_keys.device)

    def _draw_tails(self, heads: Tensor, generator: torch.Generator) -> Tensor:
        if self.sides is not None:
            return self.sides.draw_tails(heads, generator)
        return bring(torch.randint(self.num_nodes, heads.shape, generator=generator), heads.device)

    def sample(self, count: int, generator: torch.Generator) -> Tensor:
        """Draw ``count`` pairs [2, count], uniform over the free ones; a pair may come twice."""
        pairs = self._draw(count, generator)
        taken = self.is_taken(pairs).nonzero().squeeze(1)
        for _ in range(_ROUNDS):
            if taken.numel() == 0:
                return pairs
            fresh = self._draw(taken.numel(), generator)
            pairs[:, taken] = fresh
            taken = taken[self.is_taken(fresh)]
        # A graph this dense has few free pairs: list them all.
        free = self.all_free()
        chosen = torch.randint(free.size(1), taken.shape, generator=generator)
        pairs[:, taken] = free[:, bring(chosen, free.device)]
        return pairs

    def sample_tails(self, heads: Tensor, count: int, generator: torch.Generator) -> Tensor:
        """Draw ``count`` tails [n, count] for each of ``heads`` [n], uniform over the free ones.

        A head that is joined to all others, or is on neither of two sides, has none: its tails
        are -1.
        """
        spread = heads.repeat_interleave(count)
        tails = self._draw_tails(spread, generator)
        taken = self.is_taken(torch.stack([spread, tails])).nonzero().squeeze(1)
        for _ in range(_ROUNDS):
            if taken.numel() == 0:
                return tails.view(-1, count)
            tails[taken] = self._draw_tails(spread[taken], generator)
            taken = taken[self.is_taken(torch.stack([spread[taken], tails[taken]]))]
        # Heads this well joined have few free tails: list them.
        for head in spread[taken].unique():
            index, free = taken[spread[taken] == head], self._free_tails(head)
            chosen = torch.randint(max(1, free.numel()), index.shape, generator=generator)
            tails[index] = free[bring(chosen, free.device)] if free.numel() else -1
        return tails.view(-1, count)

    def _free_tails(self, head: Tensor) -> Tensor:
        everyone = torch.arange(self.num_nodes, device=self.edge_keys.device)
        return everyone[~self.is_taken(torch.stack([head.expand_as(everyone), everyone]))]

    def sample_distinct(self, count: int, generator: torch.Generator) -> Tensor:
        """Draw ``count`` distinct pairs [2, count], smaller id first, free in both orders.

        Raises:
            GraphError: if fewer than ``count`` exist.
        """
        every = self.num_nodes * (self.num_nodes - 1) // 2
        total = every if self.sides is None else self.sides.num_pairs
        if count == 0:
            return torch.empty(2, 0, dtype=torch.long)
        if 3 * (count + self.edge_keys.numel()) > total:
            return self._choose(count, generator)
        keys = torch.empty(0, dtype=torch.long)
        while keys.numel() < count:
            low, high = self.sample(count - keys.numel(), generator).sort(dim=0).values
            free = ~(
                self.is_taken(torch.stack([low, high])) | self.is_taken(torch.stack([high, low]))
            )
            keys = distinct(torch.cat([keys, (low * self.num_nodes + high)[free]]))
        return torch.stack([keys // self.num_nodes, keys % self.num_nodes])

    def _choose(self, count: int, generator: torch.Generator) -> Tensor:
        free = self.all_free()
        free = free[:, (free[0] < free[1]) & ~self.is_taken(free.flip(0))]
        if free.size(1) < count:
            raise GraphError(
                f"the graph has {free.size(1):,} pairs without an edge and {count:,} are needed "
                "as negatives: lower split.val_ratio and split.test_ratio"
            )
        return free[:, torch.randperm(free.size(1), generator=generator)[:count]]

    def all_free(self) -> Tensor:
        """List every free pair, in both orders: [2, n]; only for small or dense graphs."""
        shape, device = (self.num_nodes, self.num_nodes), self.edge_keys.device
        free = torch.ones(shape, dtype=torch.bool, device=device)
        free.view(-1)[self.edge_keys] = False
        free.fill_diagonal_(False)
        if self.sides is not None:
            everyone = torch.arange(self.num_nodes, device=device)
            free &= self.sides.across(everyone[:, None], everyone)
        target, source = free.nonzero(as_tuple=True)
        if target.numel() == 0:
            across = "" if self.sides is None else " across the two sides"
            raise GraphError(
                f"every pair of nodes{across} is an edge, so there are no negatives to learn from: "
                "train on a graph that leaves some pairs out"
            )
        return torch.stack([source, target])


@dataclass(frozen=True, eq=False)
class TypedSampler:
    """Draws triples (source, target, type) that are none of the graph's, one end replaced.

    Attributes:
        keys: ``(type * num_nodes + target) * num_nodes + source`` of the known ones, sorted.
        groups: nodes of each kind, in order: of a type, of a side, or all.
        group_of: to which of these a node belongs [num_nodes].
    """

    keys: Tensor
    groups: tuple[Tensor, ...]
    group_of: Tensor

    @classmethod
    def of(cls, graph: MessageGraph) -> TypedSampler:
        """Return a sampler that replaces a node by one of its own type, or of its own side."""
        group = graph.node_type if graph.node_type is not None else graph.side
        device = graph.edge_index.device
        group = torch.zeros(graph.num_nodes, device=device) if group is None else group
        numbers, group_of = torch.unique(group, return_inverse=True)
        groups = tuple((group_of == n).nonzero().squeeze(1) for n in range(numbers.numel()))
        keys = cls._key(graph.typed_edges, graph.num_nodes).sort().values
        return cls(keys, groups, group_of)

    @staticmethod
    def _key(triples: Tensor, num_nodes: int) -> Tensor:
        return (triples[2] * num_nodes + triples[1]) * num_nodes + triples[0]

    def like(self, nodes: Tensor, generator: torch.Generator) -> Tensor:
        """Draw for each of ``nodes`` [n] another of its group."""
        chance = torch.rand(nodes.shape, generator=generator, dtype=torch.double)
        drawn = nodes.clone()
        for number, group in enumerate(self.groups):
            mine = self.group_of[nodes] == number
            index = (chance * group.numel()).long().clamp(max=group.numel() - 1)
            drawn[mine] = group[bring(index, nodes.device)[mine]]
        return drawn

    def sample(self, triples: Tensor, count: int, generator: torch.Generator) -> Tensor:
        """Replace an end of each of ``triples`` [3, n], ``count`` times: [3, n · count].

        After some rounds a replacement may be a known edge or a loop, in a graph so dense.
        """
        drawn = triples.repeat_interleave(count, dim=1)
        end = bring(torch.randint(2, (drawn.size(1),), generator=generator), drawn.device)
        wrong = torch.arange(drawn.size(1), device=drawn.device)
        for _ in range(_ROUNDS):
            if not wrong.numel():
                break
            here = drawn[end[wrong], wrong]
            drawn[end[wrong], wrong] = self.like(here, generator)
            wrong = wrong[self.is_taken(drawn[:, wrong])]
        return drawn

    def is_taken(self, triples: Tensor) -> Tensor:
        """Return whether each of ``triples`` [3, n] is a known edge or a loop: [n]."""
        known = torch.isin(self._key(triples, self.group_of.numel()), self.keys)
        return known | (triples[0] == triples[1])


@dataclass(frozen=True, eq=False)
class InformedSampler(NegativeSampler):
    """Draws some of its pairs from those that are ``known`` [2, k] to be no edges.

    Known pairs of an undirected graph come in both orders.
    """

    known: Tensor = field(default_factory=lambda: torch.empty(2, 0, dtype=torch.long))

    def sample(self, count: int, generator: torch.Generator) -> Tensor:
        """Draw pairs as `NegativeSampler` does, but on average each known one once, up to half."""
        pairs = super().sample(count, generator)
        share = min(_MOST_KNOWN, self.known.size(1) / max(1, count))
        chosen = (torch.rand(count, generator=generator) < share).nonzero().squeeze(1)
        index = torch.randint(self.known.size(1), chosen.shape, generator=generator)
        chosen, index = (bring(part, pairs.device) for part in (chosen, index))
        pairs[:, chosen] = self.known[:, index]
        return pairs

    def sample_tails(self, heads: Tensor, count: int, generator: torch.Generator) -> Tensor:
        """Draw tails as `NegativeSampler` does; a head's first one is half the time a known one."""
        tails = super().sample_tails(heads, count, generator)
        sources, targets = self.known[:, torch.argsort(self.known[0], stable=True)]
        begin, end = (torch.searchsorted(sources, heads, right=right) for right in (False, True))
        first, second = (torch.rand(heads.shape, generator=generator) for _ in range(2))
        index = begin + (bring(first, heads.device) * (end - begin)).long()
        informed = (end > begin) & (bring(second, heads.device) < _MOST_KNOWN)
        tails[informed, 0] = targets[index[informed]]
        return tails
