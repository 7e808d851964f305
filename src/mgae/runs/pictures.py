"""What all pictures share: colors, a mean with its spread, and how a picture is kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mgae.data.atomic import write_atomically

LEARNED, HEURISTIC, PAPER = "#1f5fa8", "#9a9a9a", "#d9622b"


def save(figure: Figure, stem: Path) -> None:
    """``stem.png`` and ``stem.svg``; the same figures give the same files."""
    for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
        with rc_context({"svg.hashsalt": "mgae"}):
            write = partial(figure.savefig, format=kind, dpi=160, metadata=metadata)
            write_atomically(stem.with_name(f"{stem.name}.{kind}"), write)


def spread(
    panel: Axes,
    place: float,
    values: Sequence[float],
    mean: float,
    std: float,
    color: str,
    label: str,
) -> None:
    """Mean and standard deviation on a line of their own, each run as a small dot."""
    bar = std if len(values) > 1 else None
    panel.errorbar(mean, place, xerr=bar, fmt="o", color=color, capsize=3, zorder=3, label=label)
    panel.scatter(values, [place] * len(values), s=9, color=color, alpha=0.35, zorder=2)


def diamond() -> dict[str, Any]:
    """How the paper's mean is drawn."""
    look = {"marker": "D", "s": 34, "facecolors": "none", "edgecolors": PAPER, "linewidths": 1.4}
    return {**look, "label": "the paper's mean"}


def legend(figure: Figure) -> None:
    """Below the panels what is drawn in them, each kind once."""
    drawn = (panel.get_legend_handles_labels() for panel in figure.axes)
    kinds = {label: handle for found in drawn for handle, label in zip(*found, strict=True)}
    figure.legend(
        kinds.values(),
        kinds,
        title="measured: mean and standard deviation, small dots: runs",
        loc="outside lower center",
        ncols=len(kinds),
        fontsize=8,
        title_fontsize=8,
        frameon=False,
    )


def plain(panel: Axes) -> None:
    """No frame but the two axes."""
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=9)
