"""A table's JSON as a picture."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mgae.drawing import FLOOR, LEARNED, PAPER, diamond, plain, spread
from mgae.reproduction.document import DONE, Record
from mgae.reproduction.rendering import display, printed_mean, rows_on, summary_of
from mgae.results import heading

_OTHER = "#5b8f5a"
_CURVES = (LEARNED, PAPER, FLOOR)
_DEFAULT_RATIO = 0.7


def picture(doc: Record) -> Figure:
    """A panel for each graph of which something was measured."""
    datasets = [dataset for dataset in doc["columns"] if _measured(doc, dataset)]
    curve, count = doc["kind"] == "curve", max(1, len(datasets))
    most = max((len(_drawn(doc, dataset)) for dataset in datasets), default=1)
    across = min(count, 2) if curve else count
    down = -(-count // across)
    height = 3.4 * down if curve else 1.6 + 0.3 * most
    figure = Figure(figsize=(1.6 + 3.7 * across, height), layout="constrained")
    panels = [figure.add_subplot(down, across, place + 1) for place in range(count)]
    for panel, dataset in zip(panels, datasets, strict=False):
        (_curves if curve else _dots)(panel, doc, dataset)
    protocol = "" if doc["protocol"] == "paper" else f", protocol {doc['protocol']}"
    figure.suptitle(f"{doc['title']} (the paper's {doc['source']}{protocol})", fontsize=11)
    if curve:
        figure.supxlabel("ω, the share of masked edges (dotted: the paper's choice)", fontsize=9)
    else:
        panels[0].scatter([], [], **diamond(), label="the paper's mean (small dots: our runs)")
        figure.legend(loc="outside lower center", fontsize=8, frameon=False)
    return figure


def _measured(doc: Record, dataset: str) -> bool:
    return any(row["cells"][dataset]["status"] == DONE for row in _rows(doc, dataset))


def _rows(doc: Record, dataset: str) -> list[Record]:
    return rows_on(doc, dataset, "baseline", "ours", "extra", "floor")


def _metric(doc: Record, dataset: str) -> str:
    """The first one, or what hard negatives give: random ones hardly tell methods apart."""
    metrics: list[str] = doc["columns"][dataset]
    return "hard_mrr" if "hard_mrr" in metrics else metrics[0]


def _drawn(doc: Record, dataset: str) -> list[Record]:
    metric = _metric(doc, dataset)
    return [row for row in _rows(doc, dataset) if summary_of(row["cells"][dataset], metric)]


def _dots(panel: Axes, doc: Record, dataset: str) -> None:
    """A line for each row: mean, spread and runs, and the paper's mean as a diamond."""
    metric, rows = _metric(doc, dataset), _drawn(doc, dataset)
    colors = {"ours": LEARNED, "baseline": _OTHER, "extra": LEARNED, "floor": FLOOR}
    for place, row in enumerate(rows):
        cell = row["cells"][dataset]
        ours, paper = summary_of(cell, metric), printed_mean(cell, metric)
        assert ours is not None
        spread(panel, place, ours.values, ours.mean, ours.std, colors[row["group"]])
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


def _curves(panel: Axes, doc: Record, dataset: str) -> None:
    """A curve for each series, its standard deviation as a band, each run as a dot."""
    metric, rows = _metric(doc, dataset), _drawn(doc, dataset)
    runs = 1
    for name, color in zip(dict.fromkeys(row["series"] for row in rows), _CURVES, strict=False):
        points = [
            (row["ratio"], found)
            for row in sorted(rows, key=lambda row: row["ratio"])
            if row["series"] == name and (found := summary_of(row["cells"][dataset], metric))
        ]
        ratios = [ratio for ratio, _ in points]
        low = [found.mean - found.std for _, found in points]
        high = [found.mean + found.std for _, found in points]
        panel.fill_between(ratios, low, high, color=color, alpha=0.18, linewidth=0)
        means = [found.mean for _, found in points]
        panel.plot(ratios, means, marker="o", markersize=4, color=color, label=name)
        for ratio, found in points:
            panel.scatter([ratio] * len(found.values), found.values, s=8, color=color, alpha=0.35)
            runs = max(runs, len(found.values))
    panel.axvline(_DEFAULT_RATIO, color="#888888", linewidth=0.8, linestyle=":")
    panel.set_xticks([tenth / 10 for tenth in range(1, 10)])
    panel.set_ylabel(f"{heading(metric)}, %")
    epochs = max((max(row["cells"][dataset]["epochs"]) for row in rows), default=0)
    counted = f"{runs} run{'s' * (runs > 1)} a point, {epochs} epochs at most"
    panel.set_title(f"{display(dataset)} ({counted})", fontsize=10)
    panel.grid(color="#e3e3e3")
    panel.set_axisbelow(True)
    panel.legend(fontsize=9)
    plain(panel)
