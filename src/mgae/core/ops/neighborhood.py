"""The K-hop surroundings of some nodes, with at most so many neighbors per node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from mgae.core.ops.backend import bring
from mgae.core.ops.sampling import IsHidden, sample_edges
from mgae.core.ops.sparse import Adjacency


@dataclass(frozen=True, eq=False)
class PartialAdjacency(Adjacency):
    """Some edges of a larger graph, all of them into the first ``receivers`` nodes.

    ``whole_degree`` [num_nodes] is what the nodes have there.
    """

    receivers: int = 0
    whole_degree: Tensor | None = None

    @property
    def num_receivers(self) -> int:
        """The nodes whose sums are wanted."""
        return self.receivers

    @property
    def degree(self) -> Tensor:
        """The summed weight of all visible edges into each node: [num_nodes]."""
        assert self.whole_degree is not None
        return self.whole_degree


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """What some nodes, the seeds, can see of a graph within K hops.

    Attributes:
        nodes: their ids in the whole graph [n]: the seeds, then hop by hop.
        ends: how many nodes lie within 0, 1, …, K hops.
        edge_index: [2, m], numbered as ``nodes``, sorted by target and then source.
        edge_weight: [m]; a node that keeps some of its edges weighs them up to stand for all.
        degree: the summed weight of the visible edges into each node [n], as far as it is known.
    """

    nodes: Tensor
    ends: tuple[int, ...]
    edge_index: Tensor
    edge_weight: Tensor
    degree: Tensor

    @cached_property
    def edge_ends(self) -> tuple[int, ...]:
        """How many edges go to nodes within 0, 1, … hops."""
        ends = torch.searchsorted(self.edge_index[1].contiguous(), torch.tensor(self.ends))
        return tuple(ends.tolist())

    def to(self, device: torch.device) -> Neighborhood:
        """Return the same on a device."""
        if device == self.nodes.device:
            return self
        parts = (self.nodes, self.edge_index, self.edge_weight, self.degree)
        nodes, *others = (bring(part, device) for part in parts)
        moved = Neighborhood(nodes, self.ends, *others)
        vars(moved)["edge_ends"] = self.edge_ends  # counted here: there it would wait
        return moved

    def adjacency(self, hops: int) -> PartialAdjacency:
        """Return the edges into the nodes within ``hops`` < K, on the nodes within one hop more."""
        num_nodes = self.ends[hops + 1]
        num_edges = self.edge_ends[hops]
        return PartialAdjacency(
            self.edge_index[:, :num_edges],
            num_nodes,
            self.edge_weight[:num_edges],
            receivers=self.ends[hops],
            whole_degree=self.degree[:num_nodes],
        )


@dataclass(frozen=True, eq=False)
class NeighborSampler:
    """Draws neighborhoods; what it reads of the graph follows what it draws.

    Attributes:
        edge_index: [2, m], sorted by target, contiguous; may be mapped from a file.
        edge_weight: [m], or None.
        degree: the summed weight of the edges into each node [num_nodes], hidden or not.
        is_hidden: which of some edges [k] must not be used.
        visible_ratio: the share of edges that may.
    """

    edge_index: Tensor
    edge_weight: Tensor | None
    degree: Tensor
    is_hidden: IsHidden
    visible_ratio: float

    def sample(
        self, seeds: Tensor, fanouts: Sequence[int], generator: torch.Generator
    ) -> Neighborhood:
        """Return the surroundings of distinct ``seeds`` [n], a hop for each fan-out."""
        source, target = self.edge_index
        hops, local_target, edges = [seeds], [], []
        for fanout in fanouts:
            owner, chosen = sample_edges(target, hops[-1], fanout, self.is_hidden, generator)
            local_target.append(owner + sum(map(len, hops[:-1])))
            edges.append(chosen)
            reached = torch.unique(source[chosen])
            hops.append(reached[~torch.isin(reached, torch.cat(hops), assume_unique=True)])
        return self._joined(hops, torch.cat(local_target), torch.cat(edges), [*fanouts, 0])

    def _joined(
        self, hops: list[Tensor], target: Tensor, edges: Tensor, fanouts: list[int]
    ) -> Neighborhood:
        nodes, sizes = torch.cat(hops), torch.tensor([len(hop) for hop in hops])
        by_id, index = nodes.sort()
        source = index[torch.searchsorted(by_id, self.edge_index[0][edges])]
        order = torch.argsort(target * nodes.numel() + source)
        edge_index = torch.stack([source, target])[:, order]
        weight, degree = self._weighed(
            nodes, edge_index[1], edges[order], torch.tensor(fanouts).repeat_interleave(sizes)
        )
        return Neighborhood(nodes, tuple(sizes.cumsum(0).tolist()), edge_index, weight, degree)

    def _weighed(
        self, nodes: Tensor, target: Tensor, edges: Tensor, fanouts: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the edges' weights, and the nodes' degrees.

        A node below its fan-out has all its visible edges, and the sum of their weights is its
        degree. Of any other the degree is what the visible share lets one expect, and its edges
        are scaled up to it: then a sum over them stands for the sum over all.
        """
        weight = torch.ones(len(edges)) if self.edge_weight is None else self.edge_weight[edges]
        total = torch.zeros(len(nodes)).index_add_(0, target, weight)
        cut_off = torch.bincount(target, minlength=len(nodes)) >= fanouts
        expected = self.degree[nodes] * self.visible_ratio
        degree = torch.where(cut_off, torch.maximum(total, expected), total)
        scale = torch.where(total > 0, degree / total, 1)
        return weight * scale[target], degree
