"""``mgae reproduce`` through the real command line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mgae.cli.app import main
from mgae.cli.livetable import LiveTable
from mgae.paper.document import Environment, Measured
from mgae.paper.plan import table
from mgae.runs.results import Summary

SMALL = ["--datasets", "cora", "--methods", "GAE,MGAE-GCN", "--runs", "2"]
SMALL += ["--set", "encoder.hidden_channels=4", "--set", "train.checkpoint_seconds=0"]


def command(out: Path, epochs: int) -> list[str]:
    return [
        "reproduce",
        "links-planetoid",
        "--out",
        str(out),
        *SMALL,
        "--set",
        f"train.epochs={epochs}",
    ]


def called(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    shown = capsys.readouterr()
    return int(end.value.code or 0), shown.out, shown.err


def values(file: Path) -> dict[str, Any]:
    """All but what differs between two machines or two days."""
    doc = json.loads(file.read_text())
    for row in doc["rows"]:
        for cell in row["cells"].values():
            for key in ("seconds", "environment", "peak_bytes"):
                cell.pop(key, None)
    return dict(doc)


def test_killed_in_a_cell_and_started_again_it_ends_with_the_same_values(tmp_path: Path) -> None:
    here = [sys.executable, "-m", "mgae"]
    subprocess.run([*here, *command(tmp_path / "whole", 40), "-q"], check=True, capture_output=True)
    broken = tmp_path / "broken"
    with subprocess.Popen(
        [*here, *command(broken, 40), "-q"], stdout=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + 120
        while not _in_the_middle(broken) and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL, "it was over before it could be killed"
    assert list(broken.glob("cells/*/seed-0/metrics.json")), "no run had been finished"
    subprocess.run([*here, *command(broken, 40), "-q"], check=True, capture_output=True)
    result = values(broken / "links-planetoid-changed.json")
    assert result == values(tmp_path / "whole/links-planetoid-changed.json")
    done = [row for row in result["rows"] if row["cells"]["cora"]["status"] == "done"]
    assert [row["name"] for row in done] == ["GAE", "MGAE-GCN"]
    assert all(len(row["cells"]["cora"]["test"]["auc"]["values"]) == 2 for row in done)


def _in_the_middle(out: Path) -> bool:
    """The second cell has some epochs of a run, and not all."""
    return any(
        len(file.read_text().splitlines()) >= 5
        for file in out.glob("cells/cora-links-mgae-*/seed-0/history.jsonl")
    )


def test_the_same_again_trains_nothing_and_a_changed_setting_only_its_cells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, shown, message = called(command(tmp_path, 1), capsys)
    assert code == 0
    assert "**Cora**" in shown
    assert "**PubMed**" not in shown, "it was not asked for"
    assert "**PubMed**" in (tmp_path / "links-planetoid-changed.md").read_text(encoding="utf-8")
    assert "[1/2] GAE on Cora: AUC" in message
    assert "time left" in message
    first = values(tmp_path / "links-planetoid-changed.json")
    weights = {file: file.stat().st_mtime_ns for file in tmp_path.glob("cells/*/*/model.*")}
    assert len(weights) == 4
    assert called([*command(tmp_path, 1), "--set", "mask.ratio=0.5"], capsys)[0] == 0
    assert all(file.stat().st_mtime_ns == at for file, at in weights.items())
    second = values(tmp_path / "links-planetoid-changed.json")
    cells = {row["name"]: row["cells"]["cora"] for row in second["rows"]}
    before = {row["name"]: row["cells"]["cora"] for row in first["rows"]}
    assert cells["GAE"] == before["GAE"]
    assert cells["MGAE-GCN"]["config_hash"] != before["MGAE-GCN"]["config_hash"]
    for kind in ("json", "md", "csv", "png", "svg"):
        assert (tmp_path / f"links-planetoid-changed.{kind}").stat().st_size


def test_two_jobs_end_with_the_values_of_one(tmp_path: Path) -> None:
    here = [sys.executable, "-m", "mgae"]
    for jobs in ("1", "2"):
        arguments = [*command(tmp_path / jobs, 2), "--jobs", jobs, "-q"]
        subprocess.run([*here, *arguments], check=True, capture_output=True)
    result, expected = (values(tmp_path / jobs / "links-planetoid-changed.json") for jobs in "21")
    done = [row for row in result["rows"] if row["cells"]["cora"]["status"] == "done"]
    assert [row["name"] for row in done] == ["GAE", "MGAE-GCN"]
    for row, other in zip(result["rows"], expected["rows"], strict=True):
        expected_figures = pytest.approx(_figures(other["cells"]["cora"]), abs=0.05)
        assert _figures(row["cells"]["cora"]) == expected_figures


def _figures(cell: dict[str, Any]) -> list[float]:
    """They share the cores, and sums in another order differ in their last digits."""
    return [value for metric in cell.get("test", {}).values() for value in metric["values"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "reproduce needs the NAME of a table"),
        (["link-planetoid"], "did you mean links-planetoid?"),
        (["links-planetoid", "--datasets", "corra"], "unknown dataset 'corra'"),
        (["links-planetoid", "--methods", "mgea"], "unknown method 'mgea'"),
        (["links-ogb", "--protocol", "strict"], "'strict': only links-planetoid and nodes have it"),
        (["nodes", "--protocol", "title"], "unknown protocol 'title'"),
        (["nodes", "--set", "train.epoch=1"], "did you mean train.epochs?"),
        (["nodes", "--methods", " , "], "--methods needs names, by comma, got ' , '"),
        (["nodes", "--datasets", ","], "--datasets needs names, by comma"),
        (["nodes", "--runs", "abc"], "--runs must be an integer ≥ 1, got abc"),
        (["nodes", "--runs", "0"], "--runs must be an integer ≥ 1, got 0"),
        (["nodes", "--jobs", "1.5"], "--jobs must be an integer ≥ 1, got 1.5"),
        (["nodes", "--set", "graph=cora"], "use --datasets"),
        (["nodes", "--set", "task=links"], "name a table of that task"),
        (["nodes", "--set", "method=gae"], "use --methods"),
        (["nodes", "--set", "method.kind=gae"], "use --methods"),
        (["nodes", "--set", "method.alpha=1"], "unknown setting method.alpha"),
        (["nodes", "--set", "protocol=strict"], "use --protocol"),
        (["nodes", "--set", "runs=2"], "use --runs"),
        (["datasets", "--runs", "2"], "datasets trains nothing"),
        (["--check"], "No such option: --check"),
    ],
)
def test_what_cannot_be_is_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, _, said = called(["reproduce", *arguments, "--out", str(tmp_path)], capsys)
    assert (code, said.count("\n")) == (2, 1)
    assert message in said


@pytest.mark.parametrize("name", ["datasets", "nodes"])
def test_a_place_where_nothing_can_be_written_is_one_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("mine")
    for out in (tmp_path / "taken", tmp_path / "taken/below", Path("/proc/nowhere")):
        arguments = ["reproduce", name, "--datasets", "cora", "--out", str(out)]
        code, _, message = called(arguments, capsys)
        assert (code, message.count("\n")) == (2, 1)
        assert f"cannot write to {out}" in message
    assert (tmp_path / "taken").read_text() == "mine"


def test_a_comma_too_many_does_not_ask_for_everything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["links-planetoid", "--datasets", "cora,", "--methods", "raw-features,"]
    code, _, message = called(
        ["reproduce", *arguments, "--runs", "1", "--out", str(tmp_path)], capsys
    )
    assert (code, message.count("on Cora")) == (0, 1)
    assert "[1/1] raw-features on Cora" in message


def test_the_live_table_shows_what_is_done_what_runs_and_what_waits() -> None:
    live = LiveTable(shown=False, jobs=1)
    spec = table("mask-kind")
    cells = [cell for cell in spec.cells({}) if cell.dataset == "cora"]
    live.on_plan(spec, cells, {}, {})
    live.on_cell("undirected on cora", 0, 2)
    assert (live._text(0), live._text(1)) == ("…", "·")
    assert live._left() == "time left: unknown"
    one = Summary.of([90.0])
    done = Measured(
        status="done",
        seconds=[6.0],
        seeds=[0],
        epochs=[1],
        test={"auc": one, "ap": one},
        environment=Environment(versions={}, cores=2),
    )
    live.on_outcome(0, done)
    assert (live._text(0), live._left()) == ("90.00 / 90.00", "time left: 60 s")
    assert live._grid().row_count == 2
    live.on_outcome(1, done.model_copy(update={"test": {"ap": one}}))
    assert (live._text(1), live._figures(1)) == ("– / 90.00", "AUC –, AP 90.00")
