"""Predictor: what a trained model has to say, under the user's own ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor
from torch.nn.functional import normalize
from torch_geometric.data import Data

from mgae.config import RunConfig
from mgae.errors import ConfigError, GraphError, RunDirectoryError
from mgae.evaluation.metrics import Floats
from mgae.graphs.message import MessageGraph
from mgae.methods.base import Method, build_method
from mgae.rundirectory import RunDirectory
from mgae.seeding import Generators
from mgae.serving.calibration import Calibration
from mgae.serving.neighbors import Neighbors
from mgae.serving.newcomers import extended, require_inductive
from mgae.serving.nodes import NodeIndex
from mgae.serving.ranking import Ranked, Ranking, best
from mgae.splits.links import LinkSplit

OnShare = Callable[[float], None]

# Scores that are held at once while many heads are ranked.
_SCORES_AT_ONCE = 1 << 24


@dataclass(frozen=True)
class LinkScores:
    """For each pair its logit [n] and its calibrated probability [n].

    The probability is that of an edge among as many edges as other pairs; NaN where the run has
    no validation edges to calibrate on.
    """

    logit: Floats
    probability: Floats


@dataclass(frozen=True)
class Recommendation:
    """A node that may be joined to the one that was asked about."""

    node: Any
    score: float
    probability: float


class Predictor:
    """Embeds nodes, scores and recommends links; ids in, ids out.

    Every node is encoded from all edges of the graph. Nothing changes once it is made, so that
    several threads may ask it.

    Attributes:
        method: the trained model, a plain PyTorch module.
        config: what was run.
        graph: what it was trained on.
    """

    def __init__(
        self,
        method: Method,
        config: RunConfig,
        graph: Data,
        calibration: Calibration | None = None,
        exact_below: int = 50_000,
    ) -> None:
        self.method, self.config, self.graph = method.eval(), config, graph
        self.calibration, self.exact_below = calibration, exact_below
        self._nodes = NodeIndex(graph.node_ids)
        self._message = MessageGraph.of(graph)

    @classmethod
    def load(cls, run_dir: str | Path, run: int = 0) -> Predictor:
        """From a run directory alone; of several runs the one of this number."""
        directory = RunDirectory.open(Path(run_dir)).run(run)
        config, graph = directory.config, directory.graph()
        split = directory.split(MessageGraph.of(graph))
        method = build_method(config, split.message, Generators(config.seed)["init"])
        try:
            method.load_state_dict(directory.weights())
        except RuntimeError as error:
            reason = " ".join(str(error).split())
            raise RunDirectoryError(f"{directory.path}: the weights do not fit: {reason}") from None
        return cls.of(method, config, graph, split)

    @classmethod
    def of(cls, method: Method, config: RunConfig, graph: Data, split: LinkSplit) -> Predictor:
        """From a trained method, calibrated on the validation pairs of its split."""
        return cls(method, config, graph, calibrated(method, split))

    @property
    def num_nodes(self) -> int:
        """How many nodes there are."""
        return len(self._nodes)

    @property
    def node_ids(self) -> Sequence[Any]:
        """The user's ids, in the order of the embedding's rows."""
        return self._nodes.ids

    @property
    def notes(self) -> list[str]:
        """What the user should know."""
        if self.calibration is None:
            return ["the run has no validation edges: its scores have no probabilities"]
        if self.calibration.slope == 0:
            return ["on validation edges the scores say nothing: every probability is 0.5"]
        return []

    def knows(self, node: Any) -> bool:
        """Whether there is a node of this id."""
        return self._nodes.knows(node)

    def find(self, text: str, limit: int = 10) -> list[Any]:
        """Ids that begin with a text, then those that hold it elsewhere."""
        return self._nodes.find(text, limit)

    def neighbors(self, node: Any) -> list[Any]:
        """The nodes it has an edge to; on a directed graph those it points to."""
        return self._ids(self._ranking.neighbors.of(self._nodes.position(node)))

    def embed(self, nodes: Iterable[Any] | None = None) -> np.ndarray:
        """A vector for each node [n, width], all of them without ``nodes``."""
        embedding = self._embedding if nodes is None else self._embedding[self._places(nodes)]
        return embedding.numpy().copy()

    def score_links(self, pairs: Iterable[tuple[Any, Any]]) -> LinkScores:
        """Logit and probability of each pair of ids."""
        ends = [self._ends(pair) for pair in pairs]
        places = torch.tensor(ends, dtype=torch.long).view(-1, 2).t()
        if not ends:
            return self._scores(torch.empty(0))
        return self._scores(self.method.score_links(self._ranking.encoded, places))

    def recommend(
        self,
        node: Any,
        k: int = 10,
        exclude_known: bool = True,
        among: Iterable[Any] | None = None,
        exact: bool | None = None,
    ) -> list[Recommendation]:
        """The likeliest links of a node, the best first.

        Args:
            node: its id.
            k: how many.
            exclude_known: leave out the nodes that it is joined to already.
            among: only of these nodes.
            exact: rank all nodes; False: candidates that the embedding proposes; None: all nodes
                up to ``exact_below`` of them.
        """
        require_positive("k", k)
        head = torch.tensor([self._nodes.position(node)])
        tails = None if among is None else torch.unique(self._places(among))
        (ranked,) = self._ranking.exact(head, k, exclude_known, tails)
        return self._recommendations(ranked)

    def recommend_all(
        self,
        k: int = 10,
        exclude_known: bool = True,
        exact: bool | None = None,
        on_share: OnShare = lambda share: None,
    ) -> Iterator[pa.RecordBatch]:
        """The likeliest links of every node, some nodes at a time.

        Columns: ``node_id``, ``rank`` from 1, ``recommended_id``, ``score``, ``probability``.
        ``on_share`` is told how much is done.
        """
        require_positive("k", k)
        at_once = max(1, min(256, _SCORES_AT_ONCE // self.num_nodes))
        for start in range(0, self.num_nodes, at_once):
            heads = torch.arange(start, min(start + at_once, self.num_nodes))
            yield self._batch(heads, self._ranking.exact(heads, k, exclude_known))
            on_share(int(heads[-1] + 1) / self.num_nodes)

    def similar(self, node: Any, k: int = 10) -> list[tuple[Any, float]]:
        """The nodes whose embeddings point the same way, with their cosine."""
        require_positive("k", k)
        place = self._nodes.position(node)
        cosines = self._unit @ self._unit[place]
        others = torch.cat([torch.arange(place), torch.arange(place + 1, self.num_nodes)])
        found = best(others, cosines[others], k)
        return list(zip(self._ids(found.nodes), found.scores.tolist(), strict=True))

    def with_new(self, features: Any, edges: Iterable[tuple[Any, Any]] = ()) -> Predictor:
        """A predictor for the graph with new nodes added, not trained again.

        ``features`` has a vector for each new id; ``edges`` are pairs (new id, new or known id).
        """
        return self._extended(features, edges)[0]

    def embed_new(self, features: Any, edges: Iterable[tuple[Any, Any]] = ()) -> np.ndarray:
        """Embeddings [m, width] of nodes that were not there in training.

        Args:
            features: a vector for each new id, or a matrix [m, F].
            edges: pairs (new id, new or known id); with a matrix the new id is the row.

        Raises:
            UnsupportedError: where the model has learned a table of its own nodes.
        """
        predictor, new = self._extended(features, edges)
        return predictor._embedding[list(new.values())].numpy().copy()

    def recommend_new(
        self, features: Any, edges: Iterable[tuple[Any, Any]] = (), k: int = 10
    ) -> dict[Any, list[Recommendation]]:
        """For each new id the likeliest links to known nodes; the arguments are `embed_new`'s."""
        require_positive("k", k)
        predictor, new = self._extended(features, edges)
        heads, known = torch.tensor(list(new.values())), torch.arange(self.num_nodes)
        ranked = predictor._ranking.exact(heads, k, among=known)
        return dict(zip(new, map(predictor._recommendations, ranked), strict=True))

    def _extended(
        self, features: Any, edges: Iterable[tuple[Any, Any]]
    ) -> tuple[Predictor, dict[Any, int]]:
        require_inductive(self.method)
        graph, new = extended(self.graph, self._nodes, features, edges)
        return Predictor(self.method, self.config, graph, self.calibration), new

    @cached_property
    def _ranking(self) -> Ranking:
        encoded = self.method.encode(self._message)
        return Ranking(self.method, encoded, Neighbors(self._message), self.num_nodes)

    @cached_property
    def _embedding(self) -> Tensor:
        return self.method.embed(self._message).detach()

    @cached_property
    def _unit(self) -> Tensor:
        return normalize(self._embedding)

    def _places(self, nodes: Iterable[Any]) -> Tensor:
        return torch.from_numpy(self._nodes.positions(nodes))

    def _ends(self, pair: tuple[Any, Any]) -> tuple[int, int]:
        try:
            head, tail = pair
        except (TypeError, ValueError):
            raise GraphError(f"a pair must be two ids, got {pair!r}") from None
        return self._nodes.position(head), self._nodes.position(tail)

    def _ids(self, places: Tensor) -> list[Any]:
        return [self._nodes.ids[place] for place in places.tolist()]

    def _scores(self, logits: Tensor) -> LinkScores:
        values: Floats = logits.double().numpy()
        if self.calibration is None:
            return LinkScores(values, np.full(len(values), np.nan))
        return LinkScores(values, self.calibration.probability(values))

    def _recommendations(self, ranked: Ranked) -> list[Recommendation]:
        scores = self._scores(ranked.scores)
        columns = self._ids(ranked.nodes), scores.logit.tolist(), scores.probability.tolist()
        return list(map(Recommendation, *columns))

    def _batch(self, heads: Tensor, ranked: list[Ranked]) -> pa.RecordBatch:
        counts = torch.tensor([len(row.nodes) for row in ranked])
        scores = self._scores(torch.cat([row.scores for row in ranked]))
        columns = {
            "node_id": self._ids(heads.repeat_interleave(counts)),
            "rank": np.concatenate([np.arange(1, count + 1) for count in counts]),
            "recommended_id": self._ids(torch.cat([row.nodes for row in ranked])),
            "score": scores.logit,
            "probability": scores.probability,
        }
        return pa.RecordBatch.from_pydict(columns)


def calibrated(method: Method, split: LinkSplit) -> Calibration | None:
    """Fitted on validation pairs, encoded without the validation edges; None without any."""
    pairs = split.pairs("val")
    if not all(part.size(1) for part in pairs):
        return None
    encoded = method.encode(split.message)
    positive, negative = (method.score_links(encoded, part).numpy() for part in pairs)
    return Calibration.fit(positive, negative)


def require_positive(name: str, value: int) -> None:
    """Refuse a count below one."""
    if value < 1:
        raise ConfigError(f"{name} must be an integer ≥ 1, got {value!r}")
