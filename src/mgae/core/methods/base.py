"""The one interface of all methods, trained or not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn

from mgae.core.decoders import stacked
from mgae.core.encoders import Inputs
from mgae.core.errors import UnsupportedError
from mgae.core.graph import MessageGraph
from mgae.core.seeding import Generators, drawn_from

WHOLE = "score"
# The parts of a score by source and, within one source, by what it looks at: [n] each.
Parts = dict[tuple[str, str], Tensor]


@dataclass(frozen=True, eq=False)
class Encoded:
    """What a method needs to score links, computed once per graph.

    Attributes:
        layers: every layer's output [num_nodes, d], in evaluation mode.
        undirected: whether a pair and its reverse are the same question.
    """

    layers: Sequence[Tensor]
    undirected: bool

    @cached_property
    def rows(self) -> Tensor:
        """A node's layers side by side: [num_nodes, K, d]."""
        return stacked(self.layers)

    def take(self, nodes: Tensor) -> Tensor:
        """Return the rows of ``nodes`` [n]: [n, K, d]; for a few nodes, without stacking all."""
        if nodes.numel() < self.layers[0].size(0) and "rows" not in self.__dict__:
            return stacked([layer.index_select(0, nodes) for layer in self.layers])
        return self.rows.index_select(0, nodes)


@dataclass(frozen=True, eq=False)
class Likely:
    """Likely new tails of several heads, grouped by head.

    Attributes:
        head: the index of the head among those that were asked about [n], rising.
        tail: node ids [n].
        scores: by which the tails of one head are ranked [n].
    """

    head: Tensor
    tail: Tensor
    scores: Tensor


@dataclass(frozen=True, eq=False)
class Stage:
    """A part of the training, with a loop of its own.

    Attributes:
        method: what is trained.
        settings: arguments of `fit` that replace those that it is called with.
        keep_last: keep the weights of the last epoch; else validation or the loss chooses one.
    """

    method: Method
    settings: Mapping[str, Any] = field(default_factory=dict)
    keep_last: bool = False


class Method(nn.Module, ABC):
    """Learns from a graph's message edges, then embeds nodes and scores links.

    The training loop, the splits and the metrics know this interface and nothing else.
    """

    trains: ClassVar[bool] = True
    samplable: ClassVar[bool] = False  # whether it can train on sampled neighborhoods
    typed: ClassVar[bool] = False  # whether it also scores triples (head, tail, type of edge)
    shortlists: ClassVar[bool] = False  # whether `shortlist` proposes tails; then no others rank
    stays_on_cpu: ClassVar[bool] = False  # whether it is asked there, by scipy or with small parts
    may_leave_features: ClassVar[bool] = False  # whether it does as well on a graph without any
    name = ""  # what error messages call it

    @property
    def inductive(self) -> bool:
        """Whether nodes that were not there in training can be embedded."""
        return all(part.inductive for part in self.modules() if isinstance(part, Inputs))

    @property
    def remembers_edges(self) -> bool:
        """Whether edges that it was trained on may rank higher than others for that reason."""
        return True

    @property
    def embeds(self) -> bool:
        """Whether it has node embeddings."""
        return type(self).embed is not Method.embed

    def move_to(self, device: torch.device) -> None:
        """Move the weights to a device, unless they stay on the CPU."""
        if not self.stays_on_cpu:
            self.to(device)

    @property
    def trains_from_cpu(self) -> bool:
        """Whether a step takes its own part of a graph that stays on the CPU."""
        return False

    def losses(self, graph: MessageGraph, generators: Generators) -> Iterator[tuple[Tensor, str]]:
        """Run one epoch: yield (loss, parameter group) for each optimizer step."""
        raise UnsupportedError(f"method {self.name!r} is not trained")

    def stages(self, graph: MessageGraph, generators: Generators) -> list[Stage]:
        """Return what is trained one after the other; in most methods the method itself."""
        return [Stage(self)]

    def final_stages(self, graph: MessageGraph, generators: Generators) -> list[Stage]:
        """Return what is trained again on all edges, from the start, once the estimate is made.

        There is nothing left to validate on, so that the last epoch's weights are kept.
        """
        with drawn_from(generators["init"]):
            self.reset_parameters()
        return [replace(stage, keep_last=True) for stage in self.stages(graph, generators)]

    def parameter_groups(self) -> dict[str, list[nn.Module]]:
        """Return what each group's step moves; a module's gradients are clipped together."""
        return {"model": [self]}

    def learning_rates(self) -> dict[str, float]:
        """Return the rates of the groups that do not learn at the loop's rate."""
        return {}

    @abstractmethod
    def encode(self, graph: MessageGraph) -> Any:
        """Return what `score_links` needs of this graph."""

    def embed(self, graph: MessageGraph) -> Tensor:
        """Return a vector for each node: [num_nodes, width]."""
        raise UnsupportedError(f"method {self.name!r} has no node embeddings")

    @abstractmethod
    def score_links(self, encoded: Any, pairs: Tensor) -> Tensor:
        """Return a score [n] for each of ``pairs`` [2, n]: the higher, the likelier an edge."""

    def rank_links(self, encoded: Any, pairs: Tensor) -> Tensor:
        """Return scores [n] that order the tails of one head; in most methods `score_links`."""
        return self.score_links(encoded, pairs)

    def parts(self, encoded: Any, pairs: Tensor, ranking: bool = True) -> Parts:
        """Return what adds up to `rank_links` of ``pairs``, or to `score_links`: [n] each.

        Most methods have one part, the score.
        """
        score = self.rank_links if ranking else self.score_links
        return {(WHOLE, WHOLE): score(encoded, pairs)}

    def score_tails(self, encoded: Any, heads: Tensor, tails: Tensor) -> Tensor:
        """Return scores [h, n] of each of ``heads`` [h] with each of ``tails`` [n].

        The same as `rank_links` of all these pairs; a method that has a cheaper way takes it.
        """
        pairs = torch.stack([heads.repeat_interleave(tails.numel()), tails.repeat(heads.numel())])
        return self.rank_links(encoded, pairs).view(heads.numel(), tails.numel())

    def score_typed_tails(self, encoded: Any, heads: Tensor, tails: Tensor, kind: int) -> Tensor:
        """Return scores [h, n] of edges of one type from each of the heads to each of the tails."""
        raise UnsupportedError(f"method {self.name!r} does not tell types of edges apart")

    def shortlist(self, encoded: Any, heads: Tensor) -> Likely:
        """Return likely new tails of distinct ``heads`` [h], neighbors and the head left out."""
        raise UnsupportedError(f"method {self.name!r} has no shortlist")

    def settle(self, graph: MessageGraph, positives: Tensor, negatives: Tensor) -> None:
        """Choose, after training, what is scored: by hidden validation pairs [2, n].

        A method that tells types of edges apart gets triples [3, n], where there are types.

        Called once, with the edges that the method was trained on.
        """

    def reset_parameters(self) -> None:
        """Draw every parameter anew."""
        for child in self.children():
            for module in child if isinstance(child, nn.ModuleList) else [child]:
                cast(Any, module).reset_parameters()
