"""A table's JSON as a picture."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mgae.paper.document import DocumentRow, Measured, TableDocument, display, title_of
from mgae.runs.pictures import (
    HEURISTIC,
    HEURISTICS_LABEL,
    LEARNED,
    Line,
    draw_lines,
    grid_lines,
    legend,
    separate,
)
from mgae.runs.results import Summary, heading

# The color of a row and what the legend calls it, by the row's group.
_LOOKS = {
    "ours": (LEARNED, "MGAE"),
    "plus": ("#7b4fa3", "MGAE+"),
    "extra": (LEARNED, "MGAE"),
    "baseline": ("#5b8f5a", "baselines"),
    "heuristic": (HEURISTIC, HEURISTICS_LABEL),
}
_DEFAULT_RATIO = 0.7


def picture(doc: TableDocument) -> Figure:
    """Draw a panel for each graph on which there is something to compare."""
    rows = {dataset: _drawn(doc, dataset) for dataset in doc.columns}
    drawn = {dataset: some for dataset, some in rows.items() if some}
    curve = doc.kind == "curve"
    figure = _canvas([len(some) for some in drawn.values()], curve)
    for panel, (dataset, some) in zip(figure.axes, drawn.items(), strict=True):
        (_curves if curve else _dots)(panel, some, dataset, _metric(doc, dataset))
    figure.suptitle(title_of(doc), fontsize=11)
    if not drawn:
        figure.text(0.5, 0.4, "nothing to compare yet", ha="center")
    elif curve:
        legend(figure, "ω, the share of masked edges (dotted: the paper's choice)")
    else:
        legend(figure)
    return figure


def _canvas(sizes: list[int], curve: bool) -> Figure:
    """Return a figure with a panel for each number of rows; two curves stand side by side."""
    across = max(1, min(len(sizes), 2) if curve else len(sizes))
    down = -(-len(sizes) // across)
    height = 3.4 * max(1, down) if curve else 1.8 + 0.3 * max(sizes, default=1)
    figure = Figure(figsize=(1.6 + 3.7 * across, height), layout="constrained" if sizes else None)
    for index in range(len(sizes)):
        figure.add_subplot(down, across, index + 1)
    return figure


def _metric(doc: TableDocument, dataset: str) -> str:
    """Return the first metric, or that of hard negatives: random ones hardly separate methods."""
    metrics = doc.columns[dataset]
    return "hard_mrr" if "hard_mrr" in metrics else metrics[0]


def _drawn(doc: TableDocument, dataset: str) -> list[DocumentRow]:
    """Return the rows with figures, but no part of a curve, and no variant by itself."""
    rows, metric = doc.rows_on(dataset, *_LOOKS), _metric(doc, dataset)
    measured = [row for row in rows if row.cells[dataset].summary(metric)]
    if doc.kind == "curve":
        partial = {row.series for row in rows if row not in measured}
        return [row for row in measured if row.series not in partial]
    variants = all(row.group == "ours" for row in doc.rows)
    return [] if variants and len(measured) == 1 else measured


def _dots(panel: Axes, rows: list[DocumentRow], dataset: str, metric: str) -> None:
    """Draw a line for each row, heuristics below the others."""
    lines = []
    for row in rows:
        cell = row.cells[dataset]
        summary, name = cell.summary(metric), row.name.replace(" (", "\n(")
        assert summary is not None
        lines.append(Line(name, summary, *_LOOKS[row.group], cell.paper_mean(metric)))
    draw_lines(panel, lines, metric)
    panel.set_title(display(dataset), fontsize=10)
    separate([panel], sum(row.group != "heuristic" for row in rows), len(rows))


def _curves(panel: Axes, rows: list[DocumentRow], dataset: str, metric: str) -> None:
    """Draw a curve for each series, its standard deviation as a band, each run as a dot."""
    for name in dict.fromkeys(row.series for row in rows):
        own = [row for row in rows if row.series == name]
        summaries = {row.ratio or 0.0: row.cells[dataset].summary(metric) for row in own}
        points = [(ratio, summary) for ratio, summary in sorted(summaries.items()) if summary]
        _curve(panel, points, _LOOKS[own[0].group][0], str(name))
    panel.axvline(_DEFAULT_RATIO, color="#888888", linewidth=0.8, linestyle=":")
    panel.set_xticks([tenth / 10 for tenth in range(1, 10)])
    panel.set_ylabel(f"{heading(metric)}, %")
    cells = [cell for row in rows if isinstance(cell := row.cells[dataset], Measured)]
    runs, epochs = max(cell.runs for cell in cells), max(max(cell.epochs) for cell in cells)
    counted = f"{runs} run{'s' * (runs > 1)} a point, {epochs} epochs at most"
    panel.set_title(f"{display(dataset)} ({counted})", fontsize=10)
    grid_lines(panel, "both")


def _curve(panel: Axes, points: list[tuple[float, Summary]], color: str, name: str) -> None:
    ratios = [ratio for ratio, _ in points]
    low = [summary.mean - summary.std for _, summary in points]
    high = [summary.mean + summary.std for _, summary in points]
    panel.fill_between(ratios, low, high, color=color, alpha=0.18, linewidth=0)
    means = [summary.mean for _, summary in points]
    panel.plot(ratios, means, marker="o", markersize=4, color=color, label=name)
    for ratio, summary in points:
        panel.scatter([ratio] * len(summary.values), summary.values, s=8, color=color, alpha=0.35)
