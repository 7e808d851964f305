from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mgae.core.errors import ConfigError, RunDirectoryError, UnknownName, UnsupportedError
from mgae.core.training import EpochRecord
from mgae.runs.comparison import Comparison, compare
from mgae.runs.comparison.sequence import configurations, trained_methods
from mgae.runs.config import RunConfig
from mgae.runs.pipeline import Observer, run
from mgae.runs.presets import paper_config
from tests.conftest import toy_edges

SMALL: dict[str, Any] = {
    "encoder": {"hidden_channels": 4},
    "train": {"epochs": 2},
    "evaluation": {"heuristics": ("common-neighbors",)},
}


@pytest.fixture(autouse=True)
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing is slow, and tested elsewhere."""
    monkeypatch.setattr("mgae.runs.comparison.sequence.save", lambda figure, stem: None)


class Watch(Observer):
    def __init__(self, stop_at: str | None = None) -> None:
        self.cells, self.epochs, self.stop_at = list[str](), 0, stop_at

    def on_cell(self, name: str, index: int, count: int) -> None:
        self.cells.append(f"{name} {index}/{count}")

    def on_epoch(self, record: EpochRecord) -> None:
        self.epochs += 1
        if self.stop_at and self.cells[-1].startswith(self.stop_at):
            raise KeyboardInterrupt


@pytest.fixture
def edges(tmp_path: Path) -> str:
    file = tmp_path / "edges.csv"
    pairs = toy_edges(30, 90, seed=0).t().tolist()
    file.write_text("\n".join(["from,to", *(f"n{u},n{v}" for u, v in pairs)]))
    return str(file)


def compared(edges: str, out: Path, observer: Observer | None = None, **given: Any) -> Comparison:
    return compare(edges, ["dgi", "graphmae", "gic"], out, observer, **{**SMALL, **given})


def test_methods_share_splits_and_seeds_and_a_refusal_is_listed(edges: str, tmp_path: Path) -> None:
    result = compared(edges, tmp_path / "out", runs=2)
    assert {row.name for row in result.ranked} == {"dgi", "gic"}
    (refused,) = result.refusals
    assert refused.name == "graphmae"
    assert refused.refused == ("method 'graphmae' needs node features: it learns by hiding them")
    for row in result.ranked:
        assert row.test == run(RunConfig(graph=edges, method=row.name, runs=2, **SMALL)).test
    splits = [tmp_path / f"out/cells/{m}/seed-1/split.safetensors" for m in ("dgi", "gic")]
    assert splits[0].read_bytes() == splits[1].read_bytes()
    names = ("md", "csv", "json")
    assert all((tmp_path / f"out/comparison.{name}").stat().st_size for name in names)


def test_the_same_again_runs_nothing_and_more_runs_only_what_is_missing(
    edges: str, tmp_path: Path
) -> None:
    first = compared(edges, tmp_path / "out")
    watch = Watch()
    again = compared(edges, tmp_path / "out", watch)
    assert (again.to_json(), watch.epochs) == (first.to_json(), 0)
    more = compared(edges, tmp_path / "out", watch, runs=2)
    assert (len(more.ranked[0].test["auc"].values), watch.epochs) == (2, 4)


def test_broken_off_it_goes_on_to_the_same_figures(edges: str, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        compared(edges, tmp_path / "out", Watch(stop_at="gic"))
    written = json.loads((tmp_path / "out/comparison.json").read_text())
    assert [row["method"] for row in written["rows"]] == ["dgi", "graphmae"]
    watch = Watch()
    result = compared(edges, tmp_path / "out", watch)
    assert watch.cells[:3] == ["dgi 0/4", "graphmae 1/4", "gic 2/4"]
    whole = compared(edges, tmp_path / "whole")
    assert [row.test for row in result.ranked] == [row.test for row in whole.ranked]


def test_another_comparison_is_not_overwritten(edges: str, tmp_path: Path) -> None:
    compared(edges, tmp_path / "out")
    with pytest.raises(RunDirectoryError, match="holds a comparison with other settings"):
        compared(edges, tmp_path / "out", train={"epochs": 3})
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/letter.txt").write_text("dear")
    with pytest.raises(RunDirectoryError, match="is not empty"):
        compared(edges, tmp_path / "mine")


@pytest.mark.parametrize("damaged", ["asked.json", "cells/gic/cell.json"])
def test_damaged_storage_is_an_error_and_no_refusal(
    edges: str, tmp_path: Path, damaged: str
) -> None:
    compared(edges, tmp_path / "out")
    before = (tmp_path / "out/comparison.md").read_text()
    (tmp_path / "out" / damaged).write_text("{")
    with pytest.raises(RunDirectoryError, match=rf"cannot read .*{damaged}: [^\n]*: restore it"):
        compared(edges, tmp_path / "out")
    assert (tmp_path / "out/comparison.md").read_text() == before


def test_a_run_that_cannot_be_gone_on_with_is_no_refusal(edges: str, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        compared(edges, tmp_path / "out", Watch(stop_at="gic"))
    checkpoint = tmp_path / "out/cells/gic/seed-0/checkpoint"
    checkpoint.mkdir(exist_ok=True)
    (checkpoint / "latest.json").write_text("{")
    with pytest.raises(RunDirectoryError, match=r"the checkpoint in .* is damaged"):
        compared(edges, tmp_path / "out")


def test_the_folder_is_named_after_the_graph_and_found_again(
    edges: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = compare(edges, ["dgi"], **SMALL)
    assert first.directory == Path("runs/compare-edges-links")
    assert compare(edges, ["dgi"], **SMALL).directory == first.directory
    other = compare(edges, ["dgi"], **{**SMALL, "seed": 5})
    assert other.directory == Path("runs/compare-edges-links-2")


def test_what_cannot_be_is_said_before_anything_is_trained(edges: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean dgi"):
        compare(edges, ["dgj"], tmp_path / "out")
    with pytest.raises(UnsupportedError, match="needs labels"):
        compare(edges, ["dgi"], tmp_path / "out", task="nodes")
    with pytest.raises(ConfigError, match="method 'dgi' has no mask"):
        compare(edges, ["mgae", "dgi"], tmp_path / "out", mask={"ratio": 0.5})
    assert not (tmp_path / "out").exists()


def test_where_none_can_do_it_the_reason_is_the_error(edges: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"no method runs on .*: method 'graphmae'"):
        bare = {**SMALL, "evaluation": {"heuristics": ()}}
        compare(edges, ["graphmae"], tmp_path / "out", **bare)


def test_all_is_every_method_that_trains() -> None:
    assert {"mgae", "dgi", "gic", "graphmae"} <= set(trained_methods())
    assert not {"common-neighbors", "random-init"} & set(trained_methods())


def test_each_method_has_the_settings_that_mgae_train_would_give_it() -> None:
    configs = configurations(["dgi", "mgae"], {"graph": "cora", "runs": 3})
    assert [config.method.kind for config in configs[:3]] == ["dgi", "mgae", "common-neighbors"]
    for config in configs[:2]:
        train = paper_config(graph="cora", runs=3, method=config.method.kind)
        assert config.changed(evaluation=train.evaluation) == train
        assert config.evaluation.heuristics == ()
