from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mgae.core.decoders import CrossCorrelation
from mgae.core.encoders import GCN
from mgae.core.errors import RunDirectoryError
from mgae.core.losses import BCE
from mgae.core.masks import Undirected
from mgae.core.methods import GraphInfoClust, MaskedGraphAutoencoder, Method
from mgae.core.seeding import Generators, drawn_from
from mgae.core.training import EpochRecord, Fit, Snapshot, fit
from mgae.runs.checkpoints import Checkpoints
from tests.conftest import toy_graph


def trained(folder: Path, stop_after: int | None = None) -> tuple[Method, Fit]:
    """Six epochs of several steps, with batch norm; a checkpoint after each."""
    generators = Generators(0)
    with drawn_from(generators["init"]):
        method = MaskedGraphAutoencoder(
            Undirected(0.7),
            GCN(6, 8, norm="batch"),
            CrossCorrelation(8, hidden_channels=8),
            BCE(),
            step_size=10,
        )

    def stop(record: EpochRecord) -> None:
        if record.epoch == stop_after:
            raise KeyboardInterrupt

    def validate() -> float:
        return float(sum(weight.detach().sum() for weight in method.parameters()))

    result = fit(
        method,
        toy_graph(),
        epochs=6,
        validate=validate,
        generators=generators,
        checkpoints=Checkpoints(folder, every_seconds=0.0),
        on_epoch=stop,
    )
    return method, result


@pytest.mark.parametrize("stop_after", [1, 3, 6])
def test_going_on_gives_the_same_bits(tmp_path: Path, stop_after: int) -> None:
    whole, whole_fit = trained(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "broken", stop_after)
    resumed, resumed_fit = trained(tmp_path / "broken")
    assert resumed_fit == whole_fit
    # Interrupted in the report of epoch 1, nothing is kept and all is run again.
    assert whole_fit.seconds_before == 0.0
    assert (resumed_fit.seconds_before > 0.0) == (stop_after > 1)
    for name, weight in whole.state_dict().items():
        assert torch.equal(weight, resumed.state_dict()[name]), name


def test_an_interruption_leaves_the_last_whole_epoch(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path, stop_after=3)
    newest = Checkpoints(tmp_path).newest()
    assert newest is not None
    # Epoch 3 was reported before its snapshot was taken: that epoch is run again.
    assert len(newest.facts["history"]) == 2


def test_a_finished_training_is_not_run_again(tmp_path: Path) -> None:
    _, first = trained(tmp_path)
    _, again = trained(tmp_path)
    assert again == first


def test_only_the_newest_is_kept(tmp_path: Path) -> None:
    trained(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "epoch-000006.safetensors",
        "latest.json",
    ]


def test_the_interval_is_kept(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, every_seconds=3600)
    snapshot = Snapshot({"a/b": torch.ones(1)}, {"history": [], "best_epoch": 0})
    checkpoints.keep(snapshot)
    assert checkpoints.newest() is None
    checkpoints.every_seconds = 0
    checkpoints.keep(snapshot)
    newest = checkpoints.newest()
    assert newest is not None
    assert newest.part("a")["b"].item() == 1.0


def test_what_a_kill_leaves_half_written_is_not_read(tmp_path: Path) -> None:
    _, whole = trained(tmp_path)
    (tmp_path / "epoch-000099.safetensors").write_bytes(b"half")
    (tmp_path / ".latest.json.partial").write_text("{")
    assert trained(tmp_path)[1] == whole


@pytest.mark.parametrize("text", ["{", '{"history": []}', '{"tensors": "gone.safetensors"}'])
def test_damage_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "latest.json").write_text(text)
    with pytest.raises(RunDirectoryError, match="is damaged"):
        Checkpoints(tmp_path).newest()


def test_the_loss_picks_the_same_epoch_after_a_break(tmp_path: Path) -> None:
    def fit_for(epochs: int, folder: Path) -> Fit:
        generators = Generators(0)
        with drawn_from(generators["init"]):
            method = GraphInfoClust(GCN(6, 4), num_nodes=20)
        return fit(
            method,
            toy_graph(),
            epochs=epochs,
            generators=generators,
            checkpoints=Checkpoints(folder),
        )

    whole = fit_for(6, tmp_path / "whole")
    fit_for(3, tmp_path / "broken")
    assert fit_for(6, tmp_path / "broken") == whole
