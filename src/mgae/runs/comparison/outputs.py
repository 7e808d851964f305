"""A comparison as Markdown, as CSV and as a picture."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mgae.runs.comparison.value import Comparison, Row
from mgae.runs.pictures import (
    HEURISTIC,
    HEURISTICS_LABEL,
    LEARNED,
    Line,
    draw_lines,
    legend,
    plain,
    separate,
)
from mgae.runs.results import best_cells, heading
from mgae.runs.texttables import csv_text, markdown_table

MEMORY_NOTE = (
    "s: seconds of a run, evaluation included. MiB: the most resident memory of a run above what "
    "the process had when it began."
)


def titles(comparison: Comparison) -> list[str]:
    """Return the columns' headings: each metric, the paper's beside it, seconds and memory."""
    figures = [
        name
        for metric in comparison.metrics
        for name in (heading(metric), *(["paper"] if comparison.has_published(metric) else []))
    ]
    return ["method", *figures, "s", "MiB"]


def _cells(comparison: Comparison, row: Row, short: bool) -> list[str]:
    """Return a row's texts under `titles`; a short one has the paper's mean without its spread."""
    paper, figures = row.published, []
    for metric in comparison.metrics:
        figures.append(str(row.test[metric]))
        if comparison.has_published(metric):
            figures.append(paper.text(metric, spread=not short) if paper else "–")
    peak = "–" if row.peak_mib is None else f"{row.peak_mib:,.0f}"
    return [row.name, *figures, f"{row.seconds:,.1f}", peak]


def ranked_cells(comparison: Comparison, short: bool = False) -> list[list[str]]:
    """Return the rows of the methods that learn, numbered."""
    rows = [_cells(comparison, row, short) for row in comparison.ranked]
    return [[f"{rank}. {name}", *rest] for rank, (name, *rest) in enumerate(rows, start=1)]


def heuristic_cells(comparison: Comparison, short: bool = False) -> list[list[str]]:
    """Return the rows below the line."""
    return [_cells(comparison, row, short) for row in comparison.heuristics]


def best_rows(comparison: Comparison) -> dict[int, int]:
    """Return which row is best in each column of `titles` that has figures."""
    rows = [row.test for row in (*comparison.ranked, *comparison.heuristics)]
    best, column, columns = best_cells(rows, comparison.metrics), 1, {}
    for metric in comparison.metrics:
        if metric in best:
            columns[column] = best[metric]
        column += 2 if comparison.has_published(metric) else 1
    return columns


def about(comparison: Comparison) -> str:
    """Return one line on what was compared."""
    config = comparison.config
    runs = f"{config.runs} run{'' if config.runs == 1 else 's'}"
    return f"{config.graph}, {config.task}, protocol {config.protocol}: test, {runs}"


def to_markdown(comparison: Comparison) -> str:
    """Return the ranked table, the heuristics in italics below it, and who refused."""
    ranked = ranked_cells(comparison)
    heuristics = [[f"*{text}*" for text in row] for row in heuristic_cells(comparison)]
    rows = [*ranked, *heuristics]
    for column, number in best_rows(comparison).items():
        rows[number][column] = f"**{rows[number][column]}**"
    lines = [
        f"# {about(comparison)}",
        "",
        markdown_table(titles(comparison), rows),
        "",
        f"{MEMORY_NOTE} In italics: what learns nothing. In bold: the best.",
        *(f"\n`{row.name}` refused: {row.refused}" for row in comparison.refusals),
    ]
    return "\n".join(lines) + "\n"


def to_csv(comparison: Comparison) -> str:
    """Return a row for each method, with every metric."""
    rows = [*comparison.ranked, *comparison.heuristics, *comparison.refusals]
    names = list(dict.fromkeys(name for row in rows for name in row.test))
    figures = [f"{name}_{what}" for name in names for what in ("mean", "std", "paper")]
    columns = ["method", "trains", "runs", *figures, "seconds", "peak_mib", "refused"]
    return csv_text(columns, map(_csv_line, rows))


def _csv_line(row: Row) -> dict[str, Any]:
    line = {
        "method": row.name,
        "trains": row.trains,
        "runs": row.config.runs,
        "seconds": row.seconds,
        "peak_mib": row.peak_mib,
        "refused": row.refused,
    }
    for name, summary in row.test.items():
        paper = row.paper_mean(name)
        line |= {f"{name}_mean": summary.mean, f"{name}_std": summary.std, f"{name}_paper": paper}
    return line


def picture(comparison: Comparison) -> Figure:
    """Draw figures, seconds and memory side by side, the best method on top, heuristics below."""
    rows = [*comparison.ranked, *comparison.heuristics]
    figure = Figure(figsize=(9.6, 2.1 + 0.34 * len(rows)), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True, width_ratios=[3.2, 1, 1])
    draw_lines(panels[0], [_line(row, comparison.metric) for row in rows], comparison.metric)
    _bars(panels[1], rows, [row.seconds or 0.0 for row in rows], "seconds per run")
    _bars(panels[2], rows, [row.peak_mib or 0.0 for row in rows], "peak memory, MiB")
    separate(panels, len(comparison.ranked), len(rows))
    figure.suptitle(about(comparison), fontsize=11)
    legend(figure)
    return figure


def _line(row: Row, metric: str) -> Line:
    look = (LEARNED, "methods") if row.trains else (HEURISTIC, HEURISTICS_LABEL)
    return Line(row.name, row.test[metric], *look, row.paper_mean(metric))


def _bars(panel: Axes, rows: list[Row], values: list[float], label: str) -> None:
    """Draw a bar for each row, with its number behind it."""
    colors = [LEARNED if row.trains else HEURISTIC for row in rows]
    bars = panel.barh(range(len(rows)), values, color=colors, height=0.55, alpha=0.85)
    texts = [f"{value:,.1f}" if value < 10 else f"{value:,.0f}" for value in values]
    panel.bar_label(bars, texts, padding=3, fontsize=8)
    panel.set_xlim(0, 1.35 * max(*values, 1e-9))
    panel.set_xlabel(label)
    panel.tick_params(axis="y", length=0)
    plain(panel)
