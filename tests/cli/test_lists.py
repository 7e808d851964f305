from __future__ import annotations

import json
import os

import pytest
import torch

from mgae.cli import doctor
from mgae.cli.app import main
from mgae.cli.printing import result_table
from mgae.registry import DATASETS, METHODS
from mgae.runs.config import RunConfig
from mgae.runs.results import RunResult, SeedResult
from mgae.version import __version__


def call(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    return int(stop.value.code or 0)


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["--version"]) == 0
    assert capsys.readouterr().out == f"mgae {__version__}\n"


def test_every_dataset_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["datasets"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in DATASETS.names())
    assert "2,708" in shown


def test_every_method_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["methods", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows if row["what"] == "method"] == METHODS.names()
    parts = {"mask", "encoder", "decoder", "loss"}
    assert {row["what"] for row in rows} == {"method", "tracker", *parts}


def test_every_setting_is_listed_with_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["settings", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    listed = {row["name"] for row in rows}
    config = RunConfig(graph="my.csv").model_dump()
    for section in ("input", "features", "split", "train", "evaluation", "mask", "encoder"):
        assert {f"{section}.{name}" for name in config[section] if name != "module"} <= listed
    (heads,) = (row for row in rows if row["name"] == "encoder.heads")
    assert heads["default"] == "4" and heads["kinds"] == ["gat"]


def test_one_section_and_a_wrong_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["settings", "mask"]) == 0
    shown = capsys.readouterr().out
    assert "mask.ratio = 0.7\n    share ω of the edges that is hidden; a number in [0, 1)" in shown
    assert "train." not in shown
    assert call(["settings", "maks"]) == 2
    assert "did you mean mask?" in capsys.readouterr().err


@pytest.mark.parametrize("least, code", [(50.0, 0), (100.0, 1)])
def test_the_doctor_trains(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, least: float, code: int
) -> None:
    monkeypatch.setattr(doctor, "_LEAST_AUC", least)
    assert call(["doctor", "--json"]) == code
    rows = {row["what"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["self-test"]["ok"] is (code == 0)
    assert torch.__version__ in rows["versions"]["value"]


def test_without_arguments_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for arguments in ([], ["-h"], ["--help"]):
        assert call(arguments) == 0
        texts.append(capsys.readouterr().out)
    assert "[OPTIONS] COMMAND [ARGS]..." in texts[0] and "recommend" in texts[0]
    assert len({text.strip() for text in texts}) == 1
    assert call(["train", "-h"]) == 0
    assert "[default: cora]" in capsys.readouterr().out


def shown_columns(**settings: object) -> list[str]:
    config = RunConfig(**settings)
    names = ["auc", "ap", "mrr", *(f"hits@{k}" for k in config.evaluation.hits)]
    figures = dict.fromkeys(names if config.task == "links" else ["accuracy", "macro_f1"], 50.0)
    seed = SeedResult(0, figures, {}, {}, epochs=1, best_epoch=1, seconds=1.0)
    table = result_table(RunResult(config, (seed,)), None)
    return [str(column.header) for column in table.columns][1:]


def test_the_table_shows_what_the_protocol_asks_for() -> None:
    assert shown_columns() == ["AUC", "AP"]
    assert shown_columns(graph="ogbl-ddi") == ["hits@20", "hits@30"]
    assert shown_columns(protocol="strict")[:3] == ["AUC", "AP", "MRR"]
    assert shown_columns(task="nodes") == ["accuracy", "macro f1"]


@pytest.mark.parametrize(("given", "taken"), [(None, "passive"), ("active", "active")])
def test_waiting_threads_sleep_unless_told(
    given: str | None, taken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    if given is not None:
        monkeypatch.setenv("OMP_WAIT_POLICY", given)
    assert call(["--version"]) == 0
    assert os.environ["OMP_WAIT_POLICY"] == taken
