"""Tables of a comparison whose figures are written down here."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from mgae.runs.cells import CellResult
from mgae.runs.comparison import Comparison, Row
from mgae.runs.comparison.outputs import picture, to_csv, to_markdown
from mgae.runs.config import RunConfig
from mgae.runs.pictures import save
from mgae.runs.results import RunResult, SeedResult


def row(method: str, aucs: list[float], trains: bool = True, graph: str = "cora") -> Row:
    config = RunConfig(graph=graph, method=method, runs=len(aucs))
    seeds = tuple(
        SeedResult(k, {"auc": auc, "ap": auc - 1, "mrr": 3.0}, {}, {}, 5, 5, seconds=2.0 * k + 1)
        for k, auc in enumerate(aucs)
    )
    return Row(config, trains, CellResult(RunResult(config, seeds), 3 * 2**20))


@pytest.fixture
def comparison(tmp_path: Path) -> Comparison:
    rows = (
        row("dgi", [80.0, 82.0]),
        Row(RunConfig(method="graphmae", runs=2), True, refused="it has no features"),
        row("gic", [90.0, 94.0]),
        row("adamic-adar", [70.0, 70.0], trains=False),
        row("random-init", [95.0, 95.0], trains=False),
    )
    return Comparison(rows, tmp_path)


def test_the_best_comes_first_and_heuristics_are_apart(comparison: Comparison) -> None:
    assert [row.name for row in comparison.ranked] == ["gic", "dgi"]
    assert [row.name for row in comparison.heuristics] == ["random-init", "adamic-adar"]
    assert [row.name for row in comparison.refusals] == ["graphmae"]
    assert (comparison.metric, comparison.metrics) == ("auc", ["auc", "ap"])


def test_markdown_has_ours_beside_the_papers(comparison: Comparison) -> None:
    lines = to_markdown(comparison).splitlines()
    assert lines[0] == "# cora, links, protocol paper: test, 2 runs"
    assert lines[2] == "| method | AUC | paper | AP | paper | s | MiB |"
    figures = "92.00 ± 2.83 | 93.54 ± 0.60 | 91.00 ± 2.83 | 93.33 ± 0.70"
    assert lines[4] == f"| 1. gic | {figures} | 2.0 | 3 |"
    assert lines[6].startswith("| *random-init* | ***95.00 ± 0.00*** | *–* |")
    assert lines[-1] == "`graphmae` refused: it has no features"


def test_without_the_papers_figures_there_is_no_column_for_them(tmp_path: Path) -> None:
    one = Comparison((row("dgi", [80.0], graph="mine.csv"),), tmp_path)
    assert "| method | AUC | AP | MRR | s | MiB |" in to_markdown(one)
    assert "| 1. dgi | 80.00 | 79.00 | 3.00 | 1.0 | 3 |" in to_markdown(one)


def test_csv_has_every_metric_of_every_method(comparison: Comparison) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(comparison))))
    assert [row["method"] for row in rows][:2] == ["gic", "dgi"]
    assert (rows[0]["auc_mean"], rows[0]["auc_paper"], rows[0]["mrr_mean"]) == (
        "92.0",
        "93.54",
        "3.0",
    )
    assert (rows[0]["seconds"], rows[0]["peak_mib"], rows[0]["trains"]) == ("2.0", "3.0", "True")
    assert (rows[-1]["method"], rows[-1]["refused"]) == ("graphmae", "it has no features")
    assert rows[-1]["auc_mean"] == ""


def test_json_has_the_seeds_the_memory_and_the_paper(comparison: Comparison) -> None:
    result = comparison.to_json()
    first = result["rows"][0]
    assert first["method"] == "gic"
    assert first["test"]["auc"]["values"] == [90.0, 94.0]
    assert (first["peak_mib"], first["published"]["auc"]["mean"]) == (3.0, 93.54)
    assert result["rows"][-1]["refused"] == "it has no features"


def test_the_picture_has_a_place_for_each_method(comparison: Comparison) -> None:
    figure = picture(comparison)
    panel = figure.axes[0]
    labels = [label.get_text() for label in panel.get_yticklabels()]
    assert labels == ["gic", "dgi", "random-init", "adamic-adar"]
    kinds = {text.get_text() for text in figure.legends[0].get_texts()}
    assert kinds == {"methods", "heuristics: nothing is learned", "the paper's mean"}
    save(figure, comparison.directory / "comparison")
    assert (comparison.directory / "comparison.png").read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in (comparison.directory / "comparison.svg").read_text()


def test_a_single_method_can_be_drawn(tmp_path: Path) -> None:
    assert (
        picture(Comparison((row("dgi", [80.0]),), tmp_path)).axes[0].get_xlabel().startswith("AUC")
    )
