"""The paper's Table 1: what is loaded beside what is printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
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
from mgae.runs.pictures import PAPER
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
    texts = [f"**{text}**" if differs else text for text, differs in _cells(row)]
    return [display(row.name), *(texts if row.loaded else [row.status, *texts[1:]])]


def _cells(row: GraphRow) -> list[tuple[str, bool]]:
    """Return what is loaded and what is printed, side by side, and whether the two differ."""
    loaded = row.loaded.to_json() if row.loaded else {}
    cells: list[tuple[str, bool]] = []
    pairs = [(loaded.get(key), getattr(row.printed, key)) for key in _COUNTS]
    for ours, paper in [*pairs, (row.split, row.printed_split)]:
        differs = row.loaded is not None and ours != paper
        cells += [(_text(ours), differs), (_text(paper), False)]
    return cells


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
    """Draw the table: what is loaded beside what is printed, differences in color."""
    figure = Figure(figsize=(10.4, 0.9 + 0.33 * len(doc.rows)), layout="constrained")
    panel = figure.subplots()
    panel.axis("off")
    cells = {row.name: _cells(row) for row in doc.rows}
    drawn = panel.table(
        [[display(name), *(text for text, _ in row)] for name, row in cells.items()],
        colLabels=["data", *(head for key in (*_COUNTS, "split") for head in (key, "paper"))],
        edges="horizontal",
        bbox=Bbox.unit(),
    )
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(9)
    drawn.auto_set_column_width(list(range(1 + 2 * (len(_COUNTS) + 1))))
    for (_, column), cell in drawn.get_celld().items():
        cell.set_edgecolor("#d8dce1")
        cell.get_text().set_horizontalalignment("left" if column == 0 else "right")
    for number, row in enumerate(cells.values(), start=1):
        for column, (_, differs) in enumerate(row, start=1):
            if differs:
                drawn[number, column].set_text_props(weight="bold", color=PAPER)
    missing = "; –: not in the paper, or not available here" if "–" in str(cells) else ""
    figure.supxlabel(f"bold: what is loaded differs from what the paper prints{missing}", size=8)
    return figure
