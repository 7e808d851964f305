"""From a file with names to recommendations under these names, through the real command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from mgae.cli.app import main
from tests.cli.test_train import SMALL, mgae

TOWNS = ("Ulm", "Graz", "Bern")


def people() -> list[str]:
    return [f"{name} of {town}" for town in TOWNS for name in "ABCDEFGH"]


def acquaintances() -> list[tuple[str, str]]:
    """In a town everybody knows the next three; one link leads from town to town."""
    names = people()
    inside = [
        (names[8 * town + i], names[8 * town + (i + step) % 8])
        for town in range(3)
        for i in range(8)
        for step in (1, 2, 3)
    ]
    return [*inside, (names[0], names[8]), (names[8], names[16])]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained run, and the files it came from."""
    folder = tmp_path_factory.mktemp("served")
    write(folder / "edges.csv", [("from", "to"), *acquaintances()])
    about = [(name, name[-4:].strip(), number % 5) for number, name in enumerate(people())]
    write(folder / "people.csv", [("id", "town", "age"), *about])
    settings = [*SMALL, "--set", "train.epochs=20", "--set", "split.val_ratio=0.1"]
    settings += ["--set", "method.evidence_epochs=20"]
    done = mgae("train", "edges.csv", "--features", "people.csv", *settings, "--out", "run", "-q", cwd=folder)  # fmt: skip # noqa: E501
    assert done.returncode == 0, done.stderr
    return folder


def write(path: Path, rows: list[tuple[Any, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(rows)


def neighbors(name: str) -> set[str]:
    pairs = acquaintances()
    return {b for a, b in pairs if a == name} | {a for a, b in pairs if b == name}


def call(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out, printed.err


def test_recommendations_are_ids_of_the_file_and_no_neighbors(folder: Path) -> None:
    done = mgae("recommend", "run", "--node", "C of Graz", "-k", "5", "--json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert answer["node"] == "C of Graz"
    result = [row["node"] for row in answer["recommendations"]]
    assert len(result) == 5 and set(result) <= set(people())
    assert not set(result) & (neighbors("C of Graz") | {"C of Graz"})
    scores = [row["score"] for row in answer["recommendations"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < row["probability"] < 1 for row in answer["recommendations"])
    assert len(answer["rank_precision"]) == 5
    printed = mgae("recommend", "run", "--node", "C of Graz", "-k", "3", cwd=folder).stdout
    shares = ", ".join(f"{round(100 * share)}%" for share in answer["rank_precision"][:3])
    assert "if a tenth of the graph's edges are missing" in printed
    assert printed.rstrip().endswith(f"at rank 1, 2, …: {shares}")


@pytest.mark.parametrize("way", ["--exact", "--fast"])
def test_all_recommendations_in_a_file(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    out = tmp_path / "recs.parquet"
    code, printed, _ = call(capsys, "recommend", folder / "run", "--all", way, "-k", 3, "-o", out)
    assert code == 0 and "72 recommendations for 24 nodes" in printed
    assert ("recall@3 1.000 on a sample" in printed) == (way == "--fast")
    rows = pq.read_table(out).to_pylist()
    assert {row["node_id"] for row in rows} == set(people())
    assert not any(row["recommended_id"] in neighbors(row["node_id"]) for row in rows)


def test_known_links_may_be_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("recommend", folder / "run", "--node", "A of Ulm", "-k", 23, "--known")
    _, printed, _ = call(capsys, *arguments)
    *rows, meaning = printed.splitlines()[1:]
    assert {line[:9].strip() for line in rows} == set(people()) - {"A of Ulm"}
    assert meaning.startswith("probability: ")


def test_pairs_are_scored_under_their_own_names(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = [("A of Ulm", "B of Ulm"), ("A of Ulm", "C of Bern")]
    rows_with_more = [(*pair, "new") for pair in pairs]
    write(tmp_path / "pairs.csv", [("who", "whom", "when"), *rows_with_more])
    arguments = ("score", folder / "run", tmp_path / "pairs.csv", "-o", tmp_path / "scores.csv")
    arguments = (*arguments, "--source-column", "who", "--target-column", "whom")
    code, printed, messages = call(capsys, *arguments)
    assert code == 0 and "scores.csv: 2 pairs" in printed
    assert "pairs.csv: columns ignored: when" in messages
    with (tmp_path / "scores.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["who"], row["whom"]) for row in rows] == pairs
    assert float(rows[0]["score"]) > float(rows[1]["score"])
    assert float(rows[0]["balanced_probability"]) > float(rows[1]["balanced_probability"])


def test_embeddings_in_every_format(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("z.parquet", "z.csv", "z.npy"):
        code, printed, _ = call(capsys, "embed", folder / "run", "-o", tmp_path / name)
        assert code == 0 and "24 nodes, 16 numbers each" in printed
    table = pq.read_table(tmp_path / "z.parquet")
    assert table["node_id"].to_pylist() == sorted(people())
    matrix = np.load(tmp_path / "z.npy")
    np.testing.assert_array_equal(np.stack(table["embedding"].to_numpy()), matrix)
    with (tmp_path / "z.csv").open(encoding="utf-8") as stream:
        rows = list(csv.reader(stream))
    assert rows[0][:2] == ["node_id", "e0"] and rows[1][0] == "A of Bern"
    np.testing.assert_allclose(np.array([row[1:] for row in rows[1:]], float), matrix, rtol=1e-6)
    ids = (tmp_path / "z.ids.csv").read_text(encoding="utf-8").split("\n")
    assert ids[1].strip('"') == "A of Bern"


def test_another_graph_is_embedded_in_the_columns_of_the_training(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The same people in the same places, with a town that was not there, and columns turned.
    write(tmp_path / "edges.csv", [("from", "to"), *acquaintances(), ("A of Ulm", "X")])
    about = [(i % 5, name, name[-4:].strip()) for i, name in enumerate(people())]
    write(tmp_path / "people.csv", [("age", "id", "town"), *about, (3, "X", "Rom")])
    out = tmp_path / "z.parquet"
    given = ("--graph", tmp_path / "edges.csv", "--features", tmp_path / "people.csv")
    code, printed, err = call(capsys, "embed", folder / "run", *given, "-o", out)
    assert code == 0, err
    assert "25 nodes" in printed
    assert "column 'town': 1 of 25 values unknown to the model, set to zero: Rom" in err
    result = {row["node_id"]: row["embedding"] for row in pq.read_table(out).to_pylist()}
    stored = pq.read_table(folder / "run" / "embeddings.parquet").to_pylist()
    far = next(row for row in stored if row["node_id"] == "E of Bern")
    assert result["E of Bern"] == pytest.approx(far["embedding"], abs=1e-5)
    write(tmp_path / "people.csv", [("id", "town"), *((name, "Ulm") for name in [*people(), "X"])])
    code, _, err = call(capsys, "embed", folder / "run", *given, "-o", out)
    assert code == 2 and "has no column 'age', which the model was trained on" in err


def test_similar_nodes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, printed, _ = call(capsys, "similar", folder / "run", "--node", "A of Ulm", "--json")
    answer = json.loads(printed)
    assert code == 0 and len(answer["similar"]) == 10
    assert {row["node"] for row in answer["similar"]} < set(people())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["recommend", "RUN", "--node", "A of Ulme"], "did you mean A of Ulm?"),
        (["recommend", "RUN"], "give --node ID for one node, or --all"),
        (["recommend", "RUN", "--all", "--json"], "--json goes with --node"),
        (["recommend", "RUN", "--all", "-o", "recs.npy"], "--out must end in .parquet, .csv"),
        (["recommend", "RUN", "--node", "A of Ulm", "-k", "0"], "-k"),
        (["recommend", "RUN", "--node", "A of Ulm", "--run", "3"], "the runs 0 to 0, got 3"),
        (["similar", "RUN", "--node", "nobody"], "unknown node 'nobody': the graph has 24 nodes"),
        (["embed", "RUN", "-o", "nowhere/z.npy"], "there is no folder nowhere"),
        (["embed", "RUN", "-o", "z.npy", "--features", "f.csv"], "--features needs --graph"),
        (["score", "RUN", "bad.csv", "-o", "s.csv"], "bad.csv, line 2: unknown node 'A of Rom'"),
        (["score", "RUN", "headed.csv", "-o", "s.csv"], "row 1 names the columns, give --source"),
        (["score", "RUN", "none.csv", "-o", "s.csv"], "cannot read none.csv"),
        (
            ["score", "RUN", "bad.csv", "-o", "bad.csv"],
            "is an input, which is never changed",
        ),
        (["embed", "RUN", "--graph", "bad.csv", "-o", "bad.csv"], "bad.csv is an input"),
        (["embed", "RUN", "-o", "z" * 259 + ".csv"], "File name too long"),
        (["recommend", "RUN", "--node", "caf\udce9"], r"unknown node 'caf\udce9'"),
        (["embed", "nowhere", "-o", "z.npy"], "nowhere is not a run directory"),
    ],
)
def test_wrong_use_is_one_line_and_leaves_no_file(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "bad.csv", [("A of Ulm", "B of Ulm"), ("A of Ulm", "A of Rom")])
    write(tmp_path / "headed.csv", [("wer", "wen"), ("A of Ulm", "B of Ulm")])
    run = str(folder / "run")
    code, out, err = call(capsys, *(run if text == "RUN" else text for text in arguments))
    assert (code, out) == (2, "")
    assert message in err and err.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"bad.csv", "headed.csv"}
