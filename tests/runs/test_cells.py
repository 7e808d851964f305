from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import create_model
from torch_geometric.data import Data

from mgae.core.errors import RunDirectoryError, UnsupportedError
from mgae.core.training import EpochRecord
from mgae.runs.cells import (
    cell_folder,
    config_hash,
    fingerprint,
    run_cell,
    same_settings,
    settings_of,
)
from mgae.runs.config import RunConfig
from mgae.runs.pipeline import Observer, run
from tests.conftest import toy_data


def config(**given: Any) -> RunConfig:
    small = {"encoder": {"hidden_channels": 4}, "evaluation": {"heuristics": ()}}
    return RunConfig(
        **{"graph": "toy", "method": "gic", "runs": 2, "train": {"epochs": 4}, **small, **given}
    )


class Watch(Observer):
    """Counts epochs and notes, and may break off."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.epochs, self.runs, self.notes = 0, list[int](), list[str]()
        self.stop_after = stop_after

    def on_note(self, text: str) -> None:
        self.notes.append(text)

    def on_run(self, index: int, config: RunConfig) -> None:
        self.runs.append(index)

    def on_epoch(self, record: EpochRecord) -> None:
        self.epochs += 1
        if self.epochs == self.stop_after:
            raise KeyboardInterrupt


@pytest.fixture
def graph() -> Data:
    return toy_data()


def test_a_cell_has_the_figures_of_a_run(tmp_path: Path, graph: Data) -> None:
    cell = run_cell(config(), tmp_path / "cell", graph)
    assert cell.result.test == run(config(), graph).test
    assert cell.peak_bytes is not None
    assert cell.peak_bytes >= 0
    stored = json.loads((tmp_path / "cell/metrics.json").read_text())
    assert stored == cell.result.metrics()
    assert (tmp_path / "cell/seed-1/model.safetensors").exists()


def test_a_finished_cell_is_read_and_not_run(tmp_path: Path, graph: Data) -> None:
    first = run_cell(config(), tmp_path / "cell", graph)
    watch = Watch()
    assert run_cell(config(), tmp_path / "cell", graph, watch) == first
    assert (watch.epochs, watch.runs) == (0, [])


def test_more_seeds_keep_those_that_are_there(tmp_path: Path, graph: Data) -> None:
    run_cell(config(runs=1), tmp_path / "cell", graph)
    watch = Watch()
    cell = run_cell(config(runs=3), tmp_path / "cell", graph, watch)
    assert (watch.epochs, watch.runs) == (8, [1, 2])
    assert cell.result.test == run(config(runs=3), graph).test


@pytest.mark.parametrize("epoch", [1, 3, 6])
def test_a_cell_that_is_broken_off_ends_with_the_same_figures(
    tmp_path: Path, graph: Data, epoch: int
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_cell(config(), tmp_path / "cell", graph, Watch(stop_after=epoch))
    cell = run_cell(config(), tmp_path / "cell", graph)
    assert cell.result.metrics() == run(config(), graph).metrics()


def test_a_changed_setting_or_graph_begins_anew_and_says_so(tmp_path: Path, graph: Data) -> None:
    run_cell(config(), tmp_path / "cell", graph)
    changed = [(config(train={"epochs": 2}), graph), (config(), toy_data(seed=1))]
    for settings, other in changed:
        watch = Watch()
        cell = run_cell(settings, tmp_path / "cell", other, watch)
        assert any("cell: the settings or the graph have changed" in note for note in watch.notes)
        assert cell.result.test == run(settings, other).test


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("metrics.json", "{"),
        ("metrics.json", "[1]"),
        ("metrics.json", '{"seeds": [0], "test": {"auc": 5}}'),
        ("environment.json", '{"seconds": 5}'),
    ],
)
def test_a_damaged_result_runs_its_seed_again(
    tmp_path: Path, graph: Data, name: str, text: str
) -> None:
    first = run_cell(config(), tmp_path / "cell", graph)
    (tmp_path / "cell/seed-1" / name).write_text(text)
    (tmp_path / "cell/seed-1/memory.json").write_text(text)
    watch = Watch()
    again = run_cell(config(), tmp_path / "cell", graph, watch)
    assert (watch.runs, again.result.metrics()) == ([1], first.result.metrics())
    assert watch.notes[-1] == "cell/seed-1: its result is damaged, it runs again"


def test_damaged_settings_of_a_run_are_no_words_of_the_method(tmp_path: Path, graph: Data) -> None:
    run_cell(config(), tmp_path / "cell", graph)
    (tmp_path / "cell/seed-1/metrics.json").unlink()
    (tmp_path / "cell/seed-1/config.toml").write_text("[")
    with pytest.raises(RunDirectoryError, match=r"seed-1/config\.toml is damaged"):
        run_cell(config(), tmp_path / "cell", graph)
    (tmp_path / "cell/seed-1/manifest.json").unlink()
    with pytest.raises(RunDirectoryError, match=r"cannot read the run in .*seed-1: .*not TOML"):
        run_cell(config(), tmp_path / "cell", graph)


def test_a_damaged_description_of_a_cell_is_named_and_to_be_removed(
    tmp_path: Path, graph: Data
) -> None:
    run_cell(config(), tmp_path / "cell", graph)
    (tmp_path / "cell/cell.json").write_text("{")
    with pytest.raises(RunDirectoryError, match=r"cannot read .*cell/cell\.json: .*: remove it"):
        run_cell(config(), tmp_path / "cell", graph)
    (tmp_path / "cell/cell.json").unlink()
    watch = Watch()
    run_cell(config(), tmp_path / "cell", graph, watch)
    assert watch.epochs == 0


def test_another_cells_models_are_measured_anew_and_not_trained_again(
    tmp_path: Path, graph: Data
) -> None:
    run_cell(config(), tmp_path / "plain", graph)
    other = config(evaluation={"heuristics": (), "val_edges_as_input": True})
    watch = Watch()
    outcome = run_cell(other, tmp_path / "other", graph, watch, trained=tmp_path / "plain")
    assert (watch.epochs, watch.runs) == (0, [0, 1])
    assert outcome.result.test == run(other, graph).test != run(config(), graph).test
    again = run_cell(other, tmp_path / "other", graph, watch, trained=tmp_path / "nowhere")
    assert again.result == outcome.result


def test_a_refusal_leaves_nothing_behind(tmp_path: Path) -> None:
    bare = toy_data(num_features=None)
    with pytest.raises(UnsupportedError, match="graphmae"):
        run_cell(config(method="graphmae"), tmp_path / "cell", bare)
    assert not (tmp_path / "cell").exists()


def test_a_fingerprint_sees_edges_features_and_ids(graph: Data) -> None:
    same, other_ids, other_x = toy_data(), toy_data(), toy_data()
    other_ids.node_ids = [f"n{i}" for i in range(20)]
    other_x.x = other_x.x + 1
    assert fingerprint(same) == fingerprint(graph)
    prints = {fingerprint(g) for g in (graph, other_ids, other_x, toy_data(seed=2))}
    assert len(prints) == 4


def test_an_option_that_is_added_with_a_default_changes_no_checksum_and_orphans_no_cell() -> None:
    before = config()
    assert before.encoder is not None
    wider = create_model("Wider", __base__=type(before.encoder), sparse=(bool, False))
    after, chosen = (
        before.model_copy(update={"encoder": wider(**before.encoder.model_dump(), **option)})
        for option in ({}, {"sparse": True})
    )
    assert config_hash(after) == config_hash(before) != config_hash(chosen)
    assert same_settings(settings_of(before), after)
    assert not same_settings(settings_of(before), chosen)


def test_settings_that_are_stored_under_an_old_name_are_the_same() -> None:
    stored = settings_of(config(evaluation={"heuristics": ("common-neighbors",)}))
    stored["evaluation"]["floors"] = stored["evaluation"].pop("heuristics")
    assert same_settings(stored, config(evaluation={"heuristics": ("common-neighbors",)}))
    assert not same_settings(stored, config())


def test_seeds_and_runs_are_no_settings_and_every_other_value_is() -> None:
    stored = settings_of(config())
    assert same_settings(stored, config(seed=5, runs=3))
    others = ({"train": {"epochs": 5}}, {"method": "dgi"}, {"graph": "cora"}, {"encoder": "sage"})
    for other in others:
        assert not same_settings(stored, config(**other))
    for damaged in (None, [1], {**stored, "train": 5}, {**stored, "more": 1}):
        assert not same_settings(damaged, config())


def test_a_cell_is_found_under_the_name_that_another_version_gave_it(
    tmp_path: Path, graph: Data
) -> None:
    folder = tmp_path / f"{config().label}-{'0' * 12}"
    run_cell(config(), folder, graph)
    assert cell_folder(tmp_path, config()) == folder
    other = config(train={"epochs": 2})
    assert cell_folder(tmp_path, other) == tmp_path / f"{other.label}-{config_hash(other)}"
