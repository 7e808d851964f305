"""Six prepared graphs get the right verdict: in the JSON, the terminal, the report, the service."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from fastapi.testclient import TestClient
from torch_geometric.data import Data

from mgae.cli.app import main
from mgae.serving import Predictor
from mgae.serving.service.application import create_app
from tests.evaluation.prepared import PREPARED
from tests.reporting.test_report import text_of


def written(folder: Path, data: Data, settings: dict[str, Any]) -> list[str]:
    """Write a graph and its settings; return the arguments that train on it."""
    pairs = [pair for pair in data.edge_index.t().tolist() if pair[0] < pair[1]]
    _table(folder / "edges.csv", ["source", "target"], pairs)
    (folder / "settings.toml").write_text(tomli_w.dumps(settings), encoding="utf-8")
    arguments = ["train", str(folder / "edges.csv"), "--config", str(folder / "settings.toml")]
    if data.x is None:
        return arguments
    names = [f"x{number}" for number in range(data.x.size(1))]
    rows = [[number, *row] for number, row in enumerate(data.x.tolist())]
    _table(folder / "nodes.csv", ["id", *names], rows)
    return [*arguments, "--features", str(folder / "nodes.csv")]


def _table(path: Path, names: list[str], rows: list[list[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])


def printed(arguments: list[str], capsys: Any) -> str:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    result = capsys.readouterr()
    assert stop.value.code == 0, result.err
    return str(result.out)


@pytest.mark.parametrize("name", PREPARED)
def test_the_verdict_is_right_wherever_it_is_said(name: str, tmp_path: Path, capsys: Any) -> None:
    prepared, run = PREPARED[name], tmp_path / "run"
    arguments = written(tmp_path, prepared.data(), prepared.settings)
    answer = json.loads(printed([*arguments, "--json", "-q", "--out", str(run)], capsys))
    verdict, advice = answer["verdict"], [one["setting"] for one in answer["advice"]]
    assert verdict["kind"] in prepared.kinds, verdict["text"]
    assert prepared.says in verdict["text"]
    if prepared.tells is not None:
        assert prepared.tells in advice
    bad = verdict["kind"] in ("worse", "chance")

    stored = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    assert stored["verdict"] == verdict
    said = text_of((run / "report.html").read_text(encoding="utf-8"))
    sentence = verdict["text"][0].upper() + verdict["text"][1:]
    assert said.index(sentence) < said.index("Figures Test figures in percent")
    assert ("Show them all the same" in said) == bad
    assert ("best heuristic:" in said) == (not bad)  # what stands in the tiles
    assert all(one in said for one in advice if one is not None)

    info = TestClient(create_app(Predictor.load(run)), base_url="http://localhost").get("/info")
    worth = {"kind": verdict["kind"], "text": verdict["text"], "warning": bad}
    assert info.json()["verdict"] == worth

    # Measured again from the stored weights it says the same, now in words: last, after the table.
    lines = printed(["evaluate", str(run)], capsys).splitlines()
    assert f"verdict: {verdict['text']}" in lines
    after = lines[lines.index(f"verdict: {verdict['text']}") + 1 :]
    assert all(line.startswith("  try: ") for line in after)
    assert len(after) == len(advice)


def test_every_note_is_in_the_json_though_it_is_quiet(tmp_path: Path, capsys: Any) -> None:
    prepared = PREPARED["tiny"]
    arguments = written(tmp_path, prepared.data(), prepared.settings)
    answer = json.loads(printed([*arguments, "--json", "-q", "--out", str(tmp_path / "a")], capsys))
    with pytest.raises(SystemExit):
        main([*arguments, "-q", "--out", str(tmp_path / "b")])
    shown = [line.removeprefix("note: ") for line in capsys.readouterr().err.splitlines()]
    assert any(note.startswith("only about 2 edges are left for the test") for note in shown)
    assert answer["notes"] == shown


def test_what_is_left_of_the_budget_tries_the_advice_on_validation(
    tmp_path: Path, capsys: Any
) -> None:
    prepared = PREPARED["hub-heavy"]
    settings = {**prepared.settings, "train": {"epochs": 3, "budget": 60}}
    arguments = written(tmp_path, prepared.data(), settings)
    answer = json.loads(printed([*arguments, "--json", "--out", str(tmp_path / "run")], capsys))
    tried = {one["setting"]: one for one in answer["advice"] if one["tried"] is not None}
    assert "--method combined" in tried
    one = tried["--method combined"]
    assert one["metric"] == "recall@10"
    assert one["before"] == answer["val"]["recall@10"]["mean"]
    assert 0 <= one["tried"] <= 100
