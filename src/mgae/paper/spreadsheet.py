"""A table's JSON as CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

from mgae.paper.document import Record
from mgae.paper.rendering import cells_of, printed, summary_of


def to_csv(doc: Record) -> str:
    """A line for each row, graph and metric."""
    stream = io.StringIO()
    keys = ["method", "group", "ratio", "dataset", "metric", "mean", "std", "runs"]
    keys += ["paper_mean", "paper_std", "difference", "status", "config_hash"]
    writer = csv.DictWriter(stream, keys, lineterminator="\n")
    writer.writeheader()
    for row, dataset, cell in cells_of(doc):
        for metric in doc["columns"][dataset]:
            writer.writerow({"dataset": dataset, "metric": metric, **_plain(row, cell, metric)})
    return stream.getvalue()


def _plain(row: Record, cell: Record, metric: str) -> dict[str, Any]:
    ours, paper = summary_of(cell, metric), printed(cell)
    mean, std = paper.figures.get(metric, (None, None))
    return {
        "method": row["series"] or row["name"],
        "group": row["group"],
        "ratio": row["ratio"],
        "mean": ours.mean if ours else None,
        "std": ours.std if ours else None,
        "runs": len(ours.values) if ours else 0,
        "paper_mean": paper.instead if mean is None else mean,
        "paper_std": std,
        "difference": ours.mean - mean if ours and mean is not None else None,
        "status": cell["status"],
        "config_hash": cell.get("config_hash"),
    }
