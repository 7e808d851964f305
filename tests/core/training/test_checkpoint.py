from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mgae.core.errors import RunDirectoryError
from mgae.core.methods.base import Method, build_method
from mgae.core.seeding import Generators
from mgae.core.training import Checkpoints, EpochRecord, Fit, train
from mgae.core.training.checkpoint import Snapshot
from mgae.runs.config import RunConfig
from tests.conftest import toy_graph

CONFIG = RunConfig(
    encoder={"hidden_channels": 8, "norm": "batch"},
    decoder={"hidden_channels": 8},
    train={"epochs": 6, "step_size": 10, "checkpoint_seconds": 0.0},
)


def fresh() -> tuple[Method, Generators]:
    generators = Generators(0)
    return build_method(CONFIG, toy_graph(), generators["init"]), generators


def fit(folder: Path, stop_after: int | None = None) -> tuple[Method, Fit]:
    method, generators = fresh()

    def stop(record: EpochRecord) -> None:
        if record.epoch == stop_after:
            raise KeyboardInterrupt

    def validate() -> float:
        return float(sum(weight.detach().sum() for weight in method.parameters()))

    checkpoints = Checkpoints(folder)
    return method, train(method, toy_graph(), CONFIG.train, generators, validate, checkpoints, stop)


@pytest.mark.parametrize("stop_after", [1, 3, 6])
def test_going_on_gives_the_same_bits(tmp_path: Path, stop_after: int) -> None:
    whole, whole_fit = fit(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path / "broken", stop_after)
    resumed, resumed_fit = fit(tmp_path / "broken")
    assert resumed_fit == whole_fit
    # Broken off while it is told of epoch 1, nothing is kept and all is run again.
    assert whole_fit.seconds_before == 0.0
    assert (resumed_fit.seconds_before > 0.0) == (stop_after > 1)
    for name, weight in whole.state_dict().items():
        assert torch.equal(weight, resumed.state_dict()[name]), name


def test_an_interruption_leaves_the_last_whole_epoch(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path, stop_after=3)
    newest = Checkpoints(tmp_path).newest()
    assert newest is not None
    # Told of epoch 3 before its snapshot was taken: that epoch is run again.
    assert len(newest.facts["history"]) == 2


def test_a_finished_training_is_not_run_again(tmp_path: Path) -> None:
    _, first = fit(tmp_path)
    _, again = fit(tmp_path)
    assert again == first


def test_only_the_newest_is_kept(tmp_path: Path) -> None:
    fit(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "epoch-000006.safetensors",
        "latest.json",
    ]


def test_the_interval_is_kept(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    snapshot = Snapshot({"a/b": torch.ones(1)}, {"history": [], "best_epoch": 0})
    checkpoints.keep(snapshot, every_seconds=3600)
    assert checkpoints.newest() is None
    checkpoints.keep(snapshot, every_seconds=0)
    newest = checkpoints.newest()
    assert newest is not None
    assert newest.part("a")["b"].item() == 1.0


def test_what_a_kill_leaves_half_written_is_not_read(tmp_path: Path) -> None:
    _, whole = fit(tmp_path)
    (tmp_path / "epoch-000099.safetensors").write_bytes(b"half")
    (tmp_path / ".latest.json.partial").write_text("{")
    assert fit(tmp_path)[1] == whole


@pytest.mark.parametrize("text", ["{", '{"history": []}', '{"tensors": "gone.safetensors"}'])
def test_damage_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "latest.json").write_text(text)
    with pytest.raises(RunDirectoryError, match="is damaged"):
        Checkpoints(tmp_path).newest()
