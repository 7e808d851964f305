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
from mgae.runs.texttables import html_table
from mgae.serving.frames import Frames
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


class Recommendations(list[Recommendation], Frames):
    """Recommended links of a node, the best first: a list, a data frame, a table in a notebook."""

    def to_arrow(self) -> pa.Table:
        """Return a row for each, with its rank from 1."""
        columns: dict[str, Any] = {"rank": range(1, len(self) + 1)}
        names = ["node", "title", "score", "probability"]
        if all(one.title is None for one in self):
            names.remove("title")
        columns |= {name: [getattr(one, name) for one in self] for name in names}
        return pa.table({name: pa.array(values) for name, values in columns.items()})

    def _repr_html_(self) -> str:
        table = self.to_arrow()
        rows = zip(*(map(_shown, column.to_pylist()) for column in table.columns), strict=True)
        return html_table(table.column_names, rows)


def _shown(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else "" if value is None else str(value)


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

    def recommendations(self, ranked: Ranked, calibrated: bool = True) -> Recommendations:
        """Return one node's recommendations, the best first."""
        values = self.of_ranks(ranked.scores)
        probability = values if calibrated else np.full(len(values), np.nan)
        titles = map(self.nodes.title, ranked.nodes.tolist())
        columns = self.ids(ranked.nodes), ranked.scores.tolist(), probability.tolist(), titles
        return Recommendations(map(Recommendation, *columns))

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
