"""Recommend links by a trained model, under the user's own ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from mgae.core.errors import ConfigError, UnknownName
from mgae.core.methods.base import Method
from mgae.core.seeding import Generators
from mgae.core.training.device import Device
from mgae.data.fields import GraphFields
from mgae.data.splits.links import joined
from mgae.evaluation.calibration import Calibrations
from mgae.evaluation.metrics import Floats
from mgae.runs.config import RunConfig
from mgae.serving.answers import Recommendations
from mgae.serving.candidates import Neighbors
from mgae.serving.explanations import Explainer, Why
from mgae.serving.ranker import Ranked, Ranking
from mgae.serving.scorer import Scorer, require_positive

if TYPE_CHECKING:
    from torch_geometric.data import Data

# Scores that are in memory at once while many heads are ranked.
_SCORES_AT_ONCE = 1 << 24
_MOST_HEADS = 512


class Recommender(Scorer):
    """Recommend links of nodes, from all nodes of the graph or from candidates, and say why."""

    def __init__(
        self,
        method: Method,
        config: RunConfig,
        graph: Data | GraphFields,
        calibrations: Calibrations | None = None,
        exact_up_to: int = 10_000,
        num_candidates: int = 500,
        device: Device | None = None,
    ) -> None:
        super().__init__(method, config, graph, calibrations, device)
        self.exact_up_to, self.num_candidates = exact_up_to, num_candidates

    def recommend(
        self,
        node: Any,
        k: int = 10,
        exclude_known: bool = True,
        among: Iterable[Any] | None = None,
        exact: bool | None = None,
        edge_type: str | None = None,
    ) -> Recommendations:
        """Return the likeliest links of a node, the best first.

        Args:
            node: its id.
            k: how many.
            exclude_known: leave out the nodes that it is joined to already.
            among: only of these nodes.
            exact: rank all nodes; False: candidates that the embedding proposes; None: all nodes
                up to ``exact_up_to`` of them.
            edge_type: links of this type, to nodes that have had one; all nodes are ranked.
        """
        require_positive("k", k)
        head = torch.tensor([self.nodes.position(node)])
        tails = None if among is None else torch.unique(self._numbers(among))
        if edge_type is not None:
            (ranked,) = self._ranked_by_type(head, k, exclude_known, edge_type, tails)
            # The scores of one type are not those that were measured.
            return self._answers.recommendations(ranked, calibrated=False)
        (ranked,) = self._ranked(head, k, exclude_known, exact, tails)
        return self._answers.recommendations(ranked)

    def recommend_all(
        self,
        k: int = 10,
        exclude_known: bool = True,
        exact: bool | None = None,
        on_share: Callable[[float], None] = lambda share: None,
        among: Iterable[Any] | None = None,
        nodes: Iterable[Any] | None = None,
        start: int = 0,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the likeliest links of every node, some nodes at a time.

        Columns: ``node_id``, ``rank`` from 1, ``recommended_id``, ``score``, ``probability``.

        Args:
            k: how many.
            exclude_known: whether to leave out neighbors.
            exact: as of `recommend`.
            on_share: called with the share that is done.
            among: the only nodes to recommend.
            nodes: those that get recommendations, instead of all.
            start: leave out so many of them, which have theirs.
        """
        everyone = torch.arange(self.num_nodes) if nodes is None else self._numbers(nodes)
        for end, batch in self.recommend_from(start, everyone, k, exclude_known, exact, among):
            yield batch
            on_share(end / len(everyone))

    def recommend_from(
        self,
        start: int,
        heads: Tensor,
        k: int,
        exclude_known: bool = True,
        exact: bool | None = None,
        among: Iterable[Any] | None = None,
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the recommendations of ``heads[start:]``, each with the index after its last."""
        require_positive("k", k)
        tails = None if among is None else torch.unique(self._numbers(among))
        scored = self.num_nodes if tails is not None or self.ranks_all(exact) else self._count(k)
        at_once = max(1, min(_MOST_HEADS, _SCORES_AT_ONCE // scored))
        for first in range(start, len(heads), at_once):
            some = heads[first : first + at_once]
            ranked = self._ranked(some, k, exclude_known, exact, tails)
            yield first + len(some), self._answers.batch(some, ranked)

    def recommended_probability(self, pairs: Tensor) -> Floats:
        """Return the probability of pairs of numbers [2, n] as if each were recommended."""
        if not pairs.size(1):
            return np.empty(0)
        scores = self._asked.rank_links(self._encoded, pairs)
        return self._answers.of_ranks(scores)

    @property
    def rank_precision(self) -> list[float]:
        """Return how many links of each rank from 1 are missing edges; none if nobody knows.

        As their probability, it is said for a graph that lacks a tenth of its edges.
        """
        return [] if self.calibrations is None else list(self.calibrations.recommended.precision)

    def recall(self, k: int = 10, sample: int = 50, seed: int = 0) -> float:
        """Return the mean share of the best ``k`` of all nodes that are among the candidates.

        Measured on ``sample`` random nodes; ``seed`` draws them.
        """
        require_positive("k", k)
        generator = Generators(seed)["probe"]
        heads = torch.randperm(self.num_nodes, generator=generator)[:sample]
        return self._ranking.recall(heads, k, self._count(k))

    def ranks_all(self, exact: bool | None = None) -> bool:
        """Return whether recommendations come from all nodes, if ``exact`` does not say so."""
        by_size = self.num_nodes <= self.exact_up_to or not self.embeds
        return (by_size and not self._ranking.listed) if exact is None else exact

    def why(self, node: Any, others: Iterable[Any]) -> list[Why]:
        """Return the reasons for links of a node to others, with what adds up to their scores.

        The scores are those that `recommend` ranks by.
        """
        return self._explainer.why(self.nodes.position(node), self._numbers(others).tolist())

    def why_scored(self, node: Any, others: Iterable[Any]) -> list[Why]:
        """Do the same for the scores of `score_links`."""
        return self._explainer.why(self.nodes.position(node), self._numbers(others).tolist(), False)

    def neighbors(self, node: Any) -> list[Any]:
        """Return the nodes it has an edge to; on a directed graph those it points to."""
        return self._answers.ids(self._ranking.neighbors.of(self.nodes.position(node)))

    def joins(self, node: Any, other: Any) -> bool:
        """Return whether there is an edge from a node to another."""
        numbers = self._numbers([node, other])
        return bool(self._ranking.neighbors.join(*numbers.split(1)))

    def _ranked(
        self,
        heads: Tensor,
        k: int,
        exclude_known: bool,
        exact: bool | None,
        among: Tensor | None = None,
    ) -> list[Ranked]:
        listed_known = self._ranking.listed and not exclude_known
        if among is not None or self.ranks_all(exact) or listed_known:
            return self._ranking.exact(heads, k, exclude_known, among)
        return self._ranking.proposed(heads, k, exclude_known, self._count(k))

    def _ranked_by_type(
        self, head: Tensor, k: int, exclude_known: bool, edge_type: str, among: Tensor | None
    ) -> list[Ranked]:
        """Rank the nodes that are at the other end of edges of a type, or ``among``."""
        names = list(self.fields.get("type_names") or [])
        if not self.method.typed or not names:
            raise ConfigError(
                f"edge type {edge_type!r}: this run has learned no types of edges: train with "
                "--type-column and --method combined-relational"
            )
        if edge_type not in names:
            raise UnknownName("edge type", edge_type, names)
        kind = names.index(edge_type)
        source, target, number = self.fields.triples
        of_kind = number == kind
        receives = bool((target[of_kind] == head).any() and not (source[of_kind] == head).any())
        tails = torch.unique((source if receives else target)[of_kind]) if among is None else among
        return self._ranking.exact(head, k, exclude_known, tails, kind)

    def _count(self, k: int) -> int:
        return max(self.num_candidates, 10 * k)

    @cached_property
    def _ranking(self) -> Ranking:
        listed = self.method.shortlists and self._message.undirected
        known = self.fields.get("negatives")
        ruled_out = None if known is None else self._neighbors_by(known)
        return Ranking(
            self._asked,
            self._encoded,
            Neighbors(self.known_edges),
            self.num_nodes,
            lambda: self._embedding,
            listed,
            ruled_out,
            self._message.sides,
        )

    @cached_property
    def _explainer(self) -> Explainer:
        return Explainer(self)

    def _neighbors_by(self, pairs: Tensor) -> Neighbors:
        """Return the nodes that each node is paired with in ``pairs`` [2, n]."""
        no_edge = torch.zeros(self._message.edge_index.size(1), dtype=torch.bool)
        return Neighbors(joined(self._message.only(no_edge), pairs))
