"""Edges for training, validation and test: each undirected edge in exactly one part."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from mgae.core.errors import GraphError
from mgae.core.graph import MessageGraph, random_orientation
from mgae.core.negatives import NegativeSampler
from mgae.data.mapped import without_pairs

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True, eq=False)
class LinkSplit:
    """The edges of a graph, divided.

    Attributes:
        message: the graph with the training edges only; the one thing a method trains on.
        val, test: held-out edges [2, n].
        val_negatives, test_negatives: pairs that are no edge of the whole graph [2, n].
        val_hard_negatives, test_hard_negatives: for each held-out edge pairs that look like edges
            [2, n, m]; -1 where there are fewer; None where they are not asked for.
        val_types, test_types, val_negative_types, test_negative_types: types of these edges and
            pairs [n], if edges have types.

    On an undirected graph each pair stands once, in random orientation, positive or negative: a
    decoder that is not symmetric must not learn "u < v".
    """

    message: MessageGraph
    val: Tensor
    test: Tensor
    val_negatives: Tensor
    test_negatives: Tensor
    val_hard_negatives: Tensor | None = None
    test_hard_negatives: Tensor | None = None
    val_types: Tensor | None = None
    test_types: Tensor | None = None
    val_negative_types: Tensor | None = None
    test_negative_types: Tensor | None = None

    def with_val_edges(self) -> MessageGraph:
        """Return message and validation edges: what OGB allows at test time on collab."""
        return joined(self.message, self.val)

    def pairs(self, part: str) -> tuple[Tensor, Tensor]:
        """Return positives and negatives of ``val`` or ``test``."""
        return getattr(self, part), getattr(self, f"{part}_negatives")

    def asked(self, part: str, typed: bool) -> tuple[Tensor, Tensor]:
        """Return the same, as triples [3, n] if the method can read types and there are any."""
        pairs, kinds = self.pairs(part), (f"{part}_types", f"{part}_negative_types")
        if not typed or getattr(self, kinds[0]) is None:
            return pairs
        edges, others = (
            torch.cat([some, getattr(self, kind).unsqueeze(0)])
            for some, kind in zip(pairs, kinds, strict=True)
        )
        return edges, others

    def hard_negatives(self, part: str) -> Tensor | None:
        """Return the hard negatives of ``val`` or ``test``, if there are any."""
        negatives: Tensor | None = getattr(self, f"{part}_hard_negatives")
        return negatives

    def num_hard(self, part: str) -> int:
        """Return how many hard negatives each edge of ``val`` or ``test`` has."""
        negatives = self.hard_negatives(part)
        return 0 if negatives is None else negatives.size(2)

    def tensors(self) -> dict[str, Tensor]:
        """Return what a run directory keeps of it."""
        kinds = ("", "_negatives", "_hard_negatives", "_types", "_negative_types")
        names = [f"{part}{kind}" for kind in kinds for part in ("val", "test")]
        values = ((name, getattr(self, name)) for name in names)
        return {name: value.contiguous() for name, value in values if value is not None}

    @classmethod
    def from_tensors(
        cls, graph: MessageGraph, tensors: dict[str, Tensor], official: bool = False
    ) -> LinkSplit:
        """Return the split of ``graph`` that `tensors` described.

        The graph of an ``official`` split has the training edges alone, and a held-out pair may
        be one of them, as of another year.
        """
        if official:
            return cls(graph, **tensors)
        held_out = torch.cat([tensors["val"], tensors["test"]], dim=1)
        return cls(without(graph, held_out), **tensors)

    @classmethod
    def official(cls, graph: Data, message: MessageGraph, generator: torch.Generator) -> LinkSplit:
        """Return the split that came with the graph; only the pairs' orientation is ours."""
        names = ("val_edges", "test_edges", "val_negatives", "test_negatives")
        turn = random_orientation if message.undirected else lambda pairs, _: pairs
        return cls(message, *(turn(graph[name], generator) for name in names))


def has_official_split(graph: Data) -> bool:
    """Return whether the graph came with held-out edges of its own."""
    return graph.get("val_edges") is not None


def split_links(
    graph: MessageGraph, val_ratio: float, test_ratio: float, generator: torch.Generator
) -> LinkSplit:
    """Hold out random edges, and draw as many distinct negatives for each held-out part.

    An edge and its reverse always share a part, in a directed graph too: there the reverse of a
    test edge would give it away. The counts are rounded down, as in Kipf and Welling's code; both
    parts get at least one edge where their ratio is not zero.

    Raises:
        GraphError: if no edge would be left to train on.
    """
    num_val, num_test = held_out_counts(graph.pairs.size(1), val_ratio, test_ratio)
    order = torch.randperm(graph.pairs.size(1), generator=generator)
    part = torch.zeros(order.shape, dtype=torch.int8)  # 0 train, 1 val, 2 test
    part[order[:num_val]], part[order[num_val : num_val + num_test]] = 1, 2
    val, test = (_edges_of(graph, part, number, generator) for number in (1, 2))
    count = val.size(1) + test.size(1)
    negatives = NegativeSampler.of(graph).sample_distinct(count, generator)
    negatives = random_orientation(negatives, generator)
    return LinkSplit(
        without_pairs(graph, part > 0),
        val=val,
        test=test,
        val_negatives=negatives[:, : val.size(1)],
        test_negatives=negatives[:, val.size(1) :],
    )


def _edges_of(graph: MessageGraph, part: Tensor, number: int, generator: torch.Generator) -> Tensor:
    """Return the edges of one part: each undirected one once, each directed one as it is."""
    if graph.undirected:
        return random_orientation(graph.pairs[:, part == number], generator)
    return graph.edge_index[:, part[graph.pair_of_edge] == number]


def held_out_counts(num_pairs: int, val_ratio: float, test_ratio: float) -> tuple[int, int]:
    """Return how many of the edges validation and test get.

    Raises:
        GraphError: if no edge would be left to train on.
    """
    num_val, num_test = (
        max(1, math.floor(ratio * num_pairs + 1e-9)) if ratio else 0
        for ratio in (val_ratio, test_ratio)
    )
    if num_val + num_test >= num_pairs:
        raise GraphError(
            f"split.val_ratio {val_ratio} and split.test_ratio {test_ratio} "
            f"leave none of {num_pairs:,} edges to train on: lower them"
        )
    return num_val, num_test


def without(graph: MessageGraph, held_out: Tensor) -> MessageGraph:
    """Return the graph less the edges ``held_out`` [2, n], both directions if undirected."""
    gone = torch.cat([held_out, held_out.flip(0)], dim=1) if graph.undirected else held_out
    keys = gone[1] * graph.num_nodes + gone[0]
    index = torch.searchsorted(graph.edge_keys, keys).clamp_(max=graph.edge_keys.numel() - 1)
    edges = index[graph.edge_keys[index] == keys]
    if graph.in_files:
        pairs = torch.zeros(graph.pairs.size(1), dtype=torch.bool)
        pairs[graph.pair_of_edge[edges]] = True
        return without_pairs(graph, pairs)
    kept = torch.ones(graph.edge_keys.numel(), dtype=torch.bool)
    kept[edges] = False
    return graph.only(kept)


def joined(graph: MessageGraph, pairs: Tensor) -> MessageGraph:
    """Return the graph with the edges ``pairs`` [2, n] added, with weight 1 and mean features."""
    added = torch.cat([pairs, pairs.flip(0)], dim=1) if graph.undirected else pairs
    edge_index = torch.cat([graph.edge_index, added], dim=1)
    keys, first = np.unique(
        (edge_index[1] * graph.num_nodes + edge_index[0]).numpy(), return_index=True
    )
    edges = torch.stack(
        [torch.from_numpy(keys % graph.num_nodes), torch.from_numpy(keys // graph.num_nodes)]
    )
    weight = None
    if graph.edge_weight is not None:
        weight = torch.cat([graph.edge_weight, torch.ones(added.size(1))])[torch.from_numpy(first)]
    about = graph.edge_attr
    if about is not None:
        usual = about.mean(dim=0).expand(added.size(1), -1)
        about = torch.cat([about, usual])[torch.from_numpy(first)]
    return replace(
        graph, edge_index=edges, edge_weight=weight, edge_attr=about, by_source=None, in_files=False
    )
