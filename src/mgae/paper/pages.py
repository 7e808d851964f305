"""The files of a table, written beside those of other commands so that no figures get lost."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mgae.core.errors import RunDirectoryError
from mgae.data.atomic import locked, write_json, write_text
from mgae.paper.claims import CLAIMS, Claim
from mgae.paper.document import (
    DONE,
    NO_DATA,
    Document,
    Environment,
    Measured,
    Outcome,
    Outcomes,
    StatisticsDocument,
    TableDocument,
    document,
    documents,
    file_stem,
    outcomes_in,
    read_document,
    source_of,
    stem_of,
    title_of,
)
from mgae.paper.drawing import picture
from mgae.paper.plan import Cell, Table, printed_statistics
from mgae.paper.rendering import table_body, table_csv
from mgae.paper.statistics import statistics_body, statistics_csv, statistics_picture
from mgae.runs.folders import check_writable, read_json
from mgae.runs.pictures import save

_HEADINGS = {
    "links": "Link prediction (Tables 2 and 3)",
    "nodes": "Node classification (Table 4)",
    "figure": "The share of masked edges (Figure 2)",
    "masks": "Undirected and directed masking",
}


@dataclass(frozen=True)
class TablePages:
    """The files of a table; with settings ``given`` by hand it is another table's."""

    table: Table
    cells: list[Cell]
    given: Mapping[str, Any]
    out: Path

    @property
    def file(self) -> Path:
        """Return the path of the JSON, of which all else is made."""
        stem = file_stem(self.table.name, self.table.protocol, bool(self.given))
        return self.out / f"{stem}.json"

    def known(self) -> Outcomes:
        """Return what earlier commands have measured with these settings."""
        return outcomes_in(self.file, self.cells)

    def write(self, ours: Outcomes, drawn: bool = False) -> TableDocument:
        """Write our figures and those that others may have added meanwhile."""
        with _locked(self.out):
            known = self.known()
            better = {key: one for key, one in ours.items() if _improves(one, known.get(key))}
            made = document(self.table, self.cells, {**known, **better}, self.given)
            write_results(made, self.file)
            if drawn:
                _finish(made, self.file)
        return made


def _improves(outcome: Outcome, known: Outcome | None) -> bool:
    """Return whether to replace known figures: by those of as many runs, not by fewer or none."""
    if not isinstance(known, Measured):
        return True
    return isinstance(outcome, Measured) and outcome.runs >= known.runs


def write_statistics(made: StatisticsDocument, out: Path) -> StatisticsDocument:
    """Write Table 1; graphs that were not asked for, or have lost their data, stay as they were."""
    file = out / "datasets.json"
    with _locked(out):
        before = read_document(file, StatisticsDocument).rows if file.exists() else []
        known = {row.name: row for row in before if row.status == DONE}
        better = (row for row in made.rows if row.status == DONE or row.name not in known)
        rows = {row.name: row for row in (*before, *better)}
        ordered = [rows[name] for name in printed_statistics() if name in rows]
        merged = made.model_copy(update={"rows": ordered})
        write_results(merged, file)
        _finish(merged, file)
    return merged


def make_results_folder(out: Path) -> Path:
    """Make the folder of the cells below ``out``.

    Raises:
        RunDirectoryError: if it cannot be made, or a table beside it cannot be read.
    """
    folder = out / "cells"
    check_writable(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunDirectoryError(f"cannot write to {out}: {error.strerror}") from None
    documents(out)  # a damaged table is reported now, and not after hours of training
    return folder


def _locked(out: Path) -> AbstractContextManager[None]:
    """Lock the pages against other commands that read them to write them again."""
    return locked(out / "cells" / "pages.lock")


def _finish(doc: Document, file: Path) -> None:
    draw_results(doc, file)
    write_text(file.with_name("README.md"), overview(file.parent))


def write_results(doc: Document, file: Path) -> None:
    """Write ``name.json``, ``.md`` and ``.csv``."""
    write_json(file, doc.to_json())
    write_text(file.with_suffix(".md"), page_of(doc))
    write_text(file.with_suffix(".csv"), csv_of(doc))


def draw_results(doc: Document, file: Path) -> None:
    """Write ``name.png`` and ``.svg``."""
    figure = picture(doc) if isinstance(doc, TableDocument) else statistics_picture(doc)
    save(figure, file.with_suffix(""))


def page_of(doc: Document) -> str:
    """Return a table's own page."""
    return f"# {title_of(doc)}\n\n{body_of(doc)}\n\n![{doc.title}]({stem_of(doc)}.png)\n"


def body_of(doc: Document) -> str:
    """Return what other pages include."""
    return table_body(doc) if isinstance(doc, TableDocument) else statistics_body(doc)


def csv_of(doc: Document) -> str:
    """Return the figures as CSV."""
    return table_csv(doc) if isinstance(doc, TableDocument) else statistics_csv(doc)


def overview(out: Path) -> str:
    """Return ``results/README.md``: all tables, and which of the paper's observations hold here."""
    results = documents(out)
    lines = [
        "# Results",
        "",
        "The paper's tables and its figure, each number beside the published one. Made by",
        "`mgae reproduce NAME`; this page and the tables are functions of the JSON files and of",
        "the notes in `src/mgae/runs/presets/`, and `make check` compares them.",
        "",
        *(f"- [{doc.title}]({stem}.md), {_about(doc)}" for stem, doc in results.items()),
        *_run_again(out / "sample.json"),
        "",
        "## The paper's observations",
        "",
        "A difference stands with the spread of its runs. *Within the spread*: the verdict rests",
        "on differences that are smaller than that. *Without*: what is not measured here.",
    ]
    tables = {stem: doc for stem, doc in results.items() if isinstance(doc, TableDocument)}
    for section, title in _HEADINGS.items():
        lines += ["", f"### {title}", ""]
        lines += _observations([claim for claim in CLAIMS if claim.section == section], tables)
    return "\n".join(lines) + "\n"


def _run_again(file: Path) -> list[str]:
    """Return what came out when stored runs were drawn and run again, if that was done."""
    if not file.exists():
        return []
    sample = read_json(file)
    verdicts = [draw["verdict"] for draw in sample["draws"]]
    counts = ", ".join(f"{verdicts.count(one)} {one}" for one in dict.fromkeys(verdicts))
    about = Environment.model_validate(sample["environment"]).text
    return [
        "",
        f"Of {sample['runs']:,} runs that had taken at most {sample['longest_seconds']:.0f} s, "
        f"{len(verdicts)} were drawn at random and run again with",
        f"{about} (`make reproduce-sample`, [sample.json](sample.json)): {counts}.",
    ]


def _observations(claims: list[Claim], results: Mapping[str, TableDocument]) -> list[str]:
    """Return a line for each claim, and one for each graph unless the numbers are those above."""
    lines: list[str] = []
    last: tuple[str, ...] = ()
    for claim in claims:
        verdict = claim.judge(results)
        again = verdict.numbers and verdict.numbers == last
        numbers = ("the numbers above",) if again else verdict.numbers
        lines += [f"- {claim.text}: {verdict}", *(f"  - {line}" for line in numbers)]
        last = verdict.numbers or last
    return lines


def _about(doc: Document) -> str:
    if isinstance(doc, StatisticsDocument):
        return source_of(doc)
    cells = [cell for _, _, cell in doc.cells()]
    done = sum(cell.status == DONE for cell in cells)
    lacking = sum(cell.status == NO_DATA for cell in cells)
    changed = ", settings changed by hand" if doc.changed else ""
    without = f"; for {lacking} the data is not available" if lacking else ""
    source = source_of(doc) or "not in the paper"
    return f"{source}{changed}: {done} of {len(cells)} cells measured{without}"
