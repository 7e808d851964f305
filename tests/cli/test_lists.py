from __future__ import annotations

import json

import pytest

from mgae.cli.app import main
from mgae.registry import DATASETS, METHODS
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
    assert {row["what"] for row in rows} == {"method", "mask", "encoder", "decoder", "loss"}


def test_without_arguments_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert call([]) in (0, 2)
    assert "train" in "".join(capsys.readouterr())
