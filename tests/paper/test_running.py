"""Filling tables: what stays of earlier figures, and of those that another command adds."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mgae.core.errors import (
    ConfigError,
    GraphError,
    MissingData,
    RunDirectoryError,
    UnsupportedError,
)
from mgae.core.graph import MessageGraph
from mgae.paper.document import Measured, Outcome, Refused, TableDocument, Unmeasured
from mgae.paper.running import Request, TableObserver, reproduce, reproduce_datasets
from mgae.runs.config import RunConfig

TINY = {"train": {"epochs": 1}, "encoder": {"hidden_channels": 2}}
EXTRA = "MGAE-GCN (validation edges as input)"


def asked(out: Path, method: str, runs: int = 1, **given: Any) -> Request:
    """Heuristics need no settings to be quick; what is trained gets tiny ones."""
    heuristic = method in ("raw-features", "adamic-adar")
    return Request(
        "links-planetoid", datasets=["cora"], methods=[method], runs=runs, out=out,
        given={} if heuristic else {**TINY, **given},
    )  # fmt: skip


def measured(made: TableDocument) -> dict[str, int]:
    """The number of runs by row."""
    cells = {row.name: row.cells["cora"] for row in made.rows}
    return {name: len(c.seeds) for name, c in cells.items() if isinstance(c, Measured)}


def on_cora(made: TableDocument, name: str) -> Outcome:
    (cell,) = [row.cells["cora"] for row in made.rows if row.name == name]
    return cell


def test_figures_that_another_command_adds_meanwhile_stay(tmp_path: Path) -> None:
    class Interrupted(TableObserver):
        def on_outcome(self, index: int, outcome: Outcome) -> None:
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
    notes: list[str] = []

    class Notes(TableObserver):
        def on_note(self, text: str) -> None:
            notes.append(text)

    assert measured(reproduce(asked(tmp_path, "raw-features", 2), Notes())) == {"raw-features": 2}
    assert not notes
    assert measured(reproduce(asked(tmp_path, "raw-features", 1), Notes())) == {"raw-features": 2}
    assert "keeps its figures of more runs than these for raw-features on cora" in notes.pop()

    def lost(name: str) -> None:
        raise MissingData(f"cannot get {name}")

    monkeypatch.setattr("mgae.paper.running._graph", lost)
    assert measured(reproduce(asked(tmp_path, "raw-features", 2), Notes())) == {"raw-features": 2}
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
    def sampled(config: RunConfig, graph: MessageGraph) -> tuple[RunConfig, str]:
        train = {**config.train.model_dump(exclude_none=True), "fanouts": (15, 15)}
        return config.changed(train=train), "neighborhoods are sampled"

    monkeypatch.setattr("mgae.paper.running.fitted", sampled)
    made = reproduce(asked(tmp_path, "MGAE-GCN"))
    cell = on_cora(made, "MGAE-GCN")
    assert isinstance(cell, Refused)
    assert "are sampled; ask for that with --set train.fanouts" in cell.reason


def test_damaged_data_is_refused_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(name: str) -> None:
        raise GraphError(f"{name} is damaged: replace it")

    monkeypatch.setattr("mgae.paper.running._graph", damaged)
    made = reproduce(asked(tmp_path, "raw-features"))
    cell = on_cora(made, "raw-features")
    assert isinstance(cell, Refused)
    assert cell.reason == "cora is damaged: replace it"
    monkeypatch.setattr("mgae.paper.statistics.open_graph", damaged)
    (row,) = reproduce_datasets(["cora"], tmp_path).rows
    assert (row.status, row.reason) == ("refused", "cora is damaged: replace it")
    page = (tmp_path / "datasets.md").read_text(encoding="utf-8")
    assert "| Cora | refused |" in page
    assert "- Cora refused: cora is damaged: replace it" in page


@pytest.mark.parametrize("jobs", [1, 2])
def test_why_data_is_lacking_is_said_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    lost = Unmeasured(status="data not available", reason="cannot get cora")
    monkeypatch.setattr("mgae.paper.running._in_processes", lambda *_: iter([(0, lost)]))
    monkeypatch.setattr("mgae.paper.running._in_turn", lambda *_: iter([(0, lost)]))
    notes: list[str] = []

    class Notes(TableObserver):
        def on_note(self, text: str) -> None:
            notes.append(text)

    made = reproduce(replace(asked(tmp_path, "raw-features"), jobs=jobs), Notes())
    assert notes == ["cannot get cora"]
    assert "cannot get" not in json.dumps(made.to_json())


def test_a_measured_graph_stays_when_its_data_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = reproduce_datasets(["cora"], tmp_path)

    def lost(name: str) -> None:
        raise MissingData(f"cannot get {name}")

    monkeypatch.setattr("mgae.paper.statistics.open_graph", lost)
    assert reproduce_datasets(["cora"], tmp_path).rows == before.rows


def test_the_table_of_graphs_is_written_under_the_lock_of_the_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locks: list[Path] = []

    @contextmanager
    def locked(path: Path) -> Iterator[None]:
        locks.append(path)
        yield
        assert (tmp_path / "datasets.json").exists(), "it was written before the lock was freed"

    monkeypatch.setattr("mgae.paper.pages.locked", locked)
    reproduce_datasets(["cora"], tmp_path)
    assert locks == [tmp_path / "cells" / "pages.lock"]


def test_a_cell_that_cannot_be_read_stops_the_table_and_is_not_refused(tmp_path: Path) -> None:
    reproduce(asked(tmp_path, "raw-features"))
    (file,) = tmp_path.glob("cells/*/cell.json")
    file.write_text("{")
    with pytest.raises(RunDirectoryError, match=r"cell\.json: .*: remove it"):
        reproduce(asked(tmp_path, "raw-features"))


def test_runs_at_another_commit_are_told_apart(tmp_path: Path) -> None:
    reproduce(asked(tmp_path, "raw-features", 3))
    (file,) = tmp_path.glob("cells/*/seed-1/environment.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), "commit": "abc", "cores": 64}))
    (file.parent / "manifest.json").unlink()  # it would refuse the changed file
    made = reproduce(asked(tmp_path, "raw-features", 3))
    cell = on_cora(made, "raw-features")
    assert isinstance(cell, Measured)
    assert [about.commit for about in cell.other_environments] == ["abc"]
    assert cell.environment.commit != "abc"
    assert "on 64 cores" in (tmp_path / "links-planetoid.md").read_text(encoding="utf-8")


def test_a_job_that_is_killed_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr("mgae.paper.running._run_one", killed)
    with pytest.raises(UnsupportedError, match=r"what is finished is kept, .* fewer --jobs"):
        reproduce(replace(asked(tmp_path, "raw-features"), jobs=2))


def test_a_row_that_is_not_on_the_graph_runs_nothing(tmp_path: Path) -> None:
    request = replace(asked(tmp_path, EXTRA), name="links-ogb", datasets=["ogbl-collab"])
    assert all(
        cell.status == "not measured yet"
        for row in reproduce(request).rows
        for cell in row.cells.values()
    )


def test_what_is_broken_off_leaves_pages_that_agree(tmp_path: Path) -> None:
    class Stopped(TableObserver):
        def on_outcome(self, index: int, outcome: Outcome) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(asked(tmp_path, "raw-features"), Stopped())
    assert "1 of 48 cells measured" in (tmp_path / "README.md").read_text()
    assert (tmp_path / "links-planetoid.png").exists()


def test_graphs_not_asked_for_stay_in_the_table_of_graphs(tmp_path: Path) -> None:
    before = reproduce_datasets(["cora"], tmp_path)
    row = before.rows[0].model_copy(update={"name": "pubmed"})
    other = before.model_copy(update={"rows": [row]})
    (tmp_path / "datasets.json").write_text(json.dumps(other.to_json()))
    made = reproduce_datasets(["cora"], tmp_path)
    assert [row.name for row in made.rows] == ["cora", "pubmed"]
