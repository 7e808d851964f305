"""The rows of the table: ours, what is free, and what others do."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from torch_geometric.data import Data

import mgae
from benchmarks.worthfigures import Scores
from mgae.core.graph import MessageGraph
from mgae.core.seeding import Generators
from mgae.registry import METHODS
from mgae.runs.build import build_method
from mgae.runs.config import RunConfig
from mgae.runs.layering import merge
from mgae.runs.presets import paper_config
from mgae.runs.seeds import LEARNING_FROM_ALL
from mgae.serving import Predictor

Kind = Literal["ours", "ablation", "heuristic", "peer"]


@dataclass(frozen=True)
class Row:
    """A row: its name in the tables, and what it changes in the defaults for one's own graph."""

    title: str
    kind: Kind
    changes: dict[str, Any] = field(default_factory=dict)


OURS, NETWORK, EVIDENCE, INSTANT = "ours", "mgae", "evidence", "instant"
FROM_SHIPPED = "evidence-from-shipped"
_HEURISTICS = (
    "common-neighbors",
    "adamic-adar",
    "resource-allocation",
    "jaccard",
    "preferential-attachment",
    "l3",
    "katz",
    "personalized-pagerank",
    "raw-features",
    "random-init",
)
_PEERS = ("deepwalk", "node2vec", "netmf", "prone", "spectral", "lightgcn", "gae")
# What a run prints beside its own figures takes time and does not touch them.
_ALONE = {"evaluation": {"heuristics": [], "hard_negatives": 0}}


def _network() -> dict[str, Any]:
    """Return the parts and the training of the network that is in ours."""
    ours = METHODS["combined"].extras
    return {**ours["parts"], "train": ours["train"]}


ROWS: dict[str, Row] = {
    OURS: Row("ours", "ours", {}),
    NETWORK: Row("network alone", "ablation", {"method": "mgae", **_network()}),
    EVIDENCE: Row("evidence alone", "ablation", {"method": "evidence"}),
    INSTANT: Row("instant, no training", "ablation", {"method": "instant"}),
    **{name: Row(name, "heuristic", {"method": name}) for name in _HEURISTICS},
    **{name: Row(name, "peer", {"method": name, **_ALONE}) for name in _PEERS},
}

# Rows that another benchmark measures.
MORE_ROWS: dict[str, Row] = {
    FROM_SHIPPED: Row(
        "evidence alone, from the shipped weights",
        "ablation",
        {"method": {"kind": "evidence", "start": "shipped"}},
    ),
}


def configure(row: Row, graph: str, seed: int) -> RunConfig:
    """Return the defaults for a user's own graph, with the row's changes."""
    return paper_config(**merge({"graph": f"own-{graph}", "seed": seed}, row.changes))


class _Clock(mgae.Observer):
    """Counts the processor's seconds of both trainings, and none in which the run measures."""

    def __init__(self) -> None:
        self.since, self.training, self.seconds = time.process_time(), True, 0.0
        self.notes: list[str] = []

    def on_stage(self, text: str) -> None:
        now = time.process_time()
        self.seconds += (now - self.since) * self.training
        self.since, self.training = now, text == LEARNING_FROM_ALL

    def on_note(self, text: str) -> None:
        self.notes.append(text)


@dataclass(frozen=True)
class Fitted:
    """A method that is ready to score, and what it took."""

    scores: Scores
    config: RunConfig
    seconds: float
    notes: list[str]

    def describe(self, figures: dict[str, float], predict: float) -> dict[str, Any]:
        """Return what a cell keeps: figures, seconds and settings."""
        return {
            "figures": figures,
            "seconds": {"fit": round(self.seconds, 2), "predict": round(predict, 2)},
            "notes": self.notes,
            "settings": self.config.model_dump(exclude_none=True, mode="json"),
        }


def fit(config: RunConfig, graph: Data) -> Fitted:
    """Train on ``graph`` as `mgae train` would, or build what needs no training."""
    if getattr(METHODS[config.method.kind].build, "trains", True):
        return _trained(config, graph)
    started = time.process_time()
    method = build_method(config, MessageGraph.of(graph), Generators(config.seed)["init"])
    scores = Scores(Predictor(method, config, graph))
    return Fitted(scores, config, time.process_time() - started, [])


def _trained(config: RunConfig, graph: Data) -> Fitted:
    clock = _Clock()
    with TemporaryDirectory() as folder:
        result = mgae.run(config, graph, Path(folder) / "run", clock)
        clock.on_stage("opening the run")
        started = time.process_time()
        scores = Scores(Predictor.load(Path(folder) / "run"))
        seconds = clock.seconds + time.process_time() - started
    return Fitted(scores, result.config, seconds, clock.notes)
