"""``mgae compare`` through the real command line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mgae.cli.app import main
from tests.conftest import toy_edges

SMALL = ["--set", "train.epochs=2", "--set", "encoder.hidden_channels=4"]
SMALL += ["--set", 'evaluation.heuristics=["common-neighbors"]']


@pytest.fixture
def edges(tmp_path: Path) -> str:
    pairs = toy_edges(30, 90, seed=0).t().tolist()
    (tmp_path / "edges.csv").write_text("\n".join(f"n{u},n{v}" for u, v in pairs))
    return str(tmp_path / "edges.csv")


def test_a_ranked_table_with_heuristics_below_and_who_refused(
    edges: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = ["compare", edges, "--methods", "dgi, graphmae,gic", "--out", str(out), *SMALL]
    with pytest.raises(SystemExit) as end:
        main(arguments)
    shown = capsys.readouterr()
    assert end.value.code == 0, shown.err
    assert "30 nodes, 90 edges" in shown.err
    assert "1. " in shown.out
    assert "2. " in shown.out
    assert shown.out.index("2. ") < shown.out.index("common-neighbors")
    assert "graphmae refused: method 'graphmae' needs node features" in shown.out
    assert f"tables and picture: {out}" in shown.out
    assert "…" not in shown.out, "the table is cut"
    assert (out / "comparison.png").read_bytes()[:4] == b"\x89PNG"


def test_json_is_one_object_and_nothing_else(
    edges: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    with pytest.raises(SystemExit):
        main(["compare", edges, "--methods", "gic", "--runs", "2", "--json", "--out", out, *SMALL])
    shown = capsys.readouterr()
    answer = json.loads(shown.out)
    assert shown.err == ""
    assert (answer["runs"], answer["ranked_by"], answer["protocol"]) == (2, "auc", "strict")
    assert answer["rows"][0]["method"] == "gic"
    assert answer["rows"][0]["seeds"] == [0, 1]


def test_a_wrong_method_is_one_line(edges: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["compare", edges, "--methods", "dgi,gik"])
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("mgae: unknown method 'gik': known are")


def test_a_signal_leaves_what_the_same_command_goes_on_from(edges: str, tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-m", "mgae", "compare", edges, "--methods", "dgi,gic", "--json"),
        *("--out", str(tmp_path / "out"), "--set", "encoder.hidden_channels=4"),
        *("--set", "train.epochs=100000", "--set", "train.patience=100000"),
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        history = tmp_path / "out/cells/dgi/seed-0/history.jsonl"
        deadline = time.monotonic() + 60
        while not (history.exists() and history.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        _, message = process.communicate(timeout=60)
    assert process.returncode == 143
    assert message == "mgae: interrupted; go on with the same command\n"
    assert (tmp_path / "out/cells/dgi/seed-0/checkpoint/latest.json").exists()
