"""Write ``report.html``, the page of a run: one file that needs nothing else."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from mgae.core.errors import RunDirectoryError
from mgae.data.atomic import write_text
from mgae.data.datasets.loading import statistics
from mgae.data.ids import counted
from mgae.evaluation import metrics
from mgae.evaluation.certainty import Certainty, Intervals
from mgae.evaluation.meanings import meaning
from mgae.evaluation.monitors import LOSS
from mgae.registry import PARTS
from mgae.reporting import charts
from mgae.reporting.gathering import Evidence, gather
from mgae.reporting.svg import TEMPLATES
from mgae.runs.config import RunConfig
from mgae.runs.results import RunResult, Summary, best_cells, heading
from mgae.runs.rundirectory import RunDirectory
from mgae.runs.texttables import csv_text
from mgae.serving.maps import Projection
from mgae.serving.templates import source_of
from mgae.version import __version__

REPORT = "report.html"
_FOLDER = resources.files("mgae.reporting") / "templates"
SCRIPT = Markup((_FOLDER / "report.js").read_text(encoding="utf-8"))
_TASKS = {"links": "link prediction", "nodes": "node classification"}
_PART_NAMES = {"test": "test", "val": "validation"}
_COLORS = {"community": "the Louvain community", "cluster": "the k-means cluster"}
_TILES = 3


def write_report(path: str | Path, projection: Projection = "pca") -> Path:
    """Write ``report.html`` into the directory of a finished run, and return its path.

    Raises:
        RunDirectoryError: if there is no finished run, or nothing can be written.

    >>> import mgae, tempfile
    >>> ring = [(node, (node + 1) % 30) for node in range(30)]
    >>> config = mgae.RunConfig(graph="ring", method="gae", train={"epochs": 1})
    >>> out = tempfile.TemporaryDirectory()
    >>> result = mgae.run(config, ring, out.name, mgae.Observer())
    >>> mgae.write_report(out.name).name
    'report.html'
    >>> out.cleanup()
    """
    directory = RunDirectory.open(Path(path))
    if not directory.finished:
        raise RunDirectoryError(
            f"{path} is not finished: go on with mgae train --resume {path} first"
        )
    text = render(gather(directory.path, projection))
    try:
        write_text(directory.path / REPORT, text)
    except OSError as error:
        raise RunDirectoryError(f"cannot write to {path}: {error.strerror}") from None
    return directory.path / REPORT


def render(evidence: Evidence) -> str:
    """Return the whole HTML text; everything of the user's is escaped."""
    result = evidence.result
    verdict = result.verdict
    bad = verdict is not None and verdict.is_bad
    return TEMPLATES.get_template("report.html").render(
        result=result,
        lead=_lead(result.config, result.name),
        verdict=verdict,
        advice=result.advice,
        # Figures are not shown large where the scores should not be used.
        tiles=[] if bad else [_tile(evidence, name) for name in _leading(result)],
        warned=bad,
        sure=result.certainty is not None and bool(result.certainty.intervals),
        metric_names=[heading(name) for name in _columns_of(result)],
        meanings=[(heading(name), text) for name in _columns_of(result) if (text := meaning(name))],
        figures=_figures(evidence),
        figures_csv=_as_link(_figures_csv(evidence)),
        links_csv=_as_link(_links_csv(evidence)),
        script=SCRIPT,
        script_source=source_of(SCRIPT),
        facts=_facts(evidence),
        columns=_columns(evidence),
        # By the path as it was given: the graph's file may stand beside it.
        repeat=f"mgae train --config {shlex.quote(f'{result.directory}/config.toml')} --out again",
        training=_training(evidence),
        held_out=_held_out(evidence),
        map=_map(evidence),
        strong=evidence.links,
        undirected=evidence.graph.undirected,
        num_nodes=int(evidence.graph.num_nodes or 0),
        version=__version__,
    )


def _lead(config: RunConfig, name: str) -> str:
    facts = (_TASKS[config.task], name, f"protocol {config.protocol}", counted(config.runs, "run"))
    return " · ".join(facts)


def _leading(result: RunResult) -> list[str]:
    """Return the metrics to show large."""
    shown = result.shown
    return [name for name in _columns_of(result) if name in shown][:_TILES]


def _columns_of(result: RunResult) -> list[str]:
    """Return all metrics, the one of the verdict first."""
    first = [] if result.verdict is None else [result.verdict.metric]
    return list(dict.fromkeys([*first, *result.test]))


def _tile(evidence: Evidence, metric: str) -> dict[str, Any]:
    """Return one figure, shown large, with what to compare it with."""
    result = evidence.result
    summary, beside = result.test[metric], []
    if result.certainty is not None and (ends := result.certainty.intervals.get(metric)):
        beside.append(f"95% interval: {_interval(ends)}")
    if evidence.paper is not None and metric in evidence.paper.figures:
        beside.append(f"paper: {evidence.paper.text(metric)} ({evidence.paper.source})")
    measured = {name: one for name, one in result.heuristics.items() if metric in one}
    if measured:
        best = max(measured, key=lambda name: measured[name][metric].mean)
        beside.append(f"best heuristic: {measured[best][metric].mean:.2f} ({best})")
    std = summary.std if len(summary.values) > 1 else None
    return {
        "name": heading(metric),
        "meaning": meaning(metric),
        "mean": summary.mean,
        "std": std,
        "beside": beside,
    }


def _interval(ends: tuple[float, float]) -> str:
    return f"{ends[0]:.1f} to {ends[1]:.1f}"


@dataclass(frozen=True)
class _Cell:
    """A figure as text, whether it is the best of its column, and its 95% interval."""

    text: str
    best: bool = False
    interval: str = ""


def _figures(evidence: Evidence) -> list[tuple[str, str, list[_Cell]]]:
    """Return (style, name, cells) for us, the paper and the heuristics, a cell per metric."""
    result, paper, names = evidence.result, evidence.paper, _columns_of(evidence.result)
    certainty = result.certainty or Certainty()
    beside = {f"{name} (default recipe)": one for name, one in result.beside.items()}
    measured = [
        ("ours", result.name, result.test, certainty.intervals),
        *(("", name, figures, {}) for name, figures in beside.items()),
        *(
            ("heuristic", name, figures, certainty.heuristics.get(name, {}))
            for name, figures in result.heuristics.items()
        ),
    ]
    best = best_cells([figures for _, _, figures, _ in measured], names)
    rows = [
        (style, name, [_cell(figures, one, best.get(one) == n, ends) for one in names])
        for n, (style, name, figures, ends) in enumerate(measured)
    ]
    if paper is not None:
        printed = [_Cell(paper.text(metric)) for metric in names]
        rows.insert(1, ("", f"paper, {paper.source}", printed))
    first = next((n for n, (style, _, _) in enumerate(rows) if style == "heuristic"), None)
    if first is not None:
        rows[first] = ("heuristic first-heuristic", *rows[first][1:])
    return rows


def _cell(figures: Mapping[str, Summary], metric: str, best: bool, intervals: Intervals) -> _Cell:
    ends = intervals.get(metric)
    text = str(figures[metric]) if metric in figures else "–"
    return _Cell(text, best, "" if ends is None else _interval(ends))


def _figures_csv(evidence: Evidence) -> str:
    """Return a line for each method and metric, with the ends of its interval."""
    result = evidence.result
    certainty = result.certainty or Certainty()
    rows = [(result.name, result.test, certainty.intervals)]
    rows += [(name, figures, {}) for name, figures in result.beside.items()]
    rows += [(n, one, certainty.heuristics.get(n, {})) for n, one in result.heuristics.items()]
    lines = (
        {
            "method": name,
            "metric": metric,
            "mean": one.mean,
            "std": one.std,
            "runs": len(one.values),
        }
        | dict(zip(("low", "high"), ends.get(metric, ()), strict=False))
        for name, figures, ends in rows
        for metric, one in figures.items()
    )
    return csv_text(["method", "metric", "mean", "std", "runs", "low", "high"], lines)


def _links_csv(evidence: Evidence) -> str:
    columns = ["source", "source_title", "target", "target_title", "score", "probability", "why"]
    lines = (
        {**{name: getattr(one, name) for name in columns[:-1]}, "why": one.sentence}
        for one in evidence.links.links
    )
    return csv_text(columns, lines)


def _as_link(text: str) -> str:
    """Return the address of a file that stands in the page itself."""
    return f"data:text/csv;charset=utf-8,{quote(text)}"


def _facts(evidence: Evidence) -> dict[str, str | None]:
    result, environment = evidence.result, evidence.environment
    spent = f"{sum(seed.seconds for seed in result.seeds):.1f} s on {environment['processor']}"
    versions = environment["versions"].items()
    return {
        "graph": ", ".join(f"{n:,} {what}" for what, n in statistics(evidence.graph).items() if n),
        "method": _parts(result.config),
        "seeds": ", ".join(str(seed.seed) for seed in result.seeds),
        "epochs": ", ".join(f"{s.epochs} (best: {s.best_epoch})" for s in result.seeds if s.epochs),
        "time": ", ".join([spent, *(counted(environment[f"{w}s"], w) for w in ("core", "thread"))]),
        "versions": ", ".join(f"{name} {number}" for name, number in versions if number),
        "commit": environment.get("commit"),
    }


def _columns(evidence: Evidence) -> list[dict[str, str]]:
    """Return what became of each column of the features file."""
    preparation = evidence.graph.get("preparation")
    return [] if preparation is None else preparation.described()


def _parts(config: RunConfig) -> str:
    """Return the names of the method and of each of its parts."""
    chosen = {name: getattr(config, name) for name in PARTS}
    kinds = (f"{name} {part.kind}" for name, part in chosen.items() if part is not None)
    return ", ".join([config.method.kind, *kinds])


def _training(evidence: Evidence) -> dict[str, Any] | None:
    histories, monitor = evidence.histories, evidence.result.config.train.monitor
    if not all(histories):
        return None
    best = [seed.best_epoch for seed in evidence.result.seeds]
    validation = None if monitor == LOSS else charts.validation_chart(histories, best, monitor)
    return {"loss": charts.loss_chart(histories, best), "validation": validation}


def _held_out(evidence: Evidence) -> dict[str, Any] | None:
    scored, calibration = evidence.scored, evidence.calibration
    if scored is None:
        return None
    sides = scored.positive, scored.negative
    return {
        "part": _PART_NAMES[evidence.part],
        "num_edges": scored.positive.size,
        "num_others": scored.negative.size,
        "roc": charts.roc_chart(scored, 100 * metrics.auc(*sides)),
        "precision_recall": charts.precision_recall_chart(
            scored, 100 * metrics.average_precision(*sides)
        ),
        "calibration": calibration and charts.calibration_chart(scored, calibration),
        "histogram": charts.histogram_chart(scored),
    }


def _map(evidence: Evidence) -> dict[str, Any] | None:
    node_map = evidence.node_map
    if node_map is None:
        return None
    others = [(9, "other")] if (node_map.groups < 0).any() else []
    return {
        "chart": charts.map_chart(node_map, evidence.graph),
        "entries": list(enumerate(node_map.names)) + others,
        "num_shown": len(node_map.nodes),
        "projection": node_map.projection,
        "colored_by": _COLORS.get(node_map.grouping, "the class"),
        "most_edges": charts.MOST_EDGES,
    }
