"""Fit a configuration to a graph and this machine, and note what that changes."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from mgae.core.graph import MessageGraph
from mgae.core.training import distributed
from mgae.data.inspection import listed_times, readable_time
from mgae.data.splits.bytime import TimeCuts
from mgae.data.splits.hard import too_costly
from mgae.evaluation.links import hard_parts
from mgae.registry import METHODS
from mgae.runs.budget import shortened
from mgae.runs.build import reads_edge_features
from mgae.runs.config import RunConfig
from mgae.runs.featureuse import choose_features, message_graph
from mgae.runs.memory import fitted
from mgae.runs.observer import Observer
from mgae.runs.trial import recalls_of, splits_by_time

if TYPE_CHECKING:
    from torch_geometric.data import Data

# Below this the AUC of a split is off by several points from the next.
_FEW_EDGES = 50


def adapted(config: RunConfig, graph: Data, observer: Observer) -> tuple[RunConfig, MessageGraph]:
    """Return a configuration that fits a graph and this machine, and what its method sees of it.

    Notes say what was changed, and what of the graph is not read.
    """
    config, left_out = distributed.from_first(partial(choose_features, config, graph))
    message = message_graph(config, graph)
    config, fewer = shortened(config, message)
    config, changed = distributed.from_first(partial(fitted, config, message))
    unread = (_unread_types(config, graph), _unread_edge_features(config, message))
    by_time, sampled = _held_out_by_time(config, graph), _sampled_recall(config, message)
    for note in (left_out, fewer, changed, *unread, by_time, sampled):
        if note is not None:
            observer.on_note(note)
    return config, message


def _unread_types(config: RunConfig, graph: Data) -> str | None:
    """Return a note if the edges have types that the method does not tell apart."""
    if graph.get("triples") is None or METHODS[config.method.kind].build.typed:
        return None
    count = len(graph.get("type_names") or [])
    return (
        f"the {count} types of edges are not read by method {config.method.kind!r}: "
        "--method combined-relational tells them apart"
    )


def _unread_edge_features(config: RunConfig, message: MessageGraph) -> str | None:
    """Return a note if nothing reads the features of the edges."""
    if message.edge_attr is None or reads_edge_features(config):
        return None
    what = f"method {config.method.kind!r}" + (
        "" if config.encoder is None else f" with encoder {config.encoder.kind!r}"
    )
    return (
        f"{message.num_edge_features} features of the edges are not read by {what}: "
        "--method mgae with --encoder gcn, sage, gin or gat reads them"
    )


def too_few(config: RunConfig, message: MessageGraph) -> str | None:
    """Return a warning if the figures will rest on a handful of edges."""
    num_edges = message.pairs.size(1)
    count = int(config.split.ratios(num_edges)[1] * num_edges)
    if config.task != "links" or count >= _FEW_EDGES:
        return None
    if config.split.test_ratio == 0:
        return "split.test_ratio is 0: no edges are held out for the test, so there are no figures"
    left = f"{count} edges are" if count > 1 else "1 edge is"
    return f"only about {left} left for the test: its figures will be rough"


def _sampled_recall(config: RunConfig, message: MessageGraph) -> str | None:
    """Return a note if recall@10 is measured on fewer edges than there are, or not at all."""
    recalls, most = recalls_of(config, message)
    asked = config.task == "links" and config.evaluation.recall_pairs and not config.recalls
    count = int(config.split.ratios(message.pairs.size(1))[1] * message.pairs.size(1))
    if not asked or message.sides is not None or (recalls and count <= most):
        return None
    if not recalls:
        return "recall@10 would rank too many pairs here; --set evaluation.recall=[10] measures it"
    return f"a large graph: recall@{recalls[0]} is measured on {most:,} of {count:,} test edges"


def without_hard(config: RunConfig, graph: Data, message: MessageGraph) -> str | None:
    """Return why there are no hard negatives, though they are asked for."""
    num_held_out = 0
    for part in hard_parts(config.train.monitor):
        official = graph.get(f"{part}_edges")
        num_edges = message.pairs.size(1)
        drawn = int(config.split.ratios(num_edges)[part == "test"] * num_edges)
        num_held_out += drawn if official is None else official.size(1)
    return too_costly(message, num_held_out, config.evaluation.hard_negatives)


def _held_out_by_time(config: RunConfig, graph: Data) -> str | None:
    """Return from when on edges are held out."""
    if graph.get("edge_time") is None or not splits_by_time(config, graph):
        return None
    times, dated = listed_times(graph), bool(graph.get("dated"))
    cuts = TimeCuts.of(times, *config.split.ratios(len(times)))
    parts = [
        f"{name} from {readable_time(time, dated)}"
        for name, time in (("validation", cuts.val), ("test", cuts.test))
        if math.isfinite(time)
    ]
    return f"split by time: {', '.join(parts)} on"
