"""Files in, CSV out, standard input and output, notes: through the real command line."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from mgae.data.opening import read_graph
from tests.cli.test_serving import call, folder, neighbors, people, write
from tests.cli.test_train import SMALL, mgae

__all__ = ["folder"]  # a fixture


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_pairs_come_by_standard_input_and_go_to_standard_output(folder: Path) -> None:
    command = [sys.executable, "-m", "mgae", "score", "run", "-"]
    pairs = "A of Ulm,B of Ulm\nA of Ulm,C of Bern\n"
    done = subprocess.run(
        command, cwd=folder, input=pairs, capture_output=True, text=True, check=True, timeout=120
    )
    rows = rows_of(done.stdout)
    assert [row["target"] for row in rows] == ["B of Ulm", "C of Bern"]
    assert float(rows[0]["score"]) > float(rows[1]["score"])
    assert "2 pairs" in done.stderr


def test_unknown_ids_are_refused_skipped_or_without_a_score(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = [("A of Ulm", "B of Ulm"), ("A of Ulm", "nobody"), ("C of Bern", "A of Ulm")]
    write(tmp_path / "pairs.csv", [("source", "target"), *pairs])
    given = ("score", folder / "run", tmp_path / "pairs.csv")
    code, out, err = call(capsys, *given)
    assert (code, out) == (2, "") and "line 3: unknown node 'nobody'" in err
    assert "--unknown skip leaves such pairs out" in err
    code, out, err = call(capsys, *given, "--unknown", "skip", "-q")
    assert [(row["source"], row["target"]) for row in rows_of(out)] == [pairs[0], pairs[2]]
    assert code == 0 and "note: 1 of 3 pairs left out: an id of theirs is no node" in err
    _, out, err = call(capsys, *given, "--unknown", "nan")
    scores = [row["score"] for row in rows_of(out)]
    assert scores[1] in ("nan", "") and float(scores[0]) > float(scores[2])
    assert "1 of 3 pairs without a score" in err


def test_recommendations_among_the_nodes_of_a_file_and_without_those_of_another(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "among.txt").write_text("C of Bern\nD of Bern\nB of Ulm\nE of Graz\n", "utf-8")
    (tmp_path / "exclude.csv").write_text("id,why\nD of Bern,gone\n", "utf-8")
    files = ("--among", tmp_path / "among.txt", "--exclude", tmp_path / "exclude.csv")
    code, out, _ = call(capsys, "recommend", folder / "run", "--all", *files)
    rows = rows_of(out)
    assert code == 0 and {row["node_id"] for row in rows} == set(people())
    assert {row["recommended_id"] for row in rows} == {"C of Bern", "B of Ulm", "E of Graz"}
    assert not any(row["recommended_id"] in neighbors(row["node_id"]) for row in rows)
    _, out, _ = call(capsys, "recommend", folder / "run", "--node", "A of Ulm", *files, "-o", "-")
    assert [row["rank"] for row in rows_of(out)] == ["1", "2"]  # B of Ulm is known
    (tmp_path / "among.txt").write_text("nobody\n", "utf-8")
    code, _, err = call(capsys, "recommend", folder / "run", "--all", *files)
    assert code == 2 and "among.txt, line 1: unknown node 'nobody'" in err


def test_notes_are_in_json_and_not_swallowed(tmp_path: Path) -> None:
    write(
        tmp_path / "edges.csv", [("user", "item"), *((f"a{k}", f"b{k * 3 % 9}") for k in range(30))]
    )
    given = (
        "edges.csv",
        "--method",
        "mgae",
        *SMALL,
        "--epochs",
        "1",
        "--patience",
        "1",
        "--learning-rate",
        "0.02",
    )
    quiet = mgae("train", *given, "--out", "one", "-q", cwd=tmp_path)
    note = "edges.csv: row 1 (user, item) taken as the names of the columns"
    assert note in quiet.stderr and "nodes" not in quiet.stderr.split("note:")[0]
    whole = mgae("train", *given, "--out", "two", "--json", cwd=tmp_path)
    assert whole.stderr == "" and any(note in one for one in json.loads(whole.stdout)["notes"])
    config = (tmp_path / "two" / "config.toml").read_text("utf-8")
    assert "epochs = 1\n" in config and "patience = 1\n" in config
    assert "learning_rate = 0.02" in config


def test_negative_weights_are_a_choice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "edges.csv"
    write(path, [("source", "target", "weight"), ("a", "b", 2), ("b", "c", -3), ("c", "a", 1)])
    code, _, err = call(capsys, "inspect", path)
    assert code == 2 and "line 3: the weight must be a finite number ≥ 0, got -3.0" in err
    for choice, edges, note in (("abs", 3, "taken without the sign"), ("drop", 2, "dropped")):
        _, out, _ = call(capsys, "inspect", path, "--weights", choice, "--json")
        inspected = json.loads(out)
        assert inspected["edges"] == edges and note in inspected["notes"][0]


def test_ids_that_look_alike_are_pointed_out(tmp_path: Path) -> None:
    write(
        tmp_path / "edges.csv", [("source", "target"), ("Ann", "7x"), ("ann", "7x"), ("b", "Ann")]
    )
    (note,) = read_graph(tmp_path / "edges.csv").notes
    assert "1 node looks like another and has another id: 'Ann' and 'ann'" in note
