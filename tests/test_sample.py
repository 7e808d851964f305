"""Stored runs that are run again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scripts import sample

from mgae.paper.pages import overview
from mgae.paper.running import Request, reproduce
from mgae.runs.environment import code_checksum


def test_by_hand_what_a_difference_is_called() -> None:
    assert sample.verdict([(0.0, 1.0), (0.0, 0.0)]) == "equal"
    assert sample.verdict([(0.0, 1.0), (0.005, 0.0)]) == "near"
    assert sample.verdict([(0.3, 1.0), (0.5, 0.5)]) == "within the spread"
    assert sample.verdict([(0.3, 1.0), (0.6, 0.5)]) == "differs"


def test_stored_runs_are_equal_on_the_machine_that_ran_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = Request(
        "links-planetoid", datasets=["cora"], methods=["adamic-adar"], runs=2, out=tmp_path
    )
    made = reproduce(request)
    (cell,) = [row.cells["cora"] for row in made.rows if row.name == "adamic-adar"]
    assert cell.model_dump()["environment"]["code"] == code_checksum()
    assert sample.main(["--draws", "3", "--seed", "1", "--out", str(tmp_path)]) == 0
    assert "2 equal, 0 near" in capsys.readouterr().out, "there are but two"
    stored = json.loads((tmp_path / "sample.json").read_text())
    assert {draw["seed"] for draw in stored["draws"]} == {0, 1}
    assert stored["draws"][0]["stored_by"]["code"] == code_checksum()
    file = tmp_path / "links-planetoid.json"
    text = file.read_text().replace(str(cell.model_dump()["test"]["auc"]["values"][0]), "12.5")
    file.write_text(text)
    assert sample.main(["--seed", "1", "--out", str(tmp_path)]) == 1


def test_what_was_run_again_stands_in_the_overview(tmp_path: Path) -> None:
    request = Request("links-planetoid", datasets=["cora"], methods=["adamic-adar"], out=tmp_path)
    reproduce(request)
    assert "run again" not in overview(tmp_path)
    sample.main(["--draws", "2", "--seed", "1", "--out", str(tmp_path)])
    text = overview(tmp_path)
    assert "s, 2 were drawn at random and run again with\ntorch " in text
    assert "sample.json)): 2 equal." in text
