"""The comparison of the instant answer with the best heuristic in hindsight, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import instant
from benchmarks.worthfigures import EITHER

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
    row = instant.compare(tmp_path, "yeast")
    assert row is not None and row["seeds"] == [0, 1] and row["heuristics"] == ["katz", "l3"]
    assert row["auc"] == {"instant": 91.0, "best": 90.5, "heuristic": "katz"}
    assert row[EITHER] == {"instant": 42.0, "best": 45.0, "heuristic": "l3"}
    line = "| yeast | 2 | 91.0 / 91.0 / 42.0 | 90.5 / 90.5 / 45.0 (l3) | +0.5 / +0.5 / -3.0 |"
    assert line in instant.table({"yeast": row})


def test_the_table_is_written_into_its_page(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:  # type: ignore[type-arg]
    cell(tmp_path, "instant", 0, 90.0, 40.0)
    cell(tmp_path, "l3", 0, 80.0, 45.0)
    page = tmp_path / "page.md"
    page.write_text(f"before\n{instant.BEGIN}\nold\n{instant.END}\nafter\n")
    instant.write(tmp_path, ["yeast", "power"], tmp_path, page)
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n")
    assert "old" not in text and "| yeast | 1 |" in text and "power" not in text
    assert (tmp_path / "instant.json").exists() and "yeast" in capsys.readouterr().out
