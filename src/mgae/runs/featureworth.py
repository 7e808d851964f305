"""What the features of a graph are worth: train with them and without, compare on validation."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch_geometric.data import Data

from mgae.core.errors import GraphError
from mgae.core.graph import MessageGraph
from mgae.evaluation.links import HARD_METRICS, evaluate_links, link_metrics
from mgae.evaluation.monitors import monitored_rank
from mgae.runs.config import RunConfig
from mgae.runs.results import heading
from mgae.runs.trial import Trial

CHECK_SHARE = 0.5  # of the time budget, for both trainings of the check


@dataclass(frozen=True)
class FeatureWorth:
    """The validation score with the features and without, in percent.

    Attributes:
        metric: what was measured.
        with_features, without: the scores of the best epochs.
        edges: how many validation edges they rest on.
    """

    metric: str
    with_features: float
    without: float
    edges: int

    @property
    def gain(self) -> float:
        """Return how many points the features are worth."""
        return self.with_features - self.without

    @property
    def noise(self) -> float:
        """Return the standard error of a share of this size among so many edges, in points."""
        share = min(max(self.without / 100, 0.01), 0.99)
        return 100 * math.sqrt(share * (1 - share) / max(1, self.edges))

    def __str__(self) -> str:
        scores = (
            f"validation {heading(self.metric)} {self.with_features:.1f} with the features and "
            f"{self.without:.1f} without them"
        )
        if self.gain > self.noise:
            return f"the features help: {scores}"
        if self.gain < -self.noise:
            return f"the features do harm: {scores}; train without them"
        return f"the features make no difference beyond chance (±{self.noise:.1f}): {scores}"


def worth_of_features(config: RunConfig, graph: Data) -> FeatureWorth:
    """Train on a graph with its features and without, on the same split with the same seed.

    The two trainings share a part of the time budget, if there is one.

    Raises:
        GraphError: if the graph has no features.
    """
    if graph.x is None:
        raise GraphError("the graph has no features to check: leave --check-features out")
    evaluation = {**config.evaluation.model_dump(), "heuristics": ()}
    if config.train.monitor not in HARD_METRICS:
        evaluation["hard_negatives"] = 0
    train = {**config.train.model_dump(exclude_none=True), **_shortened(config, CHECK_SHARE / 2)}
    config = config.changed(evaluation=evaluation, train=train, runs=1)
    bare = graph.clone()
    bare.x = bare.preparation = bare.feature_names = bare.checksum = None
    with_features, edges = _validated(config, graph)
    without, _ = _validated(_without_features(config), bare)
    return FeatureWorth(config.ranked_by, with_features, without, edges)


def after_check(config: RunConfig) -> RunConfig:
    """Return the configuration with what the check leaves of the time budget, if there is one."""
    train = {**config.train.model_dump(exclude_none=True), **_shortened(config, 1 - CHECK_SHARE)}
    return config.changed(train=train)


def _shortened(config: RunConfig, share: float) -> dict[str, float]:
    """Return the budget of a training that may take this share of the whole."""
    return {} if config.train.budget is None else {"budget": share * config.train.budget}


def _without_features(config: RunConfig) -> RunConfig:
    """Return a configuration whose encoder does not ask for features."""
    encoder = config.encoder
    if encoder is None or getattr(encoder, "inputs", None) != "features":
        return config
    return config.changed(encoder={**encoder.model_dump(exclude_none=True), "inputs": "auto"})


def _validated(config: RunConfig, graph: Data) -> tuple[float, int]:
    """Return the score of a trained method on the validation edges, and how many these are."""
    trial = Trial(config, graph, MessageGraph.of(graph))
    trial.fit()
    metric, known = config.ranked_by, link_metrics(config.evaluation.hits)
    recall = monitored_rank(metric)
    wanted = {metric: known[metric]} if metric in known else {}
    recalls = [] if recall is None else [recall]
    figures = evaluate_links(trial.asked, trial.split, "val", wanted, recalls=recalls)
    return figures[metric], trial.split.val.size(1)
