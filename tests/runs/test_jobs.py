"""Runs and methods in several processes at once: the same files as one after the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mgae.data.atomic import write_text
from mgae.runs.comparison import compare
from mgae.runs.config import RunConfig
from mgae.runs.pipeline import Observer, resume, run
from tests.ranks.test_runs import edges_file

ALONE: dict[str, Any] = {"evaluation": {"heuristics": [], "hard_negatives": 0}}


class Notes(Observer):
    def __init__(self) -> None:
        self.texts: list[str] = []

    def on_note(self, text: str) -> None:
        self.texts.append(text)


def figures(folder: Path) -> Any:
    return json.loads((folder / "metrics.json").read_text())


def test_runs_and_methods_in_two_processes_are_those_of_one(tmp_path: Path) -> None:
    edges = edges_file(tmp_path)
    config = RunConfig(graph=edges, method="gae", runs=3, train={"epochs": 3}, **ALONE)
    notes = Notes()
    run(config, out=tmp_path / "one", observer=notes)
    again = Notes()
    run(config, out=tmp_path / "two", observer=again, jobs=2)
    assert figures(tmp_path / "one") == figures(tmp_path / "two")
    assert notes.texts == again.texts
    weights = [
        (tmp_path / name / "seed-2/model.safetensors").read_bytes() for name in ("one", "two")
    ]
    assert weights[0] == weights[1]
    # What is finished is kept, and the rest is trained again.
    (tmp_path / "two/metrics.json").unlink()
    (tmp_path / "two/seed-1/metrics.json").unlink()
    write_text(tmp_path / "two/seed-0/.mark", "")
    resume(tmp_path / "two", jobs=2)
    assert figures(tmp_path / "one") == figures(tmp_path / "two")
    assert (tmp_path / "two/seed-0/.mark").exists()

    given = {"train": {"epochs": 3}, **ALONE}
    rows = [
        [
            (row.name, row.test)
            for row in compare(edges, ["gae", "mgae"], out, jobs=jobs, **given).rows
        ]
        for out, jobs in ((tmp_path / "compared", 1), (tmp_path / "at once", 2))
    ]
    assert rows[0] == rows[1] and len(rows[0]) == 2
