"""The figures of a run: each seed's, and their mean and spread."""

from __future__ import annotations

import html
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from mgae.evaluation.certainty import Certainty, pooled
from mgae.evaluation.verdict import Standing, Verdict, display, judge
from mgae.runs.config import RunConfig
from mgae.runs.texttables import html_table

Figures = dict[str, float]
_HEADINGS = {
    "auc": "AUC",
    "ap": "AP",
    "mrr": "MRR",
    "hard_mrr": "hard MRR",
    "known_auc": "AUC, known negatives",
}


@dataclass(frozen=True)
class Advice:
    """Something to try, as a setting where it is one.

    Attributes:
        text: why, in a sentence.
        setting: what to add to the command.
        tried: the validation figure with it, in percent, if the budget had the time for it; next
            to ``before``, the one without, and the ``metric`` of both.
    """

    text: str
    setting: str | None = None
    metric: str | None = None
    before: float | None = None
    tried: float | None = None

    @property
    def figures(self) -> str:
        """Return what the trial gave, in brackets; nothing without one."""
        if self.metric is None or self.before is None or self.tried is None:
            return ""
        shown = f"{heading(self.metric)} {self.tried:.1f} against {self.before:.1f}"
        return f" (tried: validation {shown})"

    def __str__(self) -> str:
        setting = "" if self.setting is None else f": {self.setting}"
        return f"{self.text}{setting}{self.figures}"


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
    certainty: Certainty | None = None
    advice: tuple[Advice, ...] = ()
    beside: dict[str, Figures] = field(default_factory=dict)


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
    """All seeds of a run; ``directory`` has its files, if they were kept.

    >>> import mgae
    >>> mgae.run(mgae.RunConfig(train={"epochs": 1}))
    RunResult(mgae gcn on cora: AUC ..., AP ...)
    """

    config: RunConfig
    seeds: tuple[SeedResult, ...]
    directory: Path | None = None

    def __repr__(self) -> str:
        figures = {name: self.test[name] for name in self.shown if name in self.test}
        shown = ", ".join(f"{heading(name)} {one}" for name, one in figures.items())
        verdict = "" if self.verdict is None else f"; {self.verdict.text}"
        return f"RunResult({self.name} on {self.config.graph}: {shown or 'no test edges'}{verdict})"

    def _repr_html_(self) -> str:
        """Return the figures beside those of the heuristics, and the verdict."""
        rows = {self.name: self.test, **self.beside, **self.heuristics}
        columns = [name for name in self.shown if name in self.test]
        cells = (
            [display(name), *(str(row[metric]) if metric in row else "" for metric in columns)]
            for name, row in rows.items()
        )
        verdict = "" if self.verdict is None else self.verdict.text
        table = html_table(["test, in percent", *map(heading, columns)], cells, self.config.label)
        return f"{table}<p>{html.escape(verdict)}</p>"

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
    def beside(self) -> dict[str, dict[str, Summary]]:
        """Return the test figures of methods trained beside, summarized over the seeds."""
        return {
            name: summarize([result.beside[name] for result in self.seeds])
            for name in self.seeds[0].beside
        }

    @property
    def certainty(self) -> Certainty | None:
        """Return how sure the test figures are, over all runs; None for runs of older versions."""
        each = [result.certainty for result in self.seeds if result.certainty is not None]
        if not self.test or len(each) < len(self.seeds):
            return None
        same_edges = self.config.split.seed != "run"
        return pooled(each, [result.test for result in self.seeds], same_edges)

    @property
    def verdict(self) -> Verdict | None:
        """Return whether the model is worth using; None where nothing tells."""
        certainty = self.certainty
        if certainty is None or not certainty.intervals:
            return None
        ours, heuristics = means(self.test), self.heuristics
        unit = "edge" if self.config.task == "links" else "node"
        others = {name: means(figures) for name, figures in heuristics.items()}
        standing = Standing(ours, others, certainty, unit)
        return judge(standing, self.judged_by, heading)

    @property
    def judged_by(self) -> str:
        """Return the metric of the verdict: recall@K where it counts and all have it.

        The AUC against random pairs is high for every method; what a user of her own graph gets
        are the best few of all nodes.
        """
        first = self.seeds[0]
        figures = [first.test, *first.heuristics.values()]
        recalls = [name for name in self.test if name.startswith("recall@")]
        wanted = [*(recalls[:1] if self.config.is_own else ()), self.main_metric, "auc"]
        shared = [name for name in wanted if all(name in one for one in figures)]
        return shared[0] if shared else next(iter(self.test))

    @property
    def needs_advice(self) -> bool:
        """Return whether the verdict is such that advice may help."""
        verdict = self.verdict
        return verdict is not None and verdict.kind not in ("better", "alone")

    @property
    def advice(self) -> tuple[Advice, ...]:
        """Return each piece of advice once, if the verdict needs any."""
        verdict = self.verdict
        if verdict is None or not self.needs_advice:
            return ()
        advice = {one.text: one for seed in self.seeds for one in seed.advice}
        if verdict.kind == "worse":
            name = display(verdict.heuristic or "")
            served = Advice(f"train and serve {name} instead", f"--method {verdict.heuristic}")
            return (served, *advice.values())
        return tuple(advice.values())

    @property
    def other_split(self) -> dict[str, Summary] | None:
        """Return the test figures by the other kind of split, summarized over the seeds."""
        figures = [result.other_split for result in self.seeds if result.other_split is not None]
        return summarize(figures) if len(figures) == len(self.seeds) else None

    @property
    def shown(self) -> list[str]:
        """Return the metrics that the protocol asks for: Hits@K on OGB's graphs."""
        if self.config.is_own and not self.config.recalls and "recall@10" in self.test:
            few = ("recall@10", "auc", "ap", "hard_mrr", "hard_hits@10", "known_auc")
            return [name for name in few if name in self.test]
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
            **self._judged(),
        }

    def _judged(self) -> dict[str, Any]:
        """Return verdict and advice for ``metrics.json``; of a single run its intervals too."""
        verdict, (first, *more) = self.verdict, self.seeds
        judged: dict[str, Any] = {"verdict": None}
        if verdict is not None:
            judged["verdict"] = _VERDICT.dump_python(verdict, mode="json")
        if self.beside:
            judged["beside"] = {n: summaries_to_json(one) for n, one in self.beside.items()}
        if self.certainty is not None and not more:
            judged["certainty"] = _CERTAINTY.dump_python(self.certainty, mode="json")
        # Of all runs: together they may need advice that the first one does not.
        advice = self.advice if more else first.advice
        return {**judged, "advice": [asdict(one) for one in advice]}

    def to_json(self) -> dict[str, Any]:
        """Return the metrics with the seconds of each run and the directory."""
        return {
            **self.metrics(),
            "advice": [asdict(one) for one in self.advice],
            "seconds": [round(result.seconds, 3) for result in self.seeds],
            "directory": None if self.directory is None else str(self.directory),
        }


_VERDICT = TypeAdapter(Verdict)
_CERTAINTY = TypeAdapter(Certainty)


def heading(metric: str) -> str:
    """Return a metric's name as people write it.

    >>> heading("auc"), heading("macro_f1")
    ('AUC', 'macro f1')
    """
    return _HEADINGS.get(metric, metric.replace("_", " "))


def summarize(figures: Sequence[Figures]) -> dict[str, Summary]:
    """Return each metric over the runs."""
    return {name: Summary.of([run[name] for run in figures]) for name in figures[0]}


def best_cells(rows: Sequence[Mapping[str, Summary]], columns: Sequence[str]) -> dict[str, int]:
    """Return which row is best in each column, the first of equal ones; none if there is one row.

    >>> low, high = ({"auc": Summary.of([value])} for value in (70.0, 80.0))
    >>> best_cells([low, high], ["auc"]), best_cells([low], ["auc"])
    ({'auc': 1}, {})
    """
    best = {}
    for column in columns if len(rows) > 1 else ():
        measured = [number for number, row in enumerate(rows) if column in row]
        if measured:
            best[column] = max(measured, key=lambda number: rows[number][column].mean)
    return best


def means(summaries: Mapping[str, Summary]) -> Figures:
    """Return each metric's mean."""
    return {name: summary.mean for name, summary in summaries.items()}


def summaries_to_json(summaries: dict[str, Summary]) -> dict[str, Any]:
    """Return values, mean and standard deviation by metric."""
    return {name: asdict(summary) for name, summary in summaries.items()}
