"""A table's files beside those of other commands: nobody's figures get lost."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mgae.core.errors import RunDirectoryError
from mgae.data.atomic import locked, write_text
from mgae.paper.document import DONE, Record, Records, document, read_document, records_in
from mgae.paper.overview import documents, overview
from mgae.paper.plan import Cell, Table
from mgae.paper.tables import file_stem, printed_statistics
from mgae.paper.writing import draw_results, write_results
from mgae.runs.folders import check_writable


@dataclass(frozen=True)
class TablePages:
    """The files of a table; with settings ``given`` by hand it is another table's."""

    table: Table
    cells: list[Cell]
    given: Mapping[str, Any]
    out: Path

    @property
    def file(self) -> Path:
        """The JSON, of which all else is made."""
        stem = file_stem(self.table.name, self.table.protocol, bool(self.given))
        return self.out / f"{stem}.json"

    def known(self) -> Records:
        """What earlier commands have measured with these settings."""
        return records_in(self.file, self.cells)

    def write(self, ours: Records, drawn: bool = False) -> Record:
        """The table with our figures and those that others may have added meanwhile."""
        with _locked(self.out):
            known = self.known()
            better = {key: found for key, found in ours.items() if _improves(found, known.get(key))}
            made = document(self.table, self.cells, {**known, **better}, self.given)
            write_results(made, self.file)
            if drawn:
                draw_results(made, self.file)
                write_text(self.out / "README.md", overview(self.out))
        return made


def _improves(found: Record, known: Record | None) -> bool:
    """Figures of the same settings give way to those of as many runs, not to fewer or none."""
    if known is None or known["status"] != DONE:
        return True
    return found["status"] == DONE and len(found["seeds"]) >= len(known["seeds"])


def write_statistics(made: Record, out: Path) -> Record:
    """Table 1; graphs that were not asked for, or are no longer to be had, stay as they were."""
    file = out / "datasets.json"
    with _locked(out):
        before = read_document(file)["rows"] if file.exists() else []
        known = {row["name"]: row for row in before if row["status"] == DONE}
        better = (row for row in made["rows"] if row["status"] == DONE or row["name"] not in known)
        rows = {row["name"]: row for row in (*before, *better)}
        merged = {**made, "rows": [rows[name] for name in printed_statistics() if name in rows]}
        write_results(merged, file)
        draw_results(merged, file)
        write_text(out / "README.md", overview(out))
    return merged


def make_results_folder(out: Path) -> Path:
    """The folder of the cells below ``out``.

    Raises:
        RunDirectoryError: where it cannot be, or a table beside it cannot be read.
    """
    folder = out / "cells"
    check_writable(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunDirectoryError(f"cannot write to {out}: {error.strerror}") from None
    documents(out)  # a damaged table is told now, and not after hours of training
    return folder


def _locked(out: Path) -> AbstractContextManager[None]:
    """Held by whoever reads the pages to write them anew."""
    return locked(out / "cells" / "pages.lock")
