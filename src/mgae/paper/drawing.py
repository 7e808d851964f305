"""A table's JSON as a picture."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mgae.paper.document import Record
from mgae.paper.rendering import display, printed_mean, rows_on, summary_of
from mgae.runs.pictures import HEURISTIC, LEARNED, diamond, legend, plain, spread
from mgae.runs.results import Summary, heading

_OTHER = "#5b8f5a"
# The color of a row and what the legend calls it, by the row's group.
_LOOKS = {
    "ours": (LEARNED, "MGAE"),
    "extra": (LEARNED, "MGAE"),
    "baseline": (_OTHER, "baselines"),
    "floor": (HEURISTIC, "floors: nothing is learned"),
}
_DEFAULT_RATIO = 0.7


def picture(doc: Record) -> Figure:
    """A panel for each graph on which there is something to compare."""
    found = {dataset: _drawn(doc, dataset) for dataset in doc["columns"]}
    drawn = {dataset: rows for dataset, rows in found.items() if rows}
    curve = doc["kind"] == "curve"
    figure = _canvas([len(rows) for rows in drawn.values()], curve)
    for panel, (dataset, rows) in zip(figure.axes, drawn.items(), strict=True):
        (_curves if curve else _dots)(panel, rows, dataset, _metric(doc, dataset))
    protocol = "" if doc["protocol"] == "paper" else f", protocol {doc['protocol']}"
    figure.suptitle(f"{doc['title']} (the paper's {doc['source']}{protocol})", fontsize=11)
    if not drawn:
        figure.text(0.5, 0.4, "nothing to compare yet", ha="center")
    elif curve:
        figure.supxlabel("ω, the share of masked edges (dotted: the paper's choice)", fontsize=9)
    else:
        legend(figure)
    return figure


def _canvas(sizes: list[int], curve: bool) -> Figure:
    """A panel for each number of rows; of curves there are two beside each other."""
    across = max(1, min(len(sizes), 2) if curve else len(sizes))
    down = -(-len(sizes) // across)
    height = 3.4 * max(1, down) if curve else 1.8 + 0.3 * max(sizes, default=1)
    figure = Figure(figsize=(1.6 + 3.7 * across, height), layout="constrained" if sizes else None)
    for place in range(len(sizes)):
        figure.add_subplot(down, across, place + 1)
    return figure


def _metric(doc: Record, dataset: str) -> str:
    """The first one, or what hard negatives give: random ones hardly tell methods apart."""
    metrics: list[str] = doc["columns"][dataset]
    return "hard_mrr" if "hard_mrr" in metrics else metrics[0]


def _drawn(doc: Record, dataset: str) -> list[Record]:
    """Rows with figures, but no part of a curve, and no variant of a method by itself."""
    rows, metric = rows_on(doc, dataset, *_LOOKS), _metric(doc, dataset)
    measured = [row for row in rows if summary_of(row["cells"][dataset], metric)]
    if doc["kind"] == "curve":
        partial = {row["series"] for row in rows if row not in measured}
        return [row for row in measured if row["series"] not in partial]
    variants = all(row["group"] == "ours" for row in doc["rows"])
    return [] if variants and len(measured) == 1 else measured


def _dots(panel: Axes, rows: list[Record], dataset: str, metric: str) -> None:
    """A line for each row: mean, spread and runs, and the paper's mean as a diamond."""
    for place, row in enumerate(rows):
        cell = row["cells"][dataset]
        ours, paper = summary_of(cell, metric), printed_mean(cell, metric)
        assert ours is not None
        spread(panel, place, ours.values, ours.mean, ours.std, *_LOOKS[row["group"]])
        if paper is not None:
            panel.scatter(paper, place, **diamond(), zorder=4)
    panel.set_yticks(range(len(rows)), [row["name"].replace(" (", "\n(") for row in rows])
    panel.set_ylim(len(rows) - 0.4, -0.6)
    panel.set_xlabel(f"{heading(metric)}, %")
    panel.set_title(display(dataset), fontsize=10)
    panel.grid(axis="x", color="#e3e3e3")
    panel.set_axisbelow(True)
    learned = sum(row["group"] != "floor" for row in rows)
    if 0 < learned < len(rows):
        panel.axhline(learned - 0.5, color="#444444", linewidth=0.8)
    plain(panel)


def _curves(panel: Axes, rows: list[Record], dataset: str, metric: str) -> None:
    """A curve for each series, its standard deviation as a band, each run as a dot."""
    for name in dict.fromkeys(row["series"] for row in rows):
        own = [row for row in rows if row["series"] == name]
        summaries = {row["ratio"]: summary_of(row["cells"][dataset], metric) for row in own}
        points = [(ratio, found) for ratio, found in sorted(summaries.items()) if found]
        _curve(panel, points, _LOOKS[own[0]["group"]][0], name)
    panel.axvline(_DEFAULT_RATIO, color="#888888", linewidth=0.8, linestyle=":")
    panel.set_xticks([tenth / 10 for tenth in range(1, 10)])
    panel.set_ylabel(f"{heading(metric)}, %")
    runs = max(len(row["cells"][dataset]["seeds"]) for row in rows)
    epochs = max(max(row["cells"][dataset]["epochs"]) for row in rows)
    counted = f"{runs} run{'s' * (runs > 1)} a point, {epochs} epochs at most"
    panel.set_title(f"{display(dataset)} ({counted})", fontsize=10)
    panel.grid(color="#e3e3e3")
    panel.set_axisbelow(True)
    panel.legend(fontsize=9)
    plain(panel)


def _curve(panel: Axes, points: list[tuple[float, Summary]], color: str, name: str) -> None:
    ratios = [ratio for ratio, _ in points]
    low = [found.mean - found.std for _, found in points]
    high = [found.mean + found.std for _, found in points]
    panel.fill_between(ratios, low, high, color=color, alpha=0.18, linewidth=0)
    means = [found.mean for _, found in points]
    panel.plot(ratios, means, marker="o", markersize=4, color=color, label=name)
    for ratio, found in points:
        panel.scatter([ratio] * len(found.values), found.values, s=8, color=color, alpha=0.35)
