"""Run directories of earlier versions still load, measure the same and go on.

``stored/`` was written by version 0.1.0 at commit 0540264: 60 nodes in four groups, GCN with 8
channels, 12 epochs. ``finished`` is a whole run; ``broken-off`` is the same run, interrupted in
its sixth epoch. ``combined`` is of a later 0.1.0: checksums, the default method of
one's own graph, and a final fit on all edges.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from mgae.data.atomic import read_tensors
from mgae.runs.pipeline import evaluate, resume
from mgae.serving import Predictor

STORED = Path(__file__).parent / "stored"


def figures(folder: Path) -> dict[str, dict[str, float]]:
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    heuristics = metrics["floors"] if "floors" in metrics else metrics["heuristics"]
    tables = {"test": metrics["test"], "val": metrics["val"], **heuristics}
    return {
        name: {key: one["mean"] for key, one in table.items()} for name, table in tables.items()
    }


@pytest.mark.parametrize("name", ["finished", "combined"])
def test_a_finished_run_measures_the_same_figures(name: str) -> None:
    result = evaluate(STORED / name)
    stored = figures(STORED / name)
    assert {key: one.mean for key, one in result.test.items()} == pytest.approx(stored["test"])
    for heuristic, summaries in result.heuristics.items():
        assert {key: one.mean for key, one in summaries.items()} == pytest.approx(stored[heuristic])


def test_a_run_that_was_interrupted_goes_on_to_the_same_figures(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(STORED / "broken-off", folder)
    resume(folder)
    assert figures(folder) == {
        name: pytest.approx(values) for name, values in figures(STORED / "finished").items()
    }
    files = [one / "history.jsonl" for one in (folder, STORED / "finished")]
    ours, theirs = (list(map(json.loads, file.read_text().splitlines())) for file in files)
    assert [one["loss"] for one in ours] == pytest.approx([one["loss"] for one in theirs])


def test_a_run_that_was_interrupted_in_its_final_fit_goes_on_to_the_same_weights(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(STORED / "combined", folder)
    for name in ("final.safetensors", "metrics.json", "embeddings.parquet"):
        (folder / name).unlink()
    resume(folder)
    ours, theirs = (
        read_tensors(one / "final.safetensors") for one in (folder, STORED / "combined")
    )
    assert ours.keys() == theirs.keys()
    for name, values in theirs.items():
        torch.testing.assert_close(ours[name], values)
    assert figures(folder)["test"] == pytest.approx(figures(STORED / "combined")["test"])


@pytest.mark.parametrize("name", ["finished", "combined"])
def test_a_finished_run_serves(name: str) -> None:
    predictor = Predictor.load(STORED / name)
    assert len(predictor.recommend("n0", k=3)) == 3
