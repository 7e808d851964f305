"""A table's JSON as CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

from mgae.reproduction.document import Record
from mgae.reproduction.rendering import summary_of


def to_csv(doc: Record) -> str:
    """A line for each row, graph and metric."""
    stream = io.StringIO()
    keys = ["method", "group", "ratio", "dataset", "metric", "mean", "std", "runs"]
    keys += ["paper_mean", "paper_std", "difference", "status", "config_hash"]
    writer = csv.DictWriter(stream, keys, lineterminator="\n")
    writer.writeheader()
    for row in doc["rows"]:
        for dataset, cell in row["cells"].items():
            for metric in doc["columns"][dataset]:
                writer.writerow({"dataset": dataset, "metric": metric, **_plain(row, cell, metric)})
    return stream.getvalue()


def _plain(row: Record, cell: Record, metric: str) -> dict[str, Any]:
    ours, paper = summary_of(cell, metric), (cell["published"] or {}).get(metric)
    return {
        "method": row["series"] or row["name"],
        "group": row["group"],
        "ratio": row["ratio"],
        "mean": ours.mean if ours else None,
        "std": ours.std if ours else None,
        "runs": len(ours.values) if ours else 0,
        "paper_mean": paper["mean"] if paper else (cell["published"] or {}).get("instead"),
        "paper_std": paper["std"] if paper else None,
        "difference": ours.mean - paper["mean"] if ours and paper else None,
        "status": cell["status"],
        "config_hash": cell.get("config_hash"),
    }
