"""The paper's Table 1: what is loaded beside what is printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from torch_geometric.data import Data

from mgae.core.errors import GraphError, MissingData, UnknownName
from mgae.data.datasets.loading import statistics
from mgae.data.opening import open_graph
from mgae.paper.document import (
    DONE,
    NO_DATA,
    REFUSED,
    Counts,
    GraphRow,
    StatisticsDocument,
    display,
)
from mgae.paper.plan import printed_statistics
from mgae.paper.rendering import no_data_note, refused_note
from mgae.runs.config import RunConfig
from mgae.runs.observer import Observer
from mgae.runs.pictures import LEARNED, grid_lines, name_rows
from mgae.runs.texttables import csv_text, markdown_table

_COUNTS = ("nodes", "edges", "features", "classes")


def dataset_document(datasets: Sequence[str], observer: Observer) -> StatisticsDocument:
    """Return a row for each graph of the paper, or for those named.

    Raises:
        UnknownName: if the table has no such graph.
    """
    printed = printed_statistics()
    for name in datasets:
        if name not in printed:
            raise UnknownName("dataset", name, printed)
    return StatisticsDocument(
        name="datasets",
        title="Datasets",
        source="Table 1",
        protocol="paper",
        kind="statistics",
        caption="An edge counts once; OGB's count all three parts. Differences in bold.",
        rows=[_row(name, printed[name], observer) for name in datasets or printed],
    )


def _row(name: str, printed: dict[str, Any], observer: Observer) -> GraphRow:
    about: dict[str, Any] = {
        "name": name,
        "printed": Counts(**{key: printed["printed"].get(key) for key in _COUNTS}),
        "printed_split": printed.get("split"),
        "remark": printed.get("remark"),
    }
    missing: dict[str, Any] = {"loaded": None, "split": None}
    try:
        graph = open_graph(name)
    except MissingData as error:
        observer.on_note(str(error))
        return GraphRow(**about, status=NO_DATA, **missing)
    except GraphError as error:
        return GraphRow(**about, status=REFUSED, reason=str(error), **missing)
    counts: dict[str, Any] = {key: value or None for key, value in statistics(graph).items()}
    loaded = Counts(**counts)
    return GraphRow(**about, status=DONE, loaded=loaded, split=_split(name, graph))


def _split(name: str, graph: Data) -> str | None:
    """Return the shares of train, validation and test edges in percent."""
    settings = RunConfig(graph=name).split
    shares = [settings.val_ratio, settings.test_ratio]
    if graph.get("val_edges") is not None:
        total = statistics(graph)["edges"]
        shares = [graph[part].size(1) / total for part in ("val_edges", "test_edges")]
    elif RunConfig(graph=name).task == "nodes":
        return None
    return "/".join(f"{100 * share:.0f}" for share in (1 - sum(shares), *shares))


def statistics_body(doc: StatisticsDocument) -> str:
    """Return the caption, the table, and remarks on its misprints."""
    heads = ["data", *(head for key in (*_COUNTS, "split") for head in (key, "paper"))]
    table = markdown_table(heads, [_line(row) for row in doc.rows])
    remarks = [f"- {display(row.name)}: {row.remark}" for row in doc.rows if row.remark]
    refused = (row for row in doc.rows if row.status == REFUSED)
    remarks += [refused_note(display(row.name), row.reason) for row in refused]
    remarks += no_data_note(row.name for row in doc.rows if row.status == NO_DATA)
    return f"{doc.caption}\n\n{table}\n\n" + "\n".join(remarks)


def _line(row: GraphRow) -> list[str]:
    texts = [display(row.name)]
    loaded = row.loaded.to_json() if row.loaded else {"nodes": row.status}
    pairs = [(loaded.get(key), getattr(row.printed, key)) for key in _COUNTS]
    for ours, paper in [*pairs, (row.split, row.printed_split)]:
        differs = row.loaded is not None and ours != paper
        texts += [f"**{_text(ours)}**" if differs else _text(ours), _text(paper)]
    return texts


def _text(value: int | str | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else value


def statistics_csv(doc: StatisticsDocument) -> str:
    """Return a line for each graph."""
    columns = [name for key in (*_COUNTS, "split") for name in (key, f"paper_{key}")]
    lines = (
        {
            "data": row.name,
            "status": row.status,
            "remark": row.remark,
            **(row.loaded.to_json() if row.loaded else {}),
            **{f"paper_{key}": getattr(row.printed, key) for key in _COUNTS},
            "split": row.split,
            "paper_split": row.printed_split,
        }
        for row in doc.rows
    )
    return csv_text(["data", "status", *columns, "remark"], lines)


def statistics_picture(doc: StatisticsDocument) -> Figure:
    """Return how far the loaded counts of nodes and edges differ from the printed."""
    loaded = {row.name: (row.loaded, row.printed) for row in doc.rows if row.loaded}
    figure = Figure(figsize=(8.4, 1.4 + 0.4 * len(loaded)), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for panel, key in zip(panels, ("nodes", "edges"), strict=True):
        for height, (ours, paper) in enumerate(loaded.values()):
            difference = 100 * (getattr(ours, key) / getattr(paper, key) - 1)
            panel.scatter(difference, height, s=14, color=LEARNED, zorder=2)
            panel.annotate(f"{difference:+.2f}", (difference, height - 0.15), ha="center", size=7)
        # A misprint of 96% must not hide a difference of 0.03%.
        panel.set_xscale("symlog", linthresh=0.01)
        panel.set_xticks([-100, -1, 0, 1, 100], ["-100", "-1", "0", "1", "100"])
        panel.set_xlabel(f"{key}, loaded less printed, % of the printed")
        grid_lines(panel)
    name_rows(panels[0], [display(name) for name in loaded])
    return figure
