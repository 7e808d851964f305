"""The figures of a run: each seed's, and their mean and spread."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from mgae.runs.config import RunConfig

Figures = dict[str, float]
_HEADINGS = {
    "auc": "AUC",
    "ap": "AP",
    "mrr": "MRR",
    "hard_mrr": "hard MRR",
    "known_auc": "AUC, known negatives",
}


@dataclass(frozen=True)
class SeedResult:
    """One seed's figures, in percent.

    Attributes:
        test: by metric; nothing reads it before training has ended.
        val: the validation edges' figures, at the chosen epoch.
        heuristics: the test figures of methods that learn nothing, by their name.
        other_split: the test figures by the other kind of split, if it was trained on too: a random
            one if edges are held out by time, and the other way round.
    """

    seed: int
    test: Figures
    val: Figures
    heuristics: dict[str, Figures]
    epochs: int
    best_epoch: int
    seconds: float = field(compare=False)
    other_split: Figures | None = None


@dataclass(frozen=True)
class Summary:
    """One metric over the runs; ``std`` is the sample's, 0 for a single run.

    >>> Summary.of([93.0, 94.0]).mean
    93.5
    """

    values: Annotated[list[float], Field(min_length=1)]
    mean: float
    std: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Summary:
        """Return the mean and the standard deviation of the values."""
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        return cls(list(values), statistics.fmean(values), spread)

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.std:.2f}" if len(self.values) > 1 else f"{self.mean:.2f}"


@dataclass(frozen=True)
class RunResult:
    """All seeds of a run; ``directory`` has its files, if they were kept."""

    config: RunConfig
    seeds: tuple[SeedResult, ...]
    directory: Path | None = None

    @property
    def test(self) -> dict[str, Summary]:
        """Return the test figures, summarized over the seeds."""
        return summarize([result.test for result in self.seeds])

    @property
    def val(self) -> dict[str, Summary]:
        """Return the validation figures, summarized over the seeds."""
        return summarize([result.val for result in self.seeds])

    @property
    def heuristics(self) -> dict[str, dict[str, Summary]]:
        """Return the heuristics' test figures, summarized over the seeds."""
        names = self.seeds[0].heuristics
        return {
            name: summarize([result.heuristics[name] for result in self.seeds]) for name in names
        }

    @property
    def other_split(self) -> dict[str, Summary] | None:
        """Return the test figures by the other kind of split, summarized over the seeds."""
        figures = [result.other_split for result in self.seeds if result.other_split is not None]
        return summarize(figures) if len(figures) == len(self.seeds) else None

    @property
    def shown(self) -> list[str]:
        """Return the metrics that the protocol asks for: Hits@K on OGB's graphs."""
        if "hard_mrr" in self.test:
            return [name for name in self.test if "hits@" not in name or name == "hard_hits@10"]
        if self.config.task == "nodes" or self.config.protocol == "strict":
            return list(self.test)
        by_hits = self.config.ranked_by.startswith("hits@")
        return [name for name in self.test if name.startswith("hits@") == by_hits and name != "mrr"]

    @property
    def main_metric(self) -> str:
        """Return the metric to rank by."""
        return self.config.ranked_by if self.config.task == "links" else next(iter(self.test))

    @property
    def name(self) -> str:
        """Return the method's name, with that of its encoder if it has one."""
        config = self.config
        return " ".join([config.method.kind, *([config.encoder.kind] if config.encoder else [])])

    def metrics(self) -> dict[str, Any]:
        """Return the content of ``metrics.json``: the same for the same seed, so no timings."""
        config = self.config
        other = self.other_split
        return {
            "dataset": config.graph,
            "method": config.method.kind,
            "encoder": config.encoder.kind if config.encoder else None,
            "task": config.task,
            "protocol": config.protocol,
            "seeds": [result.seed for result in self.seeds],
            "epochs": [result.epochs for result in self.seeds],
            "best_epochs": [result.best_epoch for result in self.seeds],
            "test": summaries_to_json(self.test),
            "val": summaries_to_json(self.val),
            "heuristics": {
                name: summaries_to_json(figures) for name, figures in self.heuristics.items()
            },
            **({} if other is None else {"other_split": summaries_to_json(other)}),
        }

    def to_json(self) -> dict[str, Any]:
        """Return the metrics with the seconds of each run and the directory."""
        return {
            **self.metrics(),
            "seconds": [round(result.seconds, 3) for result in self.seeds],
            "directory": None if self.directory is None else str(self.directory),
        }


@dataclass
class _Metrics:
    """What ``metrics.json`` has; runs of 0.1.0 say ``floors``."""

    seeds: Annotated[list[int], Field(min_length=1)]
    epochs: Annotated[list[int], Field(min_length=1)]
    best_epochs: Annotated[list[int], Field(min_length=1)]
    test: dict[str, Summary]
    val: dict[str, Summary]
    heuristics: dict[str, dict[str, Summary]] = field(default_factory=dict)
    floors: dict[str, dict[str, Summary]] = field(default_factory=dict)


_CHECK = TypeAdapter(_Metrics)


def checked_metrics(content: Any) -> dict[str, Any]:
    """Return what `RunResult.metrics` gave, read back from a file.

    Raises:
        ValueError: if something is missing or of another type.
    """
    _CHECK.validate_python(content)
    if not {"heuristics", "floors"} & content.keys():
        raise ValueError("heuristics: Field required")
    return dict(content)


def heading(metric: str) -> str:
    """Return a metric's name as people write it.

    >>> heading("auc"), heading("macro_f1")
    ('AUC', 'macro f1')
    """
    return _HEADINGS.get(metric, metric.replace("_", " "))


def seed_result(metrics: dict[str, Any], seconds: float) -> SeedResult:
    """Return a single seed's figures, read back from its ``metrics.json``."""

    def first(figures: dict[str, Any]) -> Figures:
        return {name: summary["values"][0] for name, summary in figures.items()}

    # Runs of 0.1.0 say "floors".
    heuristics = metrics["heuristics"] if "heuristics" in metrics else metrics["floors"]
    return SeedResult(
        seed=metrics["seeds"][0],
        test=first(metrics["test"]),
        val=first(metrics["val"]),
        heuristics={name: first(figures) for name, figures in heuristics.items()},
        epochs=metrics["epochs"][0],
        best_epoch=metrics["best_epochs"][0],
        seconds=seconds,
        other_split=first(metrics["other_split"]) if "other_split" in metrics else None,
    )


def summarize(figures: Sequence[Figures]) -> dict[str, Summary]:
    """Return each metric over the runs."""
    return {name: Summary.of([run[name] for run in figures]) for name in figures[0]}


def summaries_to_json(summaries: dict[str, Summary]) -> dict[str, Any]:
    """Return values, mean and standard deviation by metric."""
    return {name: asdict(summary) for name, summary in summaries.items()}
