"""Turn numbers of nodes and logits into what the user reads: ids and probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from mgae.evaluation.metrics import Floats
from mgae.serving.calibration import Calibration, Calibrations
from mgae.serving.nodeindex import NodeIndex
from mgae.serving.ranker import Ranked


@dataclass(frozen=True)
class LinkScores:
    """For each pair its logit [n] and its calibrated probability [n].

    The probability is that of an edge among as many edges as other pairs; NaN if the run has
    no validation edges to calibrate on.
    """

    logit: Floats
    probability: Floats


@dataclass(frozen=True)
class Recommendation:
    """A node that may be joined to the one that was asked about; ``score`` is what ranked it."""

    node: Any
    score: float
    probability: float


@dataclass(frozen=True)
class Answers:
    """Give answers in the user's ids, and in probabilities if there is a calibration."""

    nodes: NodeIndex
    calibrations: Calibrations | None

    @property
    def notes(self) -> list[str]:
        """Return what the user should know of the probabilities."""
        if self.calibrations is None:
            return ["the run has no validation edges: its scores have no probabilities"]
        if self.calibrations.links.slope == 0:
            return ["on validation edges the scores say nothing: every probability is 0.5"]
        return []

    def ids(self, numbers: Tensor) -> list[Any]:
        """Return the ids of the nodes with these numbers."""
        return [self.nodes.ids[number] for number in numbers.tolist()]

    def scores(self, logits: Tensor) -> LinkScores:
        """Return logits [n] with their probabilities."""
        return _scored(logits, None if self.calibrations is None else self.calibrations.links)

    def _ranked(self, scores: Tensor) -> LinkScores:
        return _scored(scores, None if self.calibrations is None else self.calibrations.ranks)

    def recommendations(self, ranked: Ranked) -> list[Recommendation]:
        """Return one node's recommendations, the best first."""
        scores = self._ranked(ranked.scores)
        columns = self.ids(ranked.nodes), scores.logit.tolist(), scores.probability.tolist()
        return list(map(Recommendation, *columns))

    def batch(self, heads: Tensor, ranked: list[Ranked]) -> pa.RecordBatch:
        """Return the recommendations of several nodes as rows."""
        counts = torch.tensor([len(row.nodes) for row in ranked])
        scores = self._ranked(torch.cat([row.scores for row in ranked]))
        columns = {
            "node_id": self._column(heads.repeat_interleave(counts)),
            "rank": np.concatenate([np.arange(1, len(row.nodes) + 1) for row in ranked]),
            "recommended_id": self._column(torch.cat([row.nodes for row in ranked])),
            "score": scores.logit,
            "probability": scores.probability,
        }
        return pa.RecordBatch.from_pydict(columns)

    def _column(self, numbers: Tensor) -> pa.Array:
        return self.nodes.column.take(pa.array(numbers.numpy()))


def _scored(logits: Tensor, calibration: Calibration | None) -> LinkScores:
    values: Floats = logits.double().numpy()
    if calibration is None:
        return LinkScores(values, np.full(len(values), np.nan))
    return LinkScores(values, calibration.probability(values))
