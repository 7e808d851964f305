"""Filling tables: what stays of earlier figures, and of those that another command adds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mgae.errors import ConfigError, GraphError
from mgae.reproduction.document import Record
from mgae.reproduction.running import Request, TableObserver, reproduce, reproduce_datasets

TINY = {"train": {"epochs": 1}, "encoder": {"hidden_channels": 2}}
EXTRA = "MGAE-GCN (validation edges as input)"


def asked(out: Path, method: str, runs: int = 1, **given: Any) -> Request:
    """Floors need no settings to be quick; what is trained gets tiny ones."""
    floor = method in ("raw-features", "adamic-adar")
    return Request(
        "links-planetoid", datasets=["cora"], methods=[method], runs=runs, out=out,
        given={} if floor else {**TINY, **given},
    )  # fmt: skip


def measured(made: Record) -> dict[str, int]:
    """The number of runs by row."""
    cells = {row["name"]: row["cells"]["cora"] for row in made["rows"]}
    return {name: len(c["seeds"]) for name, c in cells.items() if c["status"] == "done"}


def test_figures_that_another_command_adds_meanwhile_stay(tmp_path: Path) -> None:
    class Interrupted(TableObserver):
        def on_record(self, index: int, record: Record) -> None:
            reproduce(asked(tmp_path, "SAGE"))

    made = reproduce(asked(tmp_path, "GAE"), Interrupted())
    assert measured(made) == {"GAE": 1, "SAGE": 1}


def test_figures_of_other_settings_do_not_stay(tmp_path: Path) -> None:
    assert measured(reproduce(asked(tmp_path, "GAE"))) == {"GAE": 1}
    other = {"train": {"epochs": 2}}
    assert measured(reproduce(asked(tmp_path, "SAGE", **other))) == {"SAGE": 1}
    # The runs are kept: with the settings of before they are there again.
    assert measured(reproduce(asked(tmp_path, "GAE"))) == {"GAE": 1}


def test_settings_changed_by_hand_make_another_table(tmp_path: Path) -> None:
    reproduce(asked(tmp_path, "raw-features"))
    before = (tmp_path / "links-planetoid.json").read_text()
    assert "GAE" in measured(reproduce(asked(tmp_path, "GAE")))
    assert (tmp_path / "links-planetoid.json").read_text() == before
    assert "settings changed by hand: 1 of" in (tmp_path / "README.md").read_text()


def test_figures_do_not_give_way_to_fewer_runs_or_to_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert measured(reproduce(asked(tmp_path, "raw-features", 2))) == {"raw-features": 2}
    assert measured(reproduce(asked(tmp_path, "raw-features", 1))) == {"raw-features": 2}

    def lost(name: str) -> None:
        raise GraphError(f"cannot get {name}")

    notes: list[str] = []

    class Told(TableObserver):
        def on_note(self, text: str) -> None:
            notes.append(text)

    monkeypatch.setattr("mgae.reproduction.filling._graph", lost)
    assert measured(reproduce(asked(tmp_path, "raw-features", 2), Told())) == {"raw-features": 2}
    reproduce(asked(tmp_path, "adamic-adar"))
    cells = json.loads((tmp_path / "links-planetoid.json").read_text())["rows"]
    status = {row["name"]: row["cells"]["cora"]["status"] for row in cells}
    assert (status["adamic-adar"], notes) == ("data not available", ["cannot get cora"])


def test_a_setting_need_only_suit_the_rows_that_are_asked_for(tmp_path: Path) -> None:
    wide = {"decoder": {"hidden_channels": 3}}
    assert "MGAE-GCN" in measured(reproduce(asked(tmp_path, "MGAE-GCN", **wide)))
    with pytest.raises(ConfigError, match=r"decoder\.hidden_channels"):
        reproduce(asked(tmp_path, "GAE", **wide))


def test_an_empty_name_is_no_row(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown method ''"):
        reproduce(asked(tmp_path, ""))


def test_where_the_memory_is_short_a_table_is_not_sampled_unawares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Scarce:
        available = 12 * 2**20

    monkeypatch.setattr("mgae.memory.psutil.virtual_memory", Scarce)
    made = reproduce(asked(tmp_path, "MGAE-GCN", encoder={"hidden_channels": 128}))
    (cell,) = [row["cells"]["cora"] for row in made["rows"] if row["name"] == "MGAE-GCN"]
    assert cell["status"] == "refused"
    assert "ask for that with --set train.fanouts" in cell["reason"]


def test_a_row_that_is_not_on_the_graph_runs_nothing(tmp_path: Path) -> None:
    request = replace(asked(tmp_path, EXTRA), name="links-ogb", datasets=["ogbl-collab"])
    assert all(
        cell["status"] == "not measured yet"
        for row in reproduce(request)["rows"]
        for cell in row["cells"].values()
    )


def test_what_is_broken_off_leaves_pages_that_agree(tmp_path: Path) -> None:
    class Stopped(TableObserver):
        def on_record(self, index: int, record: Record) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(asked(tmp_path, "raw-features"), Stopped())
    assert "1 of 42 cells measured" in (tmp_path / "README.md").read_text()
    assert (tmp_path / "links-planetoid.png").exists()


def test_graphs_not_asked_for_stay_in_the_table_of_graphs(tmp_path: Path) -> None:
    before = reproduce_datasets(["cora"], tmp_path)
    row = {**before["rows"][0], "name": "pubmed"}
    (tmp_path / "datasets.json").write_text(json.dumps({**before, "rows": [row]}))
    made = reproduce_datasets(["cora"], tmp_path)
    assert [row["name"] for row in made["rows"]] == ["cora", "pubmed"]
