"""A comparison as Markdown and CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

from mgae.runs.comparison.value import Comparison, Row
from mgae.runs.markdown import markdown_table
from mgae.runs.results import heading

MEMORY_NOTE = (
    "s: seconds of a run, evaluation included. MiB: the most resident memory of a run above what "
    "the process held when it began."
)


def titles(comparison: Comparison) -> list[str]:
    """The columns' headings: each metric, the paper's beside it, seconds and memory."""
    figures = [
        name
        for metric in comparison.metrics
        for name in (heading(metric), *(["paper"] if comparison.has_published(metric) else []))
    ]
    return ["method", *figures, "s", "MiB"]


def cells(comparison: Comparison, row: Row, short: bool) -> list[str]:
    """A row's texts, under `titles`; a short one has the paper's mean without its spread."""
    paper, figures = row.published, []
    for metric in comparison.metrics:
        figures.append(str(row.test[metric]))
        if comparison.has_published(metric):
            figures.append(paper.text(metric, spread=not short) if paper else "–")
    peak = "–" if row.peak_mib is None else f"{row.peak_mib:,.0f}"
    return [row.name, *figures, f"{row.seconds:,.1f}", peak]


def ranked_cells(comparison: Comparison, short: bool = False) -> list[list[str]]:
    """The rows of the methods that learn, numbered."""
    rows = [cells(comparison, row, short) for row in comparison.ranked]
    return [[f"{rank}. {name}", *rest] for rank, (name, *rest) in enumerate(rows, start=1)]


def heuristic_cells(comparison: Comparison, short: bool = False) -> list[list[str]]:
    """The rows below the line."""
    return [cells(comparison, row, short) for row in comparison.heuristics]


def about(comparison: Comparison) -> str:
    """One line: what was compared."""
    config = comparison.config
    runs = f"{config.runs} run{'' if config.runs == 1 else 's'}"
    return f"{config.graph}, {config.task}, protocol {config.protocol}: test, {runs}"


def to_markdown(comparison: Comparison) -> str:
    """The ranked table, the heuristics in italics below it, and who refused."""
    heads = titles(comparison)
    heuristics = [[f"*{text}*" for text in row] for row in heuristic_cells(comparison)]
    lines = [
        f"# {about(comparison)}",
        "",
        markdown_table(heads, [*ranked_cells(comparison), *heuristics]),
        "",
        f"{MEMORY_NOTE} In italics: what learns nothing.",
        *(f"\n`{row.name}` refused: {row.refused}" for row in comparison.refusals),
    ]
    return "\n".join(lines) + "\n"


def to_csv(comparison: Comparison) -> str:
    """A row for each method, with every metric."""
    rows = [*comparison.ranked, *comparison.heuristics, *comparison.refusals]
    names = list(dict.fromkeys(name for row in rows for name in row.test))
    figures = [f"{name}_{what}" for name in names for what in ("mean", "std", "paper")]
    stream = io.StringIO()
    keys = ["method", "trains", "runs", *figures, "seconds", "peak_mib", "refused"]
    writer = csv.DictWriter(stream, keys, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_plain(row) for row in rows)
    return stream.getvalue()


def _plain(row: Row) -> dict[str, Any]:
    paper = row.published.figures if row.published else {}
    figures = {
        f"{name}_{what}": value
        for name, summary in row.test.items()
        for what, value in (
            ("mean", summary.mean),
            ("std", summary.std),
            ("paper", paper.get(name, ("",))[0]),
        )
    }
    return {
        "method": row.name,
        "trains": row.trains,
        "runs": row.config.runs,
        **figures,
        "seconds": row.seconds,
        "peak_mib": row.peak_mib,
        "refused": row.refused,
    }
