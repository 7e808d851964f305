"""``mgae serve`` and ``mgae report`` through the real command line."""

from __future__ import annotations

import importlib.util
import json
import re
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from mgae.cli.app import main
from tests.cli.test_train import SMALL, mgae


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    settings = ["--set", "train.epochs=2", "--set", "evaluation.heuristics=[]", *SMALL]
    done = mgae("train", "cora", *settings, "--out", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "report: run/report.html" in done.stdout
    return folder / "run"


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_training_leaves_a_report_that_can_be_drawn_again(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.parent)
    report = run / "report.html"
    drawn = report.read_bytes()
    report.unlink()
    with pytest.raises(SystemExit) as stop:
        main(["report", "run", "--map", "pca"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == "run/report.html\n"
    assert report.read_bytes() == drawn


def test_a_service_says_where_it_is_and_answers(run: Path) -> None:
    command = [sys.executable, "-m", "mgae", "serve", str(run), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = re.match(r"(http://127\.0\.0\.1:\d+)/, OpenAPI at ", process.stdout.readline())
        assert said
        with urllib.request.urlopen(f"{said[1]}/nodes/35/recommendations?k=2") as answer:
            reply = json.load(answer)
        process.terminate()
    assert reply["node"] == 35
    assert len(reply["recommendations"]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--host", "0.0.0.0"], "lets others on the network in: set --token or MGAE_TOKEN"),
        (["--host", "::"], "lets others on the network in"),
        (["--token", "pässwörter"], "--token must be printable ASCII"),
        (["--token", "long enough "], "without blanks at its ends"),
        (["--token", "short"], "--token must have at least 8 characters, got 5"),
        (["--host", "256.0.0.1", "--token", "long enough"], "cannot listen on 256.0.0.1 port 8000"),
    ],
)
def test_nobody_is_let_in_by_mistake(
    run: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert message in refused(capsys, "serve", str(run), *arguments)


def test_a_port_that_is_taken_is_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        said = refused(capsys, "serve", str(run), "--port", port)
    assert f"cannot listen on 127.0.0.1 port {port}" in said
    assert said.count("\n") == 1


def test_missing_packages_are_named_with_the_command(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    find_spec = importlib.util.find_spec

    def without_uvicorn(name: str, *more: Any) -> Any:
        return None if name == "uvicorn" else find_spec(name, *more)

    monkeypatch.setattr(importlib.util, "find_spec", without_uvicorn)
    said = refused(capsys, "serve", str(run))
    assert said == "mgae: mgae serve needs uvicorn: pip install 'mgae[serve]'\n"


def test_what_is_no_run_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is not a run directory" in refused(capsys, "serve", str(tmp_path), "--port", "0")
    assert "is not a run directory" in refused(capsys, "report", str(tmp_path))
