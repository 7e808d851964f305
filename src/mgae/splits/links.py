"""Edges for training, validation and test: each undirected edge in exactly one part."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mgae.config import SplitSettings
from mgae.errors import GraphError
from mgae.graphs.message import MessageGraph
from mgae.splits.negatives import NegativeSampler


@dataclass(frozen=True, eq=False)
class LinkSplit:
    """The edges of a graph, divided.

    Attributes:
        message: the graph with the training edges only; the one thing a method trains on.
        val, test: held-out edges [2, n].
        val_negatives, test_negatives: pairs that are no edge of the whole graph [2, n].

    On an undirected graph each pair stands once, in random orientation, positive or negative: a
    decoder that is not symmetric must not learn "u < v".
    """

    message: MessageGraph
    val: Tensor
    test: Tensor
    val_negatives: Tensor
    test_negatives: Tensor

    def pairs(self, part: str) -> tuple[Tensor, Tensor]:
        """Positives and negatives of ``val`` or ``test``."""
        return getattr(self, part), getattr(self, f"{part}_negatives")

    def tensors(self) -> dict[str, Tensor]:
        """What a run directory keeps of it."""
        names = ("val", "test", "val_negatives", "test_negatives")
        return {name: getattr(self, name).contiguous() for name in names}

    @classmethod
    def from_tensors(cls, graph: MessageGraph, tensors: dict[str, Tensor]) -> LinkSplit:
        """The split of ``graph`` that `tensors` described."""
        held = torch.cat([tensors["val"], tensors["test"]], dim=1)
        return cls(without(graph, held), **tensors)


def split_links(
    graph: MessageGraph, settings: SplitSettings, generator: torch.Generator
) -> LinkSplit:
    """Hold out random edges, and draw as many distinct negatives for each held-out part.

    The counts are rounded down, as in Kipf and Welling's code; both parts get at least one edge
    where their ratio is not zero.

    Raises:
        GraphError: where no edge would be left to train on.
    """
    pairs = graph.pairs if graph.undirected else graph.edge_index
    num_val, num_test = _held_out_counts(pairs.size(1), settings)
    held = pairs[:, torch.randperm(pairs.size(1), generator=generator)[: num_val + num_test]]
    negatives = NegativeSampler.of(graph).sample_distinct(num_val + num_test, generator)
    negatives = random_orientation(negatives, generator)
    message = without(graph, held)
    if graph.undirected:
        held = random_orientation(held, generator)
    return LinkSplit(
        message,
        val=held[:, :num_val],
        test=held[:, num_val:],
        val_negatives=negatives[:, :num_val],
        test_negatives=negatives[:, num_val:],
    )


def _held_out_counts(num_pairs: int, settings: SplitSettings) -> tuple[int, int]:
    num_val, num_test = (
        max(1, int(ratio * num_pairs)) if ratio else 0
        for ratio in (settings.val_ratio, settings.test_ratio)
    )
    if num_val + num_test >= num_pairs:
        raise GraphError(
            f"split.val_ratio {settings.val_ratio} and split.test_ratio {settings.test_ratio} "
            f"leave none of {num_pairs:,} edges to train on: lower them"
        )
    return num_val, num_test


def without(graph: MessageGraph, held: Tensor) -> MessageGraph:
    """The graph less the edges ``held`` [2, n], in both directions if it is undirected."""
    gone = torch.cat([held, held.flip(0)], dim=1) if graph.undirected else held
    gone_keys = gone[1] * graph.num_nodes + gone[0]
    return graph.only(~torch.isin(graph.edge_keys, gone_keys))


def random_orientation(pairs: Tensor, generator: torch.Generator) -> Tensor:
    """Each of ``pairs`` [2, n] as it is or turned around, by the toss of a coin."""
    turned = torch.randint(2, (pairs.size(1),), generator=generator).bool()
    return torch.where(turned, pairs.flip(0), pairs)
