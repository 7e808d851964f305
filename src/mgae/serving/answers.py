"""Turn numbers of nodes and logits into what the user reads: ids and probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from mgae.evaluation.calibration import Calibrations
from mgae.evaluation.metrics import Floats
from mgae.serving.nodeindex import NodeIndex
from mgae.serving.ranker import Ranked


@dataclass(frozen=True)
class LinkScores:
    """For each pair its logit [n] and its balanced probability [n].

    That is the probability of an edge where edges and other pairs are equally many; NaN if the
    run has no validation edges to calibrate on.
    """

    logit: Floats
    balanced_probability: Floats


@dataclass(frozen=True)
class Recommendation:
    """A node that may be joined to the one that was asked about; ``score`` is what ranked it.

    ``probability`` is that of a missing edge if the graph lacks a tenth of its edges; NaN if the
    run has no validation edges, or the link is of one type. ``title`` is what people call the
    node, if it has one.
    """

    node: Any
    score: float
    probability: float
    title: str | None = None


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
            return ["on validation edges the scores say nothing: every balanced probability is 0.5"]
        return []

    def ids(self, numbers: Tensor) -> list[Any]:
        """Return the ids of the nodes with these numbers."""
        return [self.nodes.ids[number] for number in numbers.tolist()]

    def scores(self, logits: Tensor) -> LinkScores:
        """Return logits [n] with their balanced probabilities."""
        values: Floats = logits.double().numpy()
        if self.calibrations is None:
            return LinkScores(values, np.full(len(values), np.nan))
        return LinkScores(values, self.calibrations.links.probability(values))

    def of_ranks(self, scores: Tensor) -> Floats:
        """Return the probabilities of recommended links with ranking scores [n]."""
        if self.calibrations is None:
            return np.full(len(scores), np.nan)
        return self.calibrations.recommended.probability(scores.double().numpy())

    def recommendations(self, ranked: Ranked, calibrated: bool = True) -> list[Recommendation]:
        """Return one node's recommendations, the best first."""
        values = self.of_ranks(ranked.scores)
        probability = values if calibrated else np.full(len(values), np.nan)
        titles = map(self.nodes.title, ranked.nodes.tolist())
        columns = self.ids(ranked.nodes), ranked.scores.tolist(), probability.tolist(), titles
        return list(map(Recommendation, *columns))

    def batch(self, heads: Tensor, ranked: list[Ranked]) -> pa.RecordBatch:
        """Return the recommendations of several nodes as rows."""
        counts = torch.tensor([len(row.nodes) for row in ranked])
        scores = torch.cat([row.scores for row in ranked]).double()
        columns = {
            "node_id": self._column(heads.repeat_interleave(counts)),
            "rank": np.concatenate([np.arange(1, len(row.nodes) + 1) for row in ranked]),
            "recommended_id": self._column(torch.cat([row.nodes for row in ranked])),
            "score": scores.numpy(),
            "probability": self.of_ranks(scores),
        }
        if (titles := self.nodes.titles) is not None:
            tails = torch.cat([row.nodes for row in ranked])
            columns["recommended_title"] = titles.take(pa.array(tails.numpy()))
        return pa.RecordBatch.from_pydict(columns)

    def _column(self, numbers: Tensor) -> pa.Array:
        return self.nodes.column.take(pa.array(numbers.numpy()))
