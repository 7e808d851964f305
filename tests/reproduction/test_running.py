"""Filling tables: what stays of earlier figures, and of those that another command adds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from mgae.reproduction.document import Record
from mgae.reproduction.running import Request, TableObserver, reproduce

TINY = {"train": {"epochs": 1}, "encoder": {"hidden_channels": 2}}


def asked(out: Path, method: str, **given: Any) -> Request:
    return Request(
        "links-planetoid", datasets=["cora"], methods=[method], runs=1, out=out,
        given={**TINY, **given},
    )  # fmt: skip


def measured(made: Record) -> list[str]:
    return [row["name"] for row in made["rows"] if row["cells"]["cora"]["status"] == "done"]


def test_figures_that_another_command_adds_meanwhile_stay(tmp_path: Path) -> None:
    class Interrupted(TableObserver):
        def on_record(self, index: int, record: Record) -> None:
            reproduce(asked(tmp_path, "SAGE"))

    assert measured(reproduce(asked(tmp_path, "GAE"), Interrupted())) == ["GAE", "SAGE"]


def test_figures_of_other_settings_do_not_stay(tmp_path: Path) -> None:
    assert measured(reproduce(asked(tmp_path, "GAE"))) == ["GAE"]
    other = {"train": {"epochs": 2}}
    assert measured(reproduce(asked(tmp_path, "SAGE", **other))) == ["SAGE"]
    # The runs are kept: with the settings of before they are there again.
    assert measured(reproduce(asked(tmp_path, "GAE"))) == ["GAE"]


def test_a_row_that_is_not_on_the_graph_runs_nothing(tmp_path: Path) -> None:
    extra = "MGAE-GCN, validation edges as input"
    request = replace(asked(tmp_path, extra), name="links-ogb", datasets=["ogbl-collab"])
    assert all(
        cell["status"] == "not measured yet"
        for row in reproduce(request)["rows"]
        for cell in row["cells"].values()
    )
