"""A panel for each metric: ours beside the best heuristic and the best peer on each graph."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

# Blue, orange and green of Okabe and Ito, and a shape for each: also told apart without color.
_STYLES = {
    "ours": {"color": "#0072B2", "marker": "o", "s": 46, "zorder": 4},
    "best heuristic": {"color": "#E69F00", "marker": "s", "s": 30, "zorder": 3},
    "best peer": {"color": "#009E73", "marker": "^", "s": 34, "zorder": 2},
}
Points = Mapping[str, Mapping[str, Mapping[str, float]]]  # graph, metric, group


def draw(path: Path, points: Points, titles: Mapping[str, str]) -> None:
    """Write the picture; graphs from top to bottom."""
    graphs = list(points)
    size = (3.0 * len(titles) + 1.6, 0.34 * len(graphs) + 1.6)
    figure, panels = plt.subplots(1, len(titles), figsize=size, sharey=True)
    for panel, (metric, title) in zip(panels, titles.items(), strict=True):
        for row, graph in enumerate(graphs):
            values = points[graph].get(metric, {})
            if values:
                ends = (min(values.values()), max(values.values()))
                panel.plot(ends, (row, row), color="0.8", linewidth=2, zorder=1)
        for group, style in _STYLES.items():
            pairs = [
                (points[graph][metric][group], row)
                for row, graph in enumerate(graphs)
                if group in points[graph].get(metric, {})
            ]
            if pairs:
                x, y = zip(*pairs, strict=True)
                panel.scatter(x, y, label=group, edgecolors="white", linewidths=0.6, **style)
        panel.set_title(f"{title}, %", fontsize=10)
        panel.grid(axis="x", color="0.9")
        panel.spines[["top", "right", "left"]].set_visible(False)
        panel.tick_params(axis="y", length=0)
    panels[0].set_yticks(range(len(graphs)), graphs)
    panels[0].set_ylim(len(graphs) - 0.5, -0.5)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(_STYLES), frameon=False)
    figure.tight_layout(rect=(0, 0.45 / size[1], 1, 1))
    figure.savefig(path, dpi=130)
    plt.close(figure)
