"""A sweep goes on where it stopped, looks at validation edges alone, and refuses what is wrong."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from mgae.core.errors import ConfigError, RunDirectoryError
from mgae.runs import trial as trials
from mgae.runs.sweep import Space, sweep
from mgae.runs.sweep.space import Choice, Range

optuna = pytest.importorskip("optuna", reason="the extra sweep is not installed")
_QUICK = {
    "method": "gae",
    "train": {"epochs": 2, "patience": 2},
    "encoder": {"hidden_channels": 4},
}


@pytest.fixture
def space(tmp_path: Path) -> Space:
    file = tmp_path / "space.toml"
    file.write_text(
        "[train]\nlearning_rate = {low = 1e-3, high = 0.1, log = true}\n"
        "[encoder]\nnum_layers = {low = 1, high = 2}\ndropout = [0.0, 0.5]\n"
    )
    return Space.read(file)


def test_a_space_by_hand(space: Space) -> None:
    assert space.of == {
        "train.learning_rate": Range(1e-3, 0.1, log=True),
        "encoder.num_layers": Range(1, 2),
        "encoder.dropout": Choice((0.0, 0.5)),
    }
    inside = {"train": {"learning_rate": 0.01}, "encoder": {"num_layers": 2, "dropout": 0.5}}
    assert space.params_in(inside) == {
        "train.learning_rate": 0.01,
        "encoder.num_layers": 2,
        "encoder.dropout": 0.5,
    }
    assert space.params_in({**inside, "train": {"learning_rate": 1.0}}) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[train]\nlearning_rate = 3", "train.learning_rate must be a list"),
        ("[train]\nlearning_rate = {low = 1, hihg = 2}", "unknown key train.learning_rate.hihg"),
        ("[train]\nlearning_rate = {low = 2, high = 1}", "needs low < high"),
        ("[train]\nlearning_rate = {low = 0, high = 1, log = true}", "with log low > 0"),
        ("", "names no setting"),
        ("[train]\nlerning_rate = [1]", "unknown setting train.lerning_rate"),
        ("[train]\nlearning_rate = [0.01, -1]", "train.learning_rate must be a number in"),
    ],
)
def test_what_no_setting_admits_is_refused_with_its_path(tmp_path, text, message) -> None:
    file = tmp_path / "space.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message.replace("(", r"\(").replace("[", r"\[")):
        sweep("cora", Space.read(file), 1, tmp_path / "out", **_QUICK)
    assert not (tmp_path / "out").exists()


def test_goes_on_after_a_stop_and_never_measures_on_test_edges(
    tmp_path, space, monkeypatch
) -> None:
    measured = []
    real = trials.Trial._measured_links

    def watched(self, method, part):
        measured.append((part, self.split.test.size(1), self.split.test_negatives.size(1)))
        return real(self, method, part)

    monkeypatch.setattr(trials.Trial, "_measured_links", watched)
    out = tmp_path / "out"
    first = sweep("cora", space, 2, out, **_QUICK)
    study = optuna.load_study(study_name="sweep", storage=f"sqlite:///{out / 'study.db'}")
    study.ask()  # as a killed process leaves it
    again = sweep("cora", space, 5, out, **_QUICK)
    assert sum(again.trials.values()) == 5 and again.trials["failed"] == 1
    assert again.value >= first.value
    assert set(measured) == {("val", 0, 0)} and len(measured) == 4
    best = tomllib.loads((out / "best.toml").read_text())
    assert best["train"]["learning_rate"] == again.params["train.learning_rate"]
    assert best["train"]["epochs"] == 2 and (out / "importance.png").exists()
    assert len(json.loads((out / "sweep.json").read_text())["all"]) == 5
    with pytest.raises(RunDirectoryError, match="other settings"):
        sweep("cora", space, 5, out, **{**_QUICK, "seed": 1})
