"""What all pictures share: colors, a mean with its spread, and how a picture is saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mgae.data.atomic import write_atomically
from mgae.runs.results import Summary, heading

LEARNED, HEURISTIC, PAPER = "#1f5fa8", "#9a9a9a", "#d9622b"
HEURISTICS_LABEL = "heuristics: nothing is learned"
_KIND = 1.9  # inches that one kind takes in a legend


@dataclass(frozen=True)
class Line:
    """One line of a panel: a row's figures, how the legend calls its kind, and the paper's mean."""

    name: str
    summary: Summary
    color: str
    kind: str
    paper: float | None


def save(figure: Figure, stem: Path) -> None:
    """Write ``stem.png`` and ``stem.svg``; the same figures give the same files."""
    for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
        with rc_context({"svg.hashsalt": "mgae"}):
            write = partial(figure.savefig, format=kind, dpi=160, metadata=metadata)
            write_atomically(stem.with_name(f"{stem.name}.{kind}"), write)


def draw_lines(panel: Axes, lines: Sequence[Line], metric: str) -> None:
    """Draw mean and standard deviation, each run as a small dot, the paper's mean as a diamond."""
    for height, line in enumerate(lines):
        values, mean, color = line.summary.values, line.summary.mean, line.color
        bar = line.summary.std if len(values) > 1 else None
        panel.errorbar(
            mean, height, xerr=bar, fmt="o", color=color, capsize=3, zorder=3, label=line.kind
        )
        panel.scatter(values, [height] * len(values), s=9, color=color, alpha=0.35, zorder=2)
        if line.paper is not None:
            panel.scatter(
                line.paper,
                height,
                marker="D",
                s=34,
                facecolors="none",
                edgecolors=PAPER,
                linewidths=1.4,
                label="the paper's mean",
                zorder=4,
            )
    name_rows(panel, [line.name for line in lines])
    panel.set_xlabel(f"{heading(metric)}, %")
    grid_lines(panel)


def name_rows(panel: Axes, names: Sequence[str]) -> None:
    """Write the names at the left, the first on top."""
    panel.set_yticks(range(len(names)), names)
    panel.set_ylim(len(names) - 0.4, -0.6)


def separate(panels: Sequence[Axes], learned: int, rows: int) -> None:
    """Draw a line below the methods that learn, if both they and heuristics are there."""
    if 0 < learned < rows:
        for panel in panels:
            panel.axhline(learned - 0.5, color="#444444", linewidth=0.8)


def legend(
    figure: Figure, title: str = "measured: mean and standard deviation, small dots: runs"
) -> None:
    """Explain below the panels what is drawn in them, each kind once."""
    drawn = (panel.get_legend_handles_labels() for panel in figure.axes)
    kinds = {label: handle for kinds in drawn for handle, label in zip(*kinds, strict=True)}
    figure.legend(
        kinds.values(),
        kinds,
        title=title,
        loc="outside lower center",
        ncols=min(len(kinds), max(1, int(figure.get_figwidth() / _KIND))),
        fontsize=8,
        title_fontsize=8,
        frameon=False,
    )


def grid_lines(panel: Axes, axis: Literal["both", "x", "y"] = "x") -> None:
    """Draw the grid behind everything else, and no frame but the two axes."""
    panel.grid(axis=axis, color="#e3e3e3")
    panel.set_axisbelow(True)
    plain(panel)


def plain(panel: Axes) -> None:
    """Draw no frame but the two axes."""
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=9)
