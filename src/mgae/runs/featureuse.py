"""Whether a run reads the features of its graph: those that tell nothing of edges do harm."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mgae.core.graph import MessageGraph
from mgae.core.methods.featuresignal import FeatureSignal
from mgae.core.seeding import Generators
from mgae.registry import METHODS
from mgae.runs.config import RunConfig
from mgae.runs.trial import draw_split

if TYPE_CHECKING:
    from torch_geometric.data import Data


def message_graph(config: RunConfig, graph: Data) -> MessageGraph:
    """Return what a run's method sees of a graph: without its features if they are left out."""
    message = MessageGraph.of(graph)
    return replace(message, x=None) if config.features.use == "never" else message


def choose_features(config: RunConfig, graph: Data) -> tuple[RunConfig, str | None]:
    """Return a configuration that leaves features out if they do not help, and a note.

    Training edges of the first run alone are asked, so that no figure knows of the choice.
    """
    if not _is_open(config, graph):
        return config, None
    training = draw_split(config, graph, MessageGraph.of(graph)).message
    signal = FeatureSignal.of(training, Generators(config.seed).fresh("features"))
    if signal.helps:
        return config, None
    note = (
        f"the features are left out: {signal.edges:,} hidden training edges are predicted no "
        "better with them than without; --set features.use=always keeps them"
    )
    features = {**config.features.model_dump(exclude_none=True), "use": "never"}
    return config.changed(features=features), note


def _is_open(config: RunConfig, graph: Data) -> bool:
    """Return whether nobody has said that the features are to be read."""
    if graph.x is None or config.task != "links" or config.features.use != "auto":
        return False
    asked_for = getattr(config.encoder, "inputs", None) == "features"
    leaves = getattr(METHODS[config.method.kind].build, "may_leave_features", False)
    return leaves and not asked_for
