"""The files of a table: JSON first, then all that is drawn from it."""

from __future__ import annotations

from pathlib import Path

from mgae.data.atomic import write_json, write_text
from mgae.paper.document import Record, stem_of
from mgae.paper.drawing import picture
from mgae.paper.notes import notes
from mgae.paper.rendering import sections
from mgae.paper.spreadsheet import to_csv
from mgae.paper.statistics import statistics_body, statistics_csv, statistics_picture
from mgae.runs.pictures import save


def write_results(doc: Record, file: Path) -> None:
    """``name.json``, ``.md`` and ``.csv``."""
    write_json(file, doc)
    write_text(file.with_suffix(".md"), page_of(doc))
    write_text(file.with_suffix(".csv"), csv_of(doc))


def draw_results(doc: Record, file: Path) -> None:
    """``name.png`` and ``.svg``."""
    figure = statistics_picture(doc) if doc["kind"] == "statistics" else picture(doc)
    save(figure, file.with_suffix(""))


def page_of(doc: Record) -> str:
    """A table's own page."""
    protocol = "" if doc["protocol"] == "paper" else f", protocol {doc['protocol']}"
    title = f"# {doc['title']} (the paper's {doc['source']}{protocol})"
    return f"{title}\n\n{body_of(doc)}\n\n![{doc['title']}]({stem_of(doc)}.png)\n"


def body_of(doc: Record) -> str:
    """What other pages include."""
    if doc["kind"] == "statistics":
        return statistics_body(doc)
    return "\n\n".join([*sections(doc), *notes(doc)])


def csv_of(doc: Record) -> str:
    """The same for machines."""
    return statistics_csv(doc) if doc["kind"] == "statistics" else to_csv(doc)
