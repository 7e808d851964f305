"""Folders to write to."""

from __future__ import annotations

from pathlib import Path

import pytest

from mgae.core.errors import RunDirectoryError
from mgae.runs.folders import new_folder


def test_a_new_folder_is_nobody_elses_and_goes_if_it_stays_empty(tmp_path: Path) -> None:
    runs = tmp_path / "some" / "runs"
    with new_folder(runs, "cora") as first, new_folder(runs, "cora") as second:
        assert (first.name, second.name) == ("cora", "cora-2")
        (second / "config.toml").touch()
    assert [path.name for path in runs.iterdir()] == ["cora-2"]
    with new_folder(runs, "cora") as first:
        assert first.name == "cora"


def test_a_new_folder_that_stays_empty_takes_what_was_made_above_it_along(tmp_path: Path) -> None:
    with pytest.raises(ValueError), new_folder(tmp_path / "some" / "runs", "cora") as path:
        path.rmdir()  # as a run does whose settings the graph proves wrong
        raise ValueError
    assert not list(tmp_path.iterdir())


def test_a_new_folder_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "runs").touch()
    with (
        pytest.raises(RunDirectoryError, match="runs is a file"),
        new_folder(tmp_path / "runs", "cora"),
    ):
        pass
