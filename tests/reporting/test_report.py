"""report.html: whole, self-contained, and true to the run."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import torch
from safetensors.torch import load_file, save_file

import mgae
from mgae.core.errors import RunDirectoryError
from mgae.reporting import write_report
from tests.serving.test_predictor import named, ran

VOID = {"meta", "link", "br"}
HTTP = re.compile(r"https?:|src=|@import|url\(|<link")


class Balance(HTMLParser):
    """Every element is closed, in its order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def text_of(page: str) -> str:
    parser = Balance()
    parser.feed(page)
    assert parser.open == []
    return " ".join(" ".join(parser.texts).split())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = named(num_nodes=40, num_edges=120)
    data.node_ids = [f"<i>{number}</i>&" for number in range(40)]
    heuristics = {"evaluation": {"heuristics": ["common-neighbors"]}}
    return ran(tmp_path_factory.mktemp("reported") / "run", data, runs=2, **heuristics)


def test_the_page_says_what_the_run_found(run: Path) -> None:
    page = write_report(run).read_text(encoding="utf-8")
    said = text_of(page)
    result = mgae.evaluate(run)
    assert f"AUC {result.test['auc'].mean:.2f} ± {result.test['auc'].std:.2f}" in said
    assert f"best heuristic: {result.heuristics['common-neighbors']['auc'].mean:.2f}" in said
    assert f"mgae train --config {run}/config.toml --out again" in said
    assert "40 nodes, 120 edges" in said
    for title in ("Loss", "Validation", "ROC", "Precision and recall", "Calibration", "Scores"):
        assert f"<h3>{title}</h3>" in page
    assert page.count('role="img"') == 7
    assert page.count('class="line faint"') == 2  # the second seed's loss and validation
    assert "40 nodes, placed by PCA" in said


def test_it_needs_nobody_else_and_takes_no_id_for_markup(run: Path) -> None:
    page = write_report(run).read_text(encoding="utf-8")
    assert not HTTP.search(page)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in unescape(page)  # this one, and no other
    assert "<i>1" not in page
    assert "&lt;i&gt;" in page


def test_figures_and_links_are_files_too(run: Path) -> None:
    page = write_report(run).read_text(encoding="utf-8")
    files = re.findall(r'download="(\w+\.csv)" href="data:text/csv;charset=utf-8,([^"]*)"', page)
    tables = {name: list(csv.DictReader(io.StringIO(unquote(text)))) for name, text in files}
    ours = [row for row in tables["figures.csv"] if row["method"] == "mgae gcn"]
    result = mgae.evaluate(run)
    assert {row["metric"]: float(row["mean"]) for row in ours} == {
        name: one.mean for name, one in result.test.items()
    }
    assert {row["runs"] for row in ours} == {"2"}
    assert len(tables["links.csv"]) == page.count('data-name="score"') > 0
    assert tables["links.csv"][0]["source"].startswith("<i>")


def test_each_metric_has_a_line_of_meaning_and_each_node_a_name(run: Path) -> None:
    page = write_report(run).read_text(encoding="utf-8")
    assert page.count("how often an edge scores higher than a pair that is none") == 2
    assert page.count("<use ") == 40
    assert "<title>&lt;i&gt;7&lt;/i&gt;&amp; · " in page


def test_the_same_run_gives_the_same_page_and_changes_nothing_else(run: Path) -> None:
    before = {path: path.read_bytes() for path in run.rglob("*.json")}
    first = write_report(run).read_bytes()
    assert write_report(run).read_bytes() == first
    assert {path: path.read_bytes() for path in run.rglob("*.json")} == before


@pytest.mark.parametrize(
    "sections",
    [
        {"task": "nodes", "evaluation": {"heuristics": [], "folds": 2}},
        {"method": "common-neighbors", "encoder": None, "decoder": None, "train": None},
        {"split": {"val_ratio": 0.1, "test_ratio": 0.1}, "encoder": {"kind": "sage"}},
        {"method": "dgi", "decoder": None, "train": {"epochs": 3, "monitor": "loss"}},
    ],
)
def test_every_kind_of_run_has_a_page(tmp_path: Path, sections: dict[str, Any]) -> None:
    page = write_report(ran(tmp_path / "run", named(num_edges=60), **sections))
    assert "ROC" in text_of(page.read_text(encoding="utf-8"))


def test_without_a_validation_there_is_no_figure_of_it(tmp_path: Path) -> None:
    by_loss = {"train": {"epochs": 3, "monitor": "loss"}}
    page = write_report(ran(tmp_path / "run", named(), **by_loss)).read_text(encoding="utf-8")
    assert "<h3>Loss</h3>" in page
    assert "<h3>Validation</h3>" not in page
    assert "The mark is the epoch that was best by its loss" in text_of(page)


def test_the_map_has_every_edge_of_a_directed_graph_once(tmp_path: Path) -> None:
    data = named(directed=True)
    page = write_report(ran(tmp_path / "run", data)).read_text(encoding="utf-8")
    drawn = re.search(r'<path class="edges"[^>]* d="([^"]*)"', page, re.DOTALL)
    assert drawn
    assert drawn[1].count("M") == len({frozenset(e) for e in data.edge_index.t().tolist()})


@pytest.mark.parametrize(
    "options", [{"directed": True}, {"weighted": True}, {"num_features": None}]
)
def test_every_kind_of_graph_has_a_page(tmp_path: Path, options: dict[str, Any]) -> None:
    page = write_report(ran(tmp_path / "run", named(num_edges=60, **options)))
    said = text_of(page.read_text(encoding="utf-8"))
    assert ("→" in said) == bool(options.get("directed"))


def test_a_run_that_is_not_finished_has_no_page(run: Path, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text((run / "config.toml").read_text())
    with pytest.raises(RunDirectoryError, match="is not finished"):
        write_report(tmp_path)


def test_a_model_of_no_numbers_is_told(tmp_path: Path) -> None:
    path = ran(tmp_path / "run", named())
    weights = {
        name: values * torch.nan for name, values in load_file(path / "model.safetensors").items()
    }
    save_file(weights, path / "model.safetensors")
    (path / "manifest.json").unlink()
    with pytest.raises(RunDirectoryError, match=r"model\.safetensors: it has weights that are not"):
        write_report(path)
