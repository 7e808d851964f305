"""A table's JSON: every seed's values beside the paper's figures; all else is drawn from it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mgae.core.errors import RunDirectoryError
from mgae.paper.plan import Cell, Table
from mgae.paper.shape import problem_of
from mgae.paper.tables import file_stem
from mgae.runs.cells import CellResult, settings_of
from mgae.runs.presets import published, remark
from mgae.runs.rundirectory import RunDirectory

Record = dict[str, Any]
Records = dict[tuple[str, str], Record]
DONE, REFUSED = "done", "refused"
NO_DATA, NOT_YET = "data not available", "not measured yet"
_ROW_KEYS = ("name", "group", "series", "ratio", "trained_as")


def record_of(cell: Cell, found: CellResult) -> Record:
    """A finished cell: values, settings and their checksum, versions, hardware, seconds."""
    metrics, (first, *others) = found.result.metrics(), _environments(found)
    return {
        "status": DONE,
        "config_hash": cell.config_hash,
        "settings": settings_of(cell.config),
        **{key: metrics[key] for key in ("seeds", "epochs", "best_epochs", "test", "val")},
        "seconds": [round(seed.seconds, 3) for seed in found.result.seeds],
        "peak_bytes": found.peak_bytes,
        "environment": first,
        **({"other_environments": others} if others else {}),
    }


def _environments(found: CellResult) -> list[Record]:
    """Commits, versions and hardware that differ among a cell's runs, the first run's first."""
    folder = found.result.directory
    assert folder is not None
    homes = (RunDirectory(folder / f"seed-{seed.seed}") for seed in found.result.seeds)
    kept = [
        {key: value for key, value in home.environment().items() if key not in ("seeds", "seconds")}
        for home in homes
    ]
    return [about for place, about in enumerate(kept) if about not in kept[:place]]


def document(
    table: Table, cells: list[Cell], records: Records, changed: Mapping[str, Any]
) -> Record:
    """All rows, with what is known of each cell."""
    return {
        **{key: getattr(table, key) for key in ("name", "title", "source", "task", "protocol")},
        "kind": table.kind,
        "caption": table.caption,
        "changed": dict(changed),
        "columns": {dataset: list(metrics) for dataset, metrics in table.columns.items()},
        "rows": [
            {
                **{key: getattr(row, key) for key in _ROW_KEYS},
                "cells": {
                    cell.dataset: {
                        **records.get((row.name, cell.dataset), {"status": NOT_YET}),
                        "published": _published(cell),
                        "remark": remark(cell.config) if cell.is_papers else None,
                    }
                    for cell in cells
                    if cell.row.name == row.name
                },
            }
            for row in table.rows
        ],
    }


def _published(cell: Cell) -> Any:
    """What the paper printed, where this is what the paper ran."""
    paper = published(cell.config) if cell.is_papers else None
    return None if paper is None else paper.to_json()


def records_in(path: Path, cells: Iterable[Cell]) -> Records:
    """What an earlier reproduction has left of these cells, by row and graph.

    Figures of other settings than the cell's are none of its figures.
    """
    hashes = {(cell.row.name, cell.dataset): cell.config_hash for cell in cells}
    rows = read_document(path)["rows"] if path.exists() else []
    found = {(row["name"], name): cell for row in rows for name, cell in row["cells"].items()}
    return {
        key: {name: value for name, value in cell.items() if name not in ("published", "remark")}
        for key, cell in found.items()
        if key in hashes and cell.get("config_hash") in (None, hashes[key])
    }


def read_document(path: Path) -> Record:
    """A table's JSON.

    Raises:
        RunDirectoryError: where it is not there, or damaged.
    """
    return as_document(read_json(path), path)


def as_document(content: Any, path: Path) -> Record:
    """What a file holds, as a table's JSON.

    Raises:
        RunDirectoryError: where it is none, or another table's than the file's name says.
    """
    problem = problem_of(content)
    if problem is None and path.stem != stem_of(content):
        problem = f"it holds {stem_of(content)}"
    if problem is not None:
        raise RunDirectoryError(f"{path} is damaged: {problem}: restore it, or move it away")
    return dict(content)


def stem_of(doc: Record) -> str:
    """The name of a table's files."""
    return file_stem(doc["name"], doc["protocol"], bool(doc.get("changed")))


def read_json(path: Path) -> Any:
    """Whatever a file holds.

    Raises:
        RunDirectoryError: where it is not there, or is not JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunDirectoryError(
            f"cannot read {path}: {error}: restore it, or move it away"
        ) from None
