"""The paper's Table 1: what is loaded beside what is printed."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from torch_geometric.data import Data

from mgae.core.errors import GraphError, MissingData, UnknownName
from mgae.data.datasets.catalogue import statistics
from mgae.data.opening import open_graph
from mgae.paper.document import DONE, NO_DATA, REFUSED, Record
from mgae.paper.notes import lacking_note, refused_note
from mgae.paper.rendering import display
from mgae.paper.tables import printed_statistics
from mgae.runs.config import RunConfig
from mgae.runs.markdown import markdown_table
from mgae.runs.pictures import LEARNED, plain
from mgae.runs.pipeline import Observer

_COUNTS = ("nodes", "edges", "features", "classes")


def dataset_document(datasets: Sequence[str], observer: Observer) -> Record:
    """A row for each graph of the paper, or for those named.

    Raises:
        UnknownName: where the table has no such graph.
    """
    printed = printed_statistics()
    for name in datasets:
        if name not in printed:
            raise UnknownName("dataset", name, printed)
    return {
        "name": "datasets",
        "title": "Datasets",
        "source": "Table 1",
        "protocol": "paper",
        "kind": "statistics",
        "caption": "An edge counts once; OGB's count all three parts. Differences in bold.",
        "rows": [_row(name, printed[name], observer) for name in datasets or printed],
    }


def _row(name: str, printed: dict[str, Any], observer: Observer) -> Record:
    row = {
        "name": name,
        "printed": {key: printed["printed"].get(key) for key in _COUNTS},
        "printed_split": printed.get("split"),
        "remark": printed.get("remark"),
    }
    try:
        graph = open_graph(name)
    except MissingData as error:
        observer.on_note(str(error))
        return {**row, "status": NO_DATA, "loaded": None, "split": None}
    except GraphError as error:
        return {**row, "status": REFUSED, "reason": str(error), "loaded": None, "split": None}
    loaded = {key: value or None for key, value in statistics(graph).items()}
    return {**row, "status": DONE, "loaded": loaded, "split": _split(name, graph)}


def _split(name: str, graph: Data) -> str | None:
    """Train, validation and test edges in percent."""
    settings = RunConfig(graph=name).split
    shares = [settings.val_ratio, settings.test_ratio]
    if graph.get("val_edges") is not None:
        total = statistics(graph)["edges"]
        shares = [graph[part].size(1) / total for part in ("val_edges", "test_edges")]
    elif RunConfig(graph=name).task == "nodes":
        return None
    return "/".join(f"{100 * share:.0f}" for share in (1 - sum(shares), *shares))


def statistics_body(doc: Record) -> str:
    """Caption, table, and what is to be said of its misprints."""
    heads = ["data", *(head for key in (*_COUNTS, "split") for head in (key, "paper"))]
    table = markdown_table(heads, [_line(row) for row in doc["rows"]])
    remarks = [f"- {display(row['name'])}: {row['remark']}" for row in doc["rows"] if row["remark"]]
    refused = (row for row in doc["rows"] if row["status"] == REFUSED)
    remarks += [refused_note(display(row["name"]), row["reason"]) for row in refused]
    remarks += lacking_note(row["name"] for row in doc["rows"] if row["status"] == NO_DATA)
    return f"{doc['caption']}\n\n{table}\n\n" + "\n".join(remarks)


def _line(row: Record) -> list[str]:
    texts = [display(row["name"])]
    loaded = row["loaded"] or {"nodes": row["status"]}
    pairs = [(loaded.get(key), row["printed"][key]) for key in _COUNTS]
    for ours, paper in [*pairs, (row["split"], row["printed_split"])]:
        differs = row["loaded"] is not None and ours != paper
        texts += [f"**{_text(ours)}**" if differs else _text(ours), _text(paper)]
    return texts


def _text(value: int | str | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else value


def statistics_csv(doc: Record) -> str:
    """A line for each graph."""
    stream = io.StringIO()
    keys = [name for key in (*_COUNTS, "split") for name in (key, f"paper_{key}")]
    writer = csv.DictWriter(stream, ["data", "status", *keys, "remark"], lineterminator="\n")
    writer.writeheader()
    for row in doc["rows"]:
        counts = {key: (row["loaded"] or {}).get(key) for key in _COUNTS}
        paper = {f"paper_{key}": row["printed"][key] for key in _COUNTS}
        about = {"data": row["name"], "status": row["status"], "remark": row["remark"]}
        splits = {"split": row["split"], "paper_split": row["printed_split"]}
        writer.writerow({**about, **counts, **paper, **splits})
    return stream.getvalue()


def statistics_picture(doc: Record) -> Figure:
    """By how much the loaded counts of nodes and edges differ from the printed."""
    rows = [row for row in doc["rows"] if row["loaded"]]
    figure = Figure(figsize=(8.4, 1.4 + 0.4 * len(rows)), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for panel, key in zip(panels, ("nodes", "edges"), strict=True):
        for place, row in enumerate(rows):
            difference = 100 * (row["loaded"][key] / row["printed"][key] - 1)
            panel.scatter(difference, place, s=14, color=LEARNED, zorder=2)
            panel.annotate(f"{difference:+.2f}", (difference, place - 0.15), ha="center", size=7)
        # A misprint of 96% must not hide a difference of 0.03%.
        panel.set_xscale("symlog", linthresh=0.01)
        panel.set_xticks([-100, -1, 0, 1, 100], ["-100", "-1", "0", "1", "100"])
        panel.set_xlabel(f"{key}, loaded less printed, % of the printed")
        panel.grid(axis="x", color="#e3e3e3")
        plain(panel)
    panels[0].set_yticks(range(len(rows)), [display(row["name"]) for row in rows])
    panels[0].set_ylim(len(rows) - 0.4, -0.6)
    return figure
