"""Gather all that a run's page shows from the run's directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from mgae.core.training.device import device_again
from mgae.core.training.state import EpochRecord
from mgae.evaluation.calibration import Calibration
from mgae.evaluation.links import held_out_scores
from mgae.reporting.scorecurves import Scored
from mgae.reporting.stronglinks import StrongLinks, strong_links
from mgae.runs.featureuse import message_graph
from mgae.runs.presets import Published, published
from mgae.runs.results import RunResult
from mgae.runs.rundirectory import RunDirectory
from mgae.runs.seeds import seed_configs
from mgae.runs.trial import Trial
from mgae.serving.maps import NodeMap, Projection
from mgae.serving.predictor import Predictor

MOST_POINTS = 4000


@dataclass(frozen=True, eq=False)
class Evidence:
    """A finished run; scores, map and links are those of its first seed.

    Attributes:
        part: whose pairs were scored, ``test`` or ``val``.
        histories: for each seed its epochs, none if nothing was trained.
        node_map: None if the method has no embeddings.
    """

    result: RunResult
    paper: Published | None
    environment: dict[str, Any]
    graph: Data
    histories: list[list[EpochRecord]]
    part: str
    scored: Scored | None
    calibration: Calibration | None
    node_map: NodeMap | None
    links: StrongLinks


def gather(path: Path, projection: Projection = "pca") -> Evidence:
    """Read a finished run and score its held-out pairs again."""
    directory = RunDirectory.open(path)
    graph, configs = directory.graph(), seed_configs(directory.config)
    homes = [directory.run(index) for index in range(len(configs))]
    seeds = [home.seed_result() for home in homes]
    message = message_graph(configs[0], graph)
    split = homes[0].split(graph, message)
    trial = Trial(configs[0], graph, message, split, device_again(None, configs[0].train.device))
    homes[0].load_weights(trial.method)
    part = "test" if split.test.size(1) else "val"
    scored = _scored(trial, part)
    predictor = Predictor.load(path, device=trial.device)
    return Evidence(
        result=RunResult(directory.config, tuple(seeds), path),
        paper=published(directory.config),
        environment=directory.environment(),
        graph=graph,
        histories=[home.epochs() for home in homes],
        part=part,
        scored=scored,
        calibration=predictor.calibration,
        node_map=predictor.map(MOST_POINTS, projection),
        links=strong_links(predictor),
    )


def _scored(trial: Trial, part: str) -> Scored | None:
    """Score as it was measured: without the held-out edges, or with those OGB allows."""
    if not all(pairs.size(1) for pairs in trial.split.pairs(part)):
        return None
    allowed = trial.config.evaluation.val_edges_as_input
    scores = held_out_scores(trial.asked, trial.split, part, allowed)
    return Scored(*(side.double().numpy() for side in scores))
