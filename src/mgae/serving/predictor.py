"""Embed nodes, score and recommend links by a trained model, under the user's own ids."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor
from torch.nn.functional import normalize

from mgae.core.errors import ConfigError, UnknownName, UnsupportedError
from mgae.core.graph import MessageGraph
from mgae.core.methods.base import Method, Parts
from mgae.core.methods.placing import device_of, on_device
from mgae.core.seeding import Generators
from mgae.core.training.device import (
    Device,
    choose_device,
    device_again,
)
from mgae.data.checks import checked
from mgae.data.datasets.loading import statistics
from mgae.data.fields import GraphFields, as_data
from mgae.data.nodetexts import NodeTexts
from mgae.data.splits.links import joined
from mgae.evaluation.calibration import Calibration, Calibrations
from mgae.evaluation.metrics import Floats
from mgae.evaluation.verdict import Verdict
from mgae.runs.build import build_method
from mgae.runs.config import RunConfig
from mgae.runs.featureuse import message_graph
from mgae.runs.rundirectory import RunDirectory
from mgae.runs.texttables import html_table
from mgae.runs.trial import calibrating
from mgae.serving.answers import Answers, LinkScores, Recommendations
from mgae.serving.candidates import Neighbors
from mgae.serving.drift import Drift, drifted, surprise
from mgae.serving.explanations import Explainer, Why
from mgae.serving.frames import Frames, pairs_of
from mgae.serving.joining import Growth, NewEdges, grown
from mgae.serving.maps import NodeMap, Projection, draw_map
from mgae.serving.newcomers import (
    NewFeatures,
    extend,
    require_inductive,
    require_same_features,
)
from mgae.serving.nodeindex import NodeIndex
from mgae.serving.ranker import Ranked, Ranking, best

if TYPE_CHECKING:
    from torch_geometric.data import Data

OnShare = Callable[[float], None]

# Scores that are in memory at once while many heads are ranked.
_SCORES_AT_ONCE = 1 << 24
_MOST_HEADS = 512


class Saved(Protocol):
    """What was trained, in files or in memory."""

    def save(self, path: Path) -> None:
        """Write it as a run directory."""


class Predictor(Frames):
    """Embed nodes, score and recommend links; ids in, ids out.

    Every node is encoded from all edges of the graph. Nothing changes once it is made, so that
    several threads may ask it.

    Attributes:
        method: the trained model, a plain PyTorch module.
        config: what was run.
        fields: what is stored of its graph.
        nodes: its ids.
        exact_up_to: above so many nodes only candidates are ranked.
        num_candidates: how many of these.
        verdict: whether the run's scores are worth using; None where nothing was measured.
        growth: what has joined the graph by `updated`; None otherwise.
        drift: how far the graph has gone from the one of the training; None if it has not.
        expected_auc: of test edges, in percent; None where it was not measured.

    It computes on the argument ``device``, as "cuda" or "auto"; without one where the method is.

    >>> import mgae
    >>> edges = [("ann", "bob"), ("bob", "cat"), ("cat", "ann"), ("cat", "dan"), ("dan", "eve")]
    >>> predictor = mgae.instant(edges)
    >>> predictor.recommend("ann", k=2).to_arrow().column_names
    ['rank', 'node', 'score', 'probability']
    >>> predictor.score_links([("ann", "dan"), ("ann", "eve")]).logit.shape
    (2,)
    """

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
        self.method, self.config, self.fields = method.eval(), config, graph
        where = device_of(method) if device is None else choose_device(device)
        self._asked = on_device(method, where)
        self.calibrations = calibrations
        self.exact_up_to, self.num_candidates = exact_up_to, num_candidates
        self.texts: NodeTexts | None = graph.get("texts")
        titles = None if self.texts is None else self.texts.titles
        self.nodes = NodeIndex(graph.node_ids, graph.get("side_prefixes") or (), titles)
        self._answers = Answers(self.nodes, calibrations)
        self._message = message_graph(config, graph)
        self._file_notes: list[str] = []
        self.verdict: Verdict | None = None
        self.run: Saved | None = None
        self.growth: Growth | None = None
        self.drift: Drift | None = None
        self.expected_auc: float | None = None

    @classmethod
    def load(cls, run_dir: str | Path, run: int = 0, device: Device | None = None) -> Predictor:
        """Load a run directory; of several runs the one of this number.

        ``device`` computes; without one that of the training, or if it is not here ``auto``.
        """
        directory = RunDirectory.open(Path(run_dir)).run(run)
        config, graph = directory.config, directory.graph_fields()
        message = message_graph(config, graph)
        split = directory.split(graph, message)
        method = build_method(config, split.message, Generators(config.seed)["init"])
        asked = on_device(method.eval(), device_again(device, config.train.device))
        directory.load_weights(method)
        if directory.has_calibrations:
            calibrations = directory.calibrations()
            directory.load_final_weights(method)
        else:
            measured = calibrating(asked, config, graph, message, split)
            calibrations = None if measured is None else measured.found
            if directory.load_final_weights(method) and measured is not None:
                calibrations = measured.after_final_fit(asked, message)
        predictor = cls(method, config, graph, calibrations)
        verdict = directory.verdict
        bad = [] if verdict is None or not verdict.is_bad else [f"verdict: {verdict.text}"]
        predictor._file_notes = [*directory.notes, *bad]
        predictor.verdict, predictor.expected_auc = verdict, directory.expected_auc
        predictor.run = directory
        if updates := directory.updates():
            predictor.drift = Drift.from_json(updates[-1]["drift"])
        return predictor

    def save(self, path: str | Path) -> None:
        """Write the run as a directory, which `load` and every command of ``mgae`` read.

        Raises:
            UnsupportedError: if nothing was trained on this graph: of `instant`, or of `with_new`.
        """
        if self.run is None:
            raise UnsupportedError(
                "nothing was trained on this very graph, so there is no run to save: save the "
                "predictor that it was made from, or train with mgae.MGAE().fit(graph)"
            )
        self.run.save(Path(path))

    def to_arrow(self) -> pa.Table:
        """Return the embeddings: ``node_id``, ``title`` if there are any, and a column a number."""
        matrix = self.embed()
        named = {} if self.nodes.titles is None else {"title": self.nodes.titles}
        columns = {f"e{column}": matrix[:, column] for column in range(matrix.shape[1])}
        return pa.table({"node_id": self.nodes.column, **named, **columns})

    def to_pandas(self) -> Any:
        """Return the embeddings as a data frame of pandas with the ids as its index."""
        return super().to_pandas().set_index("node_id")

    def embed_into(self, data: Data) -> Data:
        """Write the embeddings of a ``Data``'s nodes to its ``z`` [nodes, width], and return it.

        Another graph than that of the run is embedded as by `embed_graph`.
        """
        other = checked(data)
        if list(other.node_ids) != list(self.node_ids):
            require_inductive(self.method)
        require_same_features(self.fields, other)
        data.z = self._asked.embed(message_graph(self.config, other)).detach()
        return data

    def __repr__(self) -> str:
        facts = ", ".join(f"{count:,} {what}" for what, count in statistics(self.fields).items())
        return f"{type(self).__name__}({self.config.label}: {facts})"

    def _repr_html_(self) -> str:
        rows = [("run", self.config.label), *statistics(self.fields).items()]
        if self.verdict is not None:
            rows.append(("verdict", self.verdict.text))
        return html_table(["", ""], [*rows, *(("note", note) for note in self.notes)])

    @cached_property
    def graph(self) -> Data:
        """Return what it was trained on; that loads PyG, which its answers do not need."""
        return as_data(self.fields)

    @property
    def calibration(self) -> Calibration | None:
        """Return how scores of links become probabilities; None without validation edges."""
        return None if self.calibrations is None else self.calibrations.links

    @property
    def rank_precision(self) -> list[float]:
        """Return how many links of each rank from 1 are missing edges; none if nobody knows.

        As their probability, it is said for a graph that lacks a tenth of its edges.
        """
        return [] if self.calibrations is None else list(self.calibrations.recommended.precision)

    def recommended_probability(self, pairs: Tensor) -> Floats:
        """Return the probability of pairs of numbers [2, n] as if each were recommended."""
        if not pairs.size(1):
            return np.empty(0)
        scores = self._asked.rank_links(self._ranking.encoded, pairs)
        return self._answers.of_ranks(scores)

    @property
    def num_nodes(self) -> int:
        """Return the number of nodes."""
        return len(self.nodes)

    @property
    def node_ids(self) -> Sequence[Any]:
        """Return the user's ids, in the order of the embedding's rows."""
        return self.nodes.ids

    @property
    def fingerprint(self) -> str:
        """Return a checksum of the weights, the ids and the edges: the same, the same answers."""
        digest = hashlib.sha256()
        for name, value in sorted(self.method.state_dict().items()):
            digest.update(name.encode() + value.detach().contiguous().numpy().tobytes())
        if (prepared := self.fields.get("prepared")) is not None:
            return digest.hexdigest() + str(prepared["digest"])
        digest.update(repr(self.node_ids).encode())
        digest.update(self.known_edges.edge_index.contiguous().numpy().tobytes())
        return digest.hexdigest()

    @property
    def embeds(self) -> bool:
        """Return whether the method has node embeddings."""
        return self.method.embeds

    @property
    def notes(self) -> list[str]:
        """Return what the user should know."""
        return [*self._file_notes, *self._answers.notes]

    def knows(self, node: Any) -> bool:
        """Return whether there is a node of this id."""
        return self.nodes.knows(node)

    def find(self, text: str, limit: int = 10) -> list[Any]:
        """Return ids whose text or title begins with a text, then those that contain it."""
        return self.nodes.find(text, limit)

    def title(self, node: Any) -> str | None:
        """Return what people call a node; None if it has no title."""
        return self.nodes.title(self.nodes.position(node))

    def attributes(self, node: Any) -> dict[str, str]:
        """Return the attributes of a node that were kept for showing."""
        number = self.nodes.position(node)
        return {} if self.texts is None else self.texts.of_node(number)

    def why(self, node: Any, others: Iterable[Any]) -> list[Why]:
        """Return the reasons for links of a node to others, with what adds up to their scores.

        The scores are those that `recommend` ranks by.
        """
        return self._explainer.why(self.nodes.position(node), self._numbers(others).tolist())

    def why_scored(self, node: Any, others: Iterable[Any]) -> list[Why]:
        """Do the same for the scores of `score_links`."""
        return self._explainer.why(self.nodes.position(node), self._numbers(others).tolist(), False)

    def score_parts(self, pairs: Tensor, ranking: bool = True) -> Parts:
        """Return what adds up to the scores of pairs of numbers [2, n]."""
        return self._asked.parts(self._ranking.encoded, pairs, ranking)

    def cosines(self, number: int, others: Tensor) -> Tensor:
        """Return the cosines [n] of a node's embedding with those of others, by their numbers."""
        return self._unit[others] @ self._unit[number]

    def neighbors(self, node: Any) -> list[Any]:
        """Return the nodes it has an edge to; on a directed graph those it points to."""
        return self._answers.ids(self._ranking.neighbors.of(self.nodes.position(node)))

    def joins(self, node: Any, other: Any) -> bool:
        """Return whether there is an edge from a node to another."""
        numbers = self._numbers([node, other])
        return bool(self._ranking.neighbors.join(*numbers.split(1)))

    def embed(self, nodes: Iterable[Any] | None = None) -> np.ndarray:
        """Return a vector for each node [n, width], for all of them without ``nodes``."""
        embedding = self._embedding if nodes is None else self._embedding[self._numbers(nodes)]
        return embedding.numpy().copy()

    def score_links(self, pairs: Iterable[tuple[Any, Any]]) -> LinkScores:
        """Return logit and balanced probability of each pair of ids, or row of a data frame."""
        ends = [node for pair in pairs_of(pairs) for node in pair]
        return self.score_numbers(self._numbers(ends).view(-1, 2).t())

    def score_numbers(self, pairs: Tensor) -> LinkScores:
        """Do the same for the nodes' numbers [2, n]."""
        if pairs.size(1) == 0:
            return self._answers.scores(torch.empty(0))
        return self._answers.scores(self._asked.score_links(self._ranking.encoded, pairs))

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

    def recommend_all(
        self,
        k: int = 10,
        exclude_known: bool = True,
        exact: bool | None = None,
        on_share: OnShare = lambda share: None,
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
        """Yield the recommendations of ``heads[start:]``, each batch after the place behind it."""
        require_positive("k", k)
        tails = None if among is None else torch.unique(self._numbers(among))
        scored = self.num_nodes if tails is not None or self.ranks_all(exact) else self._count(k)
        at_once = max(1, min(_MOST_HEADS, _SCORES_AT_ONCE // scored))
        for first in range(start, len(heads), at_once):
            some = heads[first : first + at_once]
            ranked = self._ranked(some, k, exclude_known, exact, tails)
            yield first + len(some), self._answers.batch(some, ranked)

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

    def map(self, most: int, projection: Projection = "pca") -> NodeMap | None:
        """Lay out at most ``most`` nodes on a plane; None if the method has no embeddings."""
        if not self.embeds:
            return None
        return draw_map(self.embed(), self.fields, most, self.config.seed, projection)

    def similar(self, node: Any, k: int = 10) -> list[tuple[Any, float]]:
        """Return the nodes whose embeddings point the same way, with their cosine.

        In a bipartite graph they are of the node's own side.
        """
        require_positive("k", k)
        number = self.nodes.position(node)
        cosines = self._unit @ self._unit[number]
        others = torch.cat([torch.arange(number), torch.arange(number + 1, self.num_nodes)])
        if (side := self._message.side) is not None:
            others = others[side[others] == side[number]]
        nearest = best(others, cosines[others], k)
        return list(zip(self._answers.ids(nearest.nodes), nearest.scores.tolist(), strict=True))

    def embed_graph(self, graph: Data) -> np.ndarray:
        """Return embeddings [n, width] of all nodes of another graph with the same features.

        Raises:
            UnsupportedError: if the model has learned an embedding table of its own nodes.
        """
        require_inductive(self.method)
        other = checked(graph)
        require_same_features(self.fields, other)
        return self._asked.embed(message_graph(self.config, other)).detach().numpy()

    def with_new(
        self, features: Any, edges: Iterable[tuple[Any, Any]] = (), side: Any = None
    ) -> Predictor:
        """Return a predictor for the graph with new nodes added, not trained again.

        ``features`` has a vector for each new id; ``edges`` are pairs (new id, new or known id);
        ``side`` is as of `recommend_new`.
        """
        return self._extend(features, edges, side)[0]

    def embed_new(self, features: Any, edges: Iterable[tuple[Any, Any]] = ()) -> np.ndarray:
        """Return embeddings [m, width] of nodes that were not there in training.

        Args:
            features: a vector for each new id; or a data frame with a column of ids and the columns
                that were trained on; or a matrix [m, F].
            edges: pairs (new id, new or known id); with a matrix the new id is the row.

        Raises:
            UnsupportedError: if the model has learned an embedding table of its own nodes.
        """
        predictor, new = self._extend(features, edges, None)
        return predictor._embedding[list(new.values())].numpy().copy()

    def recommend_new(
        self,
        features: Any,
        edges: Iterable[tuple[Any, Any]] = (),
        k: int = 10,
        side: Any = None,
    ) -> dict[Any, Recommendations]:
        """Return the likeliest links of each new id to known nodes; arguments as of `embed_new`.

        ``side`` names the side of new nodes that have no edges, as the column of a bipartite graph
        is called: a new user gets items.
        """
        require_positive("k", k)
        predictor, new = self._extend(features, edges, side)
        heads = torch.tensor(list(new.values()), dtype=torch.long)
        ranked = predictor._ranking.exact(heads, k, among=torch.arange(self.num_nodes))
        return dict(zip(new, map(predictor._answers.recommendations, ranked), strict=True))

    def updated(self, edges: Iterable[tuple[Any, Any]] | NewEdges, features: Any = None) -> Self:
        """Return a predictor for the graph with more edges and nodes, not trained again.

        Its ``drift`` says how far the graph has gone from the one that was trained on, and whether
        to train again; what is known of this one stays.

        Args:
            edges: pairs of ids, known or new; each undirected edge once. Known edges are left out.
            features: of the new nodes, as `embed_new` takes them, where the model reads features.

        Raises:
            UnsupportedError: if nodes are new and the model has learned a table of its own nodes.
        """
        new = edges if isinstance(edges, NewEdges) else NewEdges.of(self.nodes, edges)
        if new.ids:
            require_inductive(self.method)
        reads = self._message.x is not None
        graph, growth, added = grown(self.fields, self.nodes, new, features, reads)
        measured = surprise(lambda pairs: self.score_numbers(pairs).logit, self._message, added)
        after = type(self)(
            self.method, self.config, graph, self.calibrations, self.exact_up_to,
            self.num_candidates,
        )  # fmt: skip
        after.verdict, after.expected_auc = self.verdict, self.expected_auc
        after._file_notes, after.growth = self._file_notes, growth
        trained = statistics(self.fields)["edges"], self.num_nodes
        if self.drift is not None:
            trained = self.drift.trained_edges, self.drift.trained_nodes
        after.drift = drifted(growth, self.drift, trained, measured, self.expected_auc)
        return after

    def _extend(
        self, features: Any, edges: Iterable[tuple[Any, Any]], side: Any
    ) -> tuple[Predictor, dict[Any, int]]:
        require_inductive(self.method)
        given = NewFeatures.of(features, self.fields)
        graph, new = extend(self.fields, self.nodes, given, edges, side)
        return Predictor(self.method, self.config, graph, self.calibrations), new

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

    def _count(self, k: int) -> int:
        return max(self.num_candidates, 10 * k)

    @cached_property
    def _ranking(self) -> Ranking:
        encoded = self._asked.encode(self._message)
        neighbors = Neighbors(self.known_edges)
        listed = self.method.shortlists and self._message.undirected
        known = self.fields.get("negatives")
        ruled_out = None if known is None else self._neighbors_by(known)
        return Ranking(
            self._asked,
            encoded,
            neighbors,
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

    @property
    def known_edges(self) -> MessageGraph:
        """Add the edges that the graph's makers hold out: no model gets them, but they exist."""
        held_out = (self.fields.get(name) for name in ("val_edges", "test_edges"))
        return reduce(joined, (edges for edges in held_out if edges is not None), self._message)

    @cached_property
    def _embedding(self) -> Tensor:
        return self._asked.embed(self._message).detach()

    @cached_property
    def _unit(self) -> Tensor:
        return normalize(self._embedding)

    def _numbers(self, nodes: Iterable[Any]) -> Tensor:
        return torch.from_numpy(self.nodes.positions(nodes))


def require_positive(name: str, value: int) -> None:
    """Refuse a count below one."""
    if value < 1:
        raise ConfigError(f"{name} must be an integer ≥ 1, got {value!r}")
