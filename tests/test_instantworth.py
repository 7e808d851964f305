"""The comparison of the instant answer with the best heuristic in hindsight, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import instant
from benchmarks.worthfigures import EITHER
from benchmarks.worthgraphs import Variant

from mgae.data.atomic import write_json


def cell(folder: Path, method: str, seed: int, auc: float, recall: float) -> None:
    figures = {"auc": auc, "ap": auc, EITHER: recall}
    record = {"status": "ok", "seed": seed, "figures": figures}
    (folder / "yeast").mkdir(exist_ok=True)
    write_json(folder / "yeast" / f"{method}-{seed}.json", record)


def test_the_best_heuristic_is_chosen_for_each_figure_on_the_seeds_that_all_have(
    tmp_path: Path,
) -> None:
    for seed, auc, recall in ((0, 90.0, 40.0), (1, 92.0, 44.0), (2, 99.0, 99.0)):
        cell(tmp_path, "instant", seed, auc, recall)
    for seed in (0, 1):
        cell(tmp_path, "l3", seed, 80.0, 45.0)
        cell(tmp_path, "katz", seed, 90.5, 10.0)
    row = instant.against_heuristics(tmp_path, Variant("yeast"))
    assert row is not None and row["seeds"] == [0, 1] and row["heuristics"] == ["katz", "l3"]
    assert row["auc"] == {"own": 91.0, "other": 90.5, "heuristic": "katz"}
    assert row[EITHER] == {"own": 42.0, "other": 45.0, "heuristic": "l3"}
    line = "| yeast | 2 | 91.0 / 91.0 / 42.0 | 90.5 / 90.5 / 45.0 (l3) | +0.5 / +0.5 / -3.0 |"
    assert line in instant.table({"yeast": row}, "instant", "best")


def test_the_tables_are_written_into_their_page(
    tmp_path: Path,
    capsys: pytest.CaptureFixture,  # type: ignore[type-arg]
) -> None:
    cell(tmp_path, "instant", 0, 90.0, 40.0)
    cell(tmp_path, "l3", 0, 80.0, 45.0)
    cell(tmp_path, "evidence", 0, 93.0, 41.0)
    cell(tmp_path, "evidence-from-shipped", 0, 94.0, 40.0)
    page = tmp_path / "page.md"
    marks = [mark.format(end) for mark in (instant.WORTH, instant.START) for end in ("", "end of ")]
    page.write_text("before\n{}\nold\n{}\nbetween\n{}\nold\n{}\nafter\n".format(*marks))
    instant.report(tmp_path, ["yeast", "power"], tmp_path, page)
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "\nbetween\n" in text
    assert "old" not in text and "power" not in text
    assert "| yeast | 1 | 90.0 / 90.0 / 40.0 | 80.0 / 80.0 / 45.0 (l3) |" in text
    assert "| yeast | 1 | 94.0 / 94.0 / 40.0 | 93.0 / 93.0 / 41.0 | +1.0 / +1.0 / -1.0 |" in text
    assert (tmp_path / "instant.json").exists() and "yeast" in capsys.readouterr().out


def test_a_graph_of_the_pretraining_is_answered_by_a_model_without_it(tmp_path: Path) -> None:
    left_out = instant.cell(Variant("cora", features=True), "instant", 1, tmp_path)
    assert isinstance(left_out, instant.LeftOutCell) and "without-cora" in left_out.weights.name
    assert left_out.path(tmp_path) == tmp_path / "left-out" / "cora+features" / "instant-1.json"
    power = instant.cell(Variant("power"), "instant", 1, tmp_path)
    assert not isinstance(power, instant.LeftOutCell)
