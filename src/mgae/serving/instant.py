"""Answer for a graph at once, by the evidence model that is shipped: nothing is trained."""

from __future__ import annotations

from typing import Any

from mgae.core.graph import MessageGraph
from mgae.core.methods.instantmodel import PARTS, InstantModel
from mgae.core.seeding import Generators
from mgae.data.io.delimited import OnProgress
from mgae.data.io.options import InputSettings
from mgae.data.opening import open_graph
from mgae.runs.build import build_method
from mgae.runs.presets import paper_config
from mgae.serving.predictor import Predictor

NOTE = (
    "answered at once by a model trained on other graphs, so that scores have no probabilities; "
    "mgae train fits one to this graph and says how good it is"
)


class InstantPredictor(Predictor):
    """A predictor that was not trained on its graph, and says so."""

    @property
    def notes(self) -> list[str]:
        """Return what the user should know."""
        return [*self._file_notes, NOTE, *self._chosen]

    @property
    def _chosen(self) -> list[str]:
        """Say what counts on this graph, if its own edges were asked."""
        method, encoded = self.method, self._ranking.encoded
        assert isinstance(method, InstantModel)
        if not encoded.edges:
            return []
        links, ranks = (
            " and ".join(dict.fromkeys("the model" if name in PARTS else name for name in sources))
            for sources in method.counts(encoded).values()
        )
        return [
            f"chosen on {encoded.edges} of the graph's own edges, hidden for that: "
            f"recommendations by {ranks}, scores of pairs by {links}"
        ]


def instant(edges: Any, on_progress: OnProgress | None = None, **settings: Any) -> Predictor:
    """Return a predictor for a graph without any training.

    Args:
        edges: a path, a dataset's name, or an object, as `open_graph` takes it.
        on_progress: called with the stage and the share that is done.
        settings: how files are read, as in the section ``[input]``: ``features="people.csv"``.

    >>> import mgae
    >>> predictor = mgae.instant("cora")
    >>> len(predictor.recommend(predictor.node_ids[0], k=3))
    3
    """
    graph = open_graph(edges, InputSettings(**settings), on_progress)
    config = paper_config(graph="own-graph", method="instant")
    method = build_method(config, MessageGraph.of(graph), Generators(config.seed)["init"])
    predictor = InstantPredictor(method, config, graph)
    predictor._file_notes = list(graph.get("notes") or [])
    return predictor
