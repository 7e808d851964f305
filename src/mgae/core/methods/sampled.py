"""Sampled mode: a step encodes what its own pairs can see, and memory follows the step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from mgae.core.decoders import Decoder
from mgae.core.encoders import Encoder
from mgae.core.errors import ConfigError
from mgae.core.graph import MessageGraph
from mgae.core.losses import Loss, SampledLoss
from mgae.core.masks import Mask
from mgae.core.methods.hiding import HiddenEdges, counts_pairs, require_hidden
from mgae.core.negatives import NegativeSampler
from mgae.core.ops.neighborhood import Neighborhood, NeighborSampler
from mgae.core.ops.rows import take_rows
from mgae.core.seeding import Generators
from mgae.runs.sections import TrainSettings


@dataclass(frozen=True, eq=False)
class DrawnNegatives(NegativeSampler):
    """Hands out the negatives ``drawn`` [2, n, m] before, whatever is asked for."""

    drawn: Tensor

    def sample(self, count: int, generator: torch.Generator) -> Tensor:
        """All of them: [2, n·m]."""
        return self.drawn.flatten(1)

    def sample_tails(self, heads: Tensor, count: int, generator: torch.Generator) -> Tensor:
        """Their tails: [n, m]."""
        return self.drawn[1]


@dataclass(frozen=True, eq=False)
class SampledMode:
    """The parts of a masked autoencoder, trained on neighborhoods.

    Raises:
        ConfigError: where the parts need the whole graph, or the fan-outs do not fit the encoder.
    """

    mask: Mask
    encoder: Encoder
    decoder: Decoder
    loss: Loss
    train: TrainSettings

    def __post_init__(self) -> None:
        depth, fanouts = self.encoder.settings.num_layers, self.fanouts
        if len(fanouts) != depth:
            raise ConfigError(
                "train.fanouts must have a number for each layer: it has "
                f"{len(fanouts)} and encoder.num_layers is {depth}"
            )
        if not isinstance(self.loss, SampledLoss):
            raise ConfigError(
                "loss.kind 'softmax' scores every node, and train.fanouts has only some encoded: "
                "use 'sampled-softmax', or leave train.fanouts out"
            )
        counts_pairs(self.mask)

    @property
    def fanouts(self) -> tuple[int, ...]:
        """Neighbors per node, hop by hop."""
        assert self.train.fanouts is not None
        return self.train.fanouts

    def losses(self, graph: MessageGraph, generators: Generators) -> Iterator[Tensor]:
        """A new mask, then one loss for each ``train.step_size`` of what it hides."""
        hidden = HiddenEdges.draw(graph, self.mask, generators["mask"])
        require_hidden(hidden.count, self.mask.ratio)
        sampler, size = neighbor_sampler(hidden), self.train.step_size or hidden.count
        for start in range(0, hidden.count, size):
            places = range(start, min(start + size, hidden.count))
            positives = hidden.targets(places, generators["mask"])
            yield self._loss(graph, sampler, positives, generators)

    def _loss(
        self,
        graph: MessageGraph,
        sampler: NeighborSampler,
        positives: Tensor,
        generators: Generators,
    ) -> Tensor:
        """The loss of one step: all its pairs are known before anything is encoded."""
        assert isinstance(self.loss, SampledLoss)
        negatives = NegativeSampler.of(graph)
        drawn = self.loss.draw(positives, negatives, generators["negatives"])
        seeds = torch.unique(torch.cat([positives.flatten(), drawn[drawn >= 0]]))
        seen = sampler.sample(seeds, self.fanouts, generators["mask"])
        layers = encode_seeds(self.encoder, graph, seen, generators["dropout"])
        # A tail of -1 is no pair, and stays none.
        local = torch.searchsorted(seeds, drawn).where(drawn >= 0, -1)
        given = DrawnNegatives(negatives.edge_keys, seeds.numel(), local)
        pairs = torch.searchsorted(seeds, positives)
        return self.loss(self.decoder, layers, pairs, given, generators, self.train.chunk_size)


def neighbor_sampler(hidden: HiddenEdges) -> NeighborSampler:
    """Draws neighborhoods in which no hidden edge appears."""
    graph = hidden.graph
    return NeighborSampler(
        graph.edge_index.contiguous(),
        graph.edge_weight,
        graph.adjacency.degree,
        hidden.is_hidden,
        hidden.visible_ratio,
    )


def encode_seeds(
    encoder: Encoder, graph: MessageGraph, seen: Neighborhood, generator: torch.Generator | None
) -> list[Tensor]:
    """Every layer's output for the seeds of a neighborhood in ``graph``: K tensors [n, d].

    A layer is formed on the nodes that later layers still need: one hop less each time.
    """
    inputs = encoder.inputs
    h = inputs.dropped(take_rows(inputs.whole(graph), seen.nodes), generator)
    hops = reversed(range(len(seen.ends) - 1))
    outputs = encoder.passed(h, [seen.adjacency(hop) for hop in hops], generator)
    return [output[: seen.ends[0]] for output in outputs]
