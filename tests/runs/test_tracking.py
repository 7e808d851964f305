from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mgae.cli.app import main
from mgae.core.errors import ConfigError, UnsupportedError
from mgae.core.training.state import EpochRecord
from mgae.registry import TRACKERS
from mgae.runs.observer import Observer
from mgae.runs.pipeline import resume, run
from mgae.runs.tracking.tracker import Tracker
from tests.runs.test_pipeline import Notes, config, data


class Kept(Tracker):
    """Keeps in a list what it is told."""

    said: list[tuple[str, Any]]

    def begin(self, name: str, settings: Mapping[str, Any], folder: Path | None) -> None:
        self.said.append(("begin", (name, settings["encoder.hidden_channels"])))

    def log(self, figures: Mapping[str, float], epoch: int) -> None:
        self.said.append(("log", (sorted(figures), epoch)))

    def end(self, figures: Mapping[str, float], verdict: str | None) -> None:
        self.said.append(("end", figures))

    def stop(self) -> None:
        self.said.append(("stop", None))


@pytest.fixture
def said() -> Iterator[list[tuple[str, Any]]]:
    said: list[tuple[str, Any]] = []
    TRACKERS.names()  # so that only what follows is removed again
    TRACKERS.add("kept", type("KeptHere", (Kept,), {"said": said}), summary="")
    yield said
    del TRACKERS._entries["kept"]


def test_a_tracker_hears_of_each_run(tmp_path: Path, said: list[tuple[str, Any]]) -> None:
    result = run(config(runs=2, train={"epochs": 2, "track": ["kept"]}), data(), tmp_path / "run")
    assert [what for what, _ in said] == ["begin", "log", "log", "end"] * 2
    assert [about for what, about in said if what == "begin"] == [
        ("run-seed-0", 8),
        ("run-seed-1", 8),
    ]
    assert said[1] == ("log", (["loss", "validation/score"], 1))
    figures = said[3][1]
    assert figures["test/auc"] == result.seeds[0].test["auc"]
    assert "heuristics/common-neighbors/auc" in figures


def test_runs_in_processes_are_tracked_there(tmp_path: Path) -> None:
    settings = config(runs=2, train={"epochs": 1, "track": ["tensorboard"]})
    run(settings, data(), tmp_path / "run", jobs=2)
    assert len(list((tmp_path / "run").glob("seed-?/tensorboard/events*"))) == 2


def test_a_resumed_run_is_told_again_and_a_finished_seed_is_not(
    tmp_path: Path, said: list[tuple[str, Any]]
) -> None:
    class Stop(Observer):
        def on_epoch(self, record: EpochRecord) -> None:
            if record.epoch == 2 and len([1 for what, _ in said if what == "begin"]) == 2:
                raise KeyboardInterrupt

    settings = config(runs=2, train={"epochs": 3, "track": ["kept"], "checkpoint_seconds": 0})
    with pytest.raises(KeyboardInterrupt):
        run(settings, data(), tmp_path / "run", Stop())
    assert said[-1] == ("stop", None)
    said.clear()
    resume(tmp_path / "run")
    assert [what for what, _ in said] == ["begin", "log", "log", "log", "end"]
    assert said[0] == ("begin", ("run-seed-1", 8))


def test_training_goes_on_without_a_tracker_that_fails(
    monkeypatch: pytest.MonkeyPatch, said: list[tuple[str, Any]]
) -> None:
    def fail(*_: Any) -> None:
        raise ConnectionError("no route to the server\nand much more")

    monkeypatch.setattr(Kept, "log", fail)
    notes = Notes()
    run(config(train={"epochs": 3, "track": ["kept"]}), data(), None, notes)
    stopped = [note for note in notes.notes if "tracking" in note]
    assert stopped == ["tracking by kept has stopped: no route to the server"]
    assert [what for what, _ in said] == ["begin"]


def test_a_tracker_without_its_package_is_refused_before_training() -> None:
    TRACKERS.names()
    TRACKERS.add("absent", "no_such_package:Tracker", summary="", package="it", extra="track")
    try:
        with pytest.raises(UnsupportedError, match=r"--track absent needs it: pip install 'mgae\["):
            run(config(train={"epochs": 1, "track": ["absent"]}), data())
    finally:
        del TRACKERS._entries["absent"]
    with pytest.raises(ConfigError, match=r"unknown tracker 'tensorbord'.*did you mean tensorb"):
        config(train={"track": ["tensorbord"]})


def test_tensorboard_has_the_history(tmp_path: Path) -> None:
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run(config(train={"epochs": 3, "track": ["tensorboard"]}), data(), tmp_path / "run")
    events = accumulators.EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    lines = (tmp_path / "run" / "history.jsonl").read_text().splitlines()
    losses = [json.loads(line)["loss"] for line in lines]
    assert [event.value for event in events.Scalars("loss")] == pytest.approx(losses)
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    (auc,) = events.Scalars("test/auc")
    assert (auc.value, auc.step) == (pytest.approx(metrics["test"]["auc"]["mean"]), 3)
    assert {"settings/text_summary", "verdict/text_summary"} <= set(events.Tags()["tensors"])


def test_mlflow_goes_on_with_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tracking = pytest.importorskip("mlflow.tracking")
    # The tables of a database take longer to make than all of this test.
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file:{tmp_path}/mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")

    class Stop(Observer):
        def on_epoch(self, record: EpochRecord) -> None:
            if record.epoch == 2:
                raise KeyboardInterrupt

    settings = config(train={"epochs": 3, "track": ["mlflow"], "checkpoint_seconds": 0})
    with pytest.raises(KeyboardInterrupt):
        run(settings, data(), tmp_path / "run", Stop())
    client = tracking.MlflowClient()
    experiment = client.get_experiment_by_name("mgae").experiment_id
    assert [one.info.status for one in client.search_runs([experiment])] == ["FAILED"]
    result = resume(tmp_path / "run")
    (only,) = client.search_runs([experiment])
    assert only.info.status == "FINISHED"
    assert only.data.params["encoder.hidden_channels"] == "8"
    assert only.data.metrics["test/auc"] == pytest.approx(result.test["auc"].mean)
    assert "test/hits_at_20" in only.data.metrics
    verdict = result.verdict
    assert verdict is not None and only.data.tags["mgae.verdict"] == verdict.text


def test_wandb_keeps_a_run_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    notes = Notes()
    run(config(train={"epochs": 2, "track": ["wandb"]}), data(), tmp_path / "run", notes)
    assert not [note for note in notes.notes if "tracking" in note]
    number = (tmp_path / "run" / "wandb.id").read_text().strip()
    (folder,) = (tmp_path / "run" / "wandb").glob("offline-run-*")
    assert folder.name.endswith(number)
    assert list(folder.glob("*.wandb"))


def test_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["train", "cora", "--track", "mlfow", "--out", str(tmp_path / "run")])
    assert end.value.code == 2
    assert "did you mean mlflow?" in capsys.readouterr().err
