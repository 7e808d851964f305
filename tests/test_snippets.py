"""The commands and snippets of the pages run, on small files of the names that the pages use."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mgae import RunConfig, run
from mgae.cli.app import main
from tests.conftest import QUICK
from tests.test_docs import DOCS, commands_of

_PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
IDS = [35, 40, 1365, *range(100, 137)]
# As few steps as there can be: that commands run is tested here, and not what they are worth.
FEW = ["--set", "method.evidence_epochs=1", "--set", "method.folds=2"]
RUNS = {"ID": "35", "RUN": "my-run", "run": "my-run"}


def rows(*columns: str) -> pd.DataFrame:
    """Return a ring of neighbors and chords, with columns of numbers beside."""
    pairs = [(one, IDS[(n + step) % 40]) for n, one in enumerate(IDS) for step in (1, 2, 5)]
    table = pd.DataFrame(pairs, columns=list(columns[:2]))
    return table.assign(**{name: np.arange(len(table)) % 7 + 1 for name in columns[2:]})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with every file that the pages name; commands run in it."""
    monkeypatch.chdir(tmp_path)
    rows("source", "target").to_csv("edges.csv", index=False)
    rows("source", "target").head(5).to_csv("pairs.csv", index=False)
    rows("source", "target").tail(30).to_csv("new.csv", index=False)
    rows("citing", "cited", "year").to_csv("citations.csv", index=False)
    rows("source", "target", "km", "lanes").to_csv("roads.csv", index=False)
    rows("user", "item").to_csv("ratings.csv", index=False)
    trips = rows("from", "to", "count").to_csv(sep="\t", index=False)
    Path("trips.tsv.gz").write_bytes(gzip.compress(trips.encode()))
    people = pd.DataFrame({"id": IDS, "age": np.arange(40) ** 2, "zip": np.arange(40) % 3})
    people.to_csv("people.csv", index=False)
    people.to_csv("new-nodes.csv", index=False)
    people.to_parquet("nodes.parquet")
    pd.DataFrame({"id": IDS, "label": np.arange(40) % 2}).to_csv("labels.csv", index=False)
    shop = rows("source", "target").assign(action=["buys", "views"] * 60)
    sides = {"source": "u" + shop.source.astype(str), "target": "i" + shop.target.astype(str)}
    shop.assign(**sides).to_csv("shop.csv", index=False)
    shop.assign(**sides).to_csv("purchases.csv", columns=["source", "target"], index=False)
    kinds = [(f"{side}{one}", side) for side in "ui" for one in IDS]
    pd.DataFrame(kinds, columns=["id", "kind"]).to_csv("nodes.csv", index=False)
    return tmp_path


@pytest.fixture
def trained(folder: Path) -> Path:
    config = RunConfig(
        graph="edges.csv", input={"features": "people.csv"}, features={"use": "always"},
        method=QUICK, train={"epochs": 2},
    )  # fmt: skip
    run(config, out="my-run")
    return folder


def carry_out(words: list[str], *more: str) -> None:
    """Run a command of a page in this process; it must end well."""
    with pytest.raises(SystemExit) as end:
        main([*(RUNS.get(word, word) for word in words), *more])
    assert not end.value.code, words


def commands(page: str, *names: str) -> list[list[str]]:
    chosen = [words for words in commands_of(DOCS / f"{page}.md") if words[0] in names]
    assert chosen
    return chosen


def test_what_was_learned_is_used_as_the_page_says(trained: Path) -> None:
    asking = commands("answers", "recommend", "score", "similar", "embed", "report")
    for words in asking:
        carry_out(words)
    assert {path.name for path in trained.iterdir()} >= {"recs.parquet", "scores.csv", "z.parquet"}
    (code,) = _PYTHON.findall((DOCS / "answers.md").read_text(encoding="utf-8"))
    exec(code, {"features": [3.0, 1.0]})
    for words in commands("probabilities", "recommend"):
        carry_out(words)


def test_without_training_and_before_it(folder: Path) -> None:
    for words in commands("instant", "recommend", "score"):
        carry_out(words)
    for page in ("own-graph", "sides-time-types", "tables"):
        for words in commands(page, "inspect"):
            carry_out(words)
    assert (folder / "overview.png").exists()


def test_beyond_memory(folder: Path) -> None:
    (folder / "edges").mkdir()
    rows("source", "target").to_parquet("edges/part-0.parquet")
    for words in commands("scale", "prepare", "inspect", "train", "recommend"):
        there = ["edges/part-0.parquet" if "*" in word else word for word in words]
        carry_out(there, *(["--epochs", "1"] if "train" in words else []))
    assert (folder / "links.parquet").exists()


@pytest.mark.slow  # four trainings
def test_settings_by_trial(folder: Path) -> None:
    page = (DOCS / "sweep.md").read_text(encoding="utf-8")
    (space,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    Path("space.toml").write_text(space, encoding="utf-8")
    Path("edges.csv").rename("graph.csv")
    for words in commands("sweep", "sweep", "train"):
        few = ["--trials", "3", "--jobs", "1"] if words[0] == "sweep" else ["--epochs", "1"]
        carry_out(words, *few, *FEW)


@pytest.mark.timeout(1800)
@pytest.mark.slow  # some twenty trainings
@pytest.mark.parametrize("page", ["own-graph", "sides-time-types", "tables", "large-graphs"])
def test_every_training_of_a_page_runs(page: str, folder: Path) -> None:
    for words in commands(page, "train"):
        own = "--method" in words or "--type-column" in words or "--task" in words
        carry_out(words, "--epochs", "1", "--quiet", *([] if own else FEW))


@pytest.mark.timeout(1800)
@pytest.mark.slow  # trains as a user would
def test_ten_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = _PYTHON.findall((DOCS / "ten-minutes.md").read_text(encoding="utf-8"))
    exec(code, {})
    Path("pairs.csv").write_text("source,target\nc7,c56\n", encoding="utf-8")
    for words in commands("ten-minutes", "inspect", "train", "recommend", "score", "embed"):
        carry_out(words)
    assert (tmp_path / "recs.csv").exists()


@pytest.mark.timeout(1800)
@pytest.mark.slow  # Cora, several times
def test_python_on_the_page_of_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for code in _PYTHON.findall((DOCS / "training.md").read_text(encoding="utf-8")):
        exec(code.replace("runs=3", "runs=1, train={'epochs': 2}"), {})
