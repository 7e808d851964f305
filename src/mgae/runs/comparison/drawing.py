"""A comparison as a picture: figures with their spread, seconds and memory side by side."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mgae.runs.comparison.tables import about
from mgae.runs.comparison.value import Comparison, Row
from mgae.runs.pictures import HEURISTIC, LEARNED, diamond, legend, plain, save, spread
from mgae.runs.results import heading


def draw(comparison: Comparison, folder: Path) -> None:
    """``comparison.png`` and ``comparison.svg``."""
    save(picture(comparison), folder / "comparison")


def picture(comparison: Comparison) -> Figure:
    """The best method on top, heuristics below a line."""
    rows = [*comparison.ranked, *comparison.heuristics]
    figure = Figure(figsize=(9.6, 2.1 + 0.34 * len(rows)), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True, width_ratios=[3.2, 1, 1])
    _figures(panels[0], rows, comparison)
    _bars(panels[1], rows, [row.seconds or 0.0 for row in rows], "seconds per run")
    _bars(panels[2], rows, [row.peak_mib or 0.0 for row in rows], "peak memory, MiB")
    panels[0].set_yticks(range(len(rows)), [row.name for row in rows])
    panels[0].set_ylim(len(rows) - 0.4, -0.6)
    if comparison.ranked and comparison.heuristics:
        for panel in panels:
            panel.axhline(len(comparison.ranked) - 0.5, color="#444444", linewidth=0.8)
    figure.suptitle(about(comparison), fontsize=11)
    legend(figure)
    return figure


def _figures(panel: Axes, rows: list[Row], comparison: Comparison) -> None:
    """Mean and standard deviation, each seed as a small dot, the paper's mean as a diamond."""
    metric = comparison.metric
    for place, row in enumerate(rows):
        summary = row.test[metric]
        look = (LEARNED, "methods") if row.trains else (HEURISTIC, "heuristics: nothing is learned")
        spread(panel, place, summary.values, summary.mean, summary.std, *look)
        paper = row.published.figures.get(metric) if row.published else None
        if paper is not None:
            panel.scatter(paper[0], place, **diamond(), zorder=4)
    panel.set_xlabel(f"{heading(metric)}, %")
    panel.grid(axis="x", color="#e3e3e3")
    panel.set_axisbelow(True)
    plain(panel)


def _bars(panel: Axes, rows: list[Row], values: list[float], label: str) -> None:
    """A bar for each row, with its number behind it."""
    colors = [LEARNED if row.trains else HEURISTIC for row in rows]
    bars = panel.barh(range(len(rows)), values, color=colors, height=0.55, alpha=0.85)
    texts = [f"{value:,.1f}" if value < 10 else f"{value:,.0f}" for value in values]
    panel.bar_label(bars, texts, padding=3, fontsize=8)
    panel.set_xlim(0, 1.35 * max(*values, 1e-9))
    panel.set_xlabel(label)
    panel.tick_params(axis="y", length=0)
    plain(panel)
