"""Answer for a graph by a trained model, also for nodes and edges that are new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import torch

from mgae.core.errors import UnsupportedError
from mgae.core.methods.ondevice import on_device
from mgae.core.seeding import Generators
from mgae.core.training.device import Device, device_again
from mgae.data.checks import checked
from mgae.data.datasets.loading import statistics
from mgae.evaluation.verdict import Verdict
from mgae.runs.build import build_method
from mgae.runs.featureuse import message_graph
from mgae.runs.rundirectory import RunDirectory
from mgae.runs.texttables import html_table
from mgae.runs.trial import calibrating
from mgae.serving.answers import Recommendations
from mgae.serving.drift import Drift, drifted, surprise
from mgae.serving.joining import Growth, NewEdges, grown
from mgae.serving.newcomers import NewFeatures, extend, require_inductive, require_same_features
from mgae.serving.recommender import Recommender
from mgae.serving.scorer import require_positive

if TYPE_CHECKING:
    from torch_geometric.data import Data


class Saved(Protocol):
    """What was trained, in files or in memory."""

    def save(self, path: Path) -> None:
        """Write it as a run directory."""


class Predictor(Recommender):
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

    verdict: Verdict | None = None
    run: Saved | None = None
    growth: Growth | None = None
    drift: Drift | None = None
    expected_auc: float | None = None
    _file_notes: Sequence[str] = ()

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
            calibrations = None if measured is None else measured.calibrations
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

    def __repr__(self) -> str:
        facts = ", ".join(f"{count:,} {what}" for what, count in statistics(self.fields).items())
        return f"{type(self).__name__}({self.config.label}: {facts})"

    def _repr_html_(self) -> str:
        rows = [("run", self.config.label), *statistics(self.fields).items()]
        if self.verdict is not None:
            rows.append(("verdict", self.verdict.text))
        return html_table(["", ""], [*rows, *(("note", note) for note in self.notes)])

    @property
    def notes(self) -> list[str]:
        """Return what the user should know."""
        return [*self._file_notes, *self._answers.notes]

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
                that were trained on; or a matrix [m, F]; or a list of new ids alone, where there
                are no features: a graph that has some takes those of a mean node.
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
            UnsupportedError: if nodes are new, and the model has an embedding table of its own.
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
