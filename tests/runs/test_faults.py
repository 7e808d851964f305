"""A run whose n-th system call fails, or never returns, ends in the same bits or in one line."""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from safetensors import SafetensorError

from mgae.core.errors import MGAEError, RunDirectoryError
from mgae.data import atomic
from mgae.runs.config import RunConfig
from mgae.runs.pipeline import evaluate, resume, run
from mgae.runs.rundirectory import RunDirectory
from tests.conftest import toy_data
from tests.reliability import Tally
from tests.runs.test_damage import CONFIG

# Written once a run goes well, and the same whatever went wrong before.
KEPT = ("config.toml", "split.safetensors", "model.safetensors", "metrics.json", "history.jsonl")


class Killed(BaseException):
    """The process is gone: from here on it makes no system call."""


class Faults:
    """Count the system calls that change a disk, and let the n-th fail.

    ``error`` is an errno; None stands for a kill, after which every call fails.
    """

    def __init__(self, patch: pytest.MonkeyPatch, at: int, error: int | None, root: Path) -> None:
        self.count, self.at, self.error, self.root = 0, at, error, root
        for name in ("fsync", "replace", "mkdir", "unlink", "rmdir", "chmod"):
            patch.setattr(os, name, self.wrapped(getattr(os, name)))
        patch.setattr(atomic, "save_file", self.wrapped(atomic.save_file, tensors=True))
        patch.setattr(atomic.pq, "write_table", self.wrapped(atomic.pq.write_table))
        patch.setattr(Path, "write_text", self.wrapped(Path.write_text))
        patch.setattr(Path, "touch", self.wrapped(Path.touch))
        patch.setattr("mgae.runs.seeds.write_record", self.wrapped(_write_record()))

    def wrapped(self, call: Callable[..., Any], tensors: bool = False) -> Callable[..., Any]:
        def counted(*args: Any, **named: Any) -> Any:
            self.count += 1
            if self.error is None and self.count >= self.at > 0:
                raise Killed
            if self.error is not None and self.count == self.at:
                text = os.strerror(self.error)
                if tensors:
                    raise SafetensorError(f"I/O error: {text} (os error {self.error})")
                raise OSError(self.error, text)
            return call(*args, **named)

        return counted


def _write_record() -> Callable[..., Any]:
    from mgae.runs.rundirectory import write_record

    return write_record


@contextmanager
def failing(at: int, error: int | None, root: Path) -> Iterator[Faults]:
    with pytest.MonkeyPatch.context() as patch:
        yield Faults(patch, at, error, root)


def finish(folder: Path, config: RunConfig = CONFIG) -> None:
    """Do what the message says: resume, or start again."""
    try:
        resume(folder)
    except RunDirectoryError as error:
        assert "has no config.toml" in str(error) or "there is no such folder" in str(error)
        run(config, toy_data(), folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in KEPT}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole") / "run"
    run(CONFIG, toy_data(), folder)
    return contents(folder)


SLOW = [None, errno.ENOSPC, errno.EIO, errno.EACCES, errno.ENOENT]
CASES = [
    (None, 6),
    (errno.ENOSPC, 7),
    *(pytest.param(error, 1, marks=pytest.mark.slow) for error in SLOW),
]


@pytest.mark.parametrize(("error", "step"), CASES)
def test_every_failed_call_ends_in_the_same_bits(
    tmp_path: Path, whole: dict[str, bytes], error: int | None, step: int, tally: Tally
) -> None:
    for at in itertools.count(1, step):
        folder = tmp_path / f"run-{at}"
        with failing(at, error, folder) as faults:
            try:
                run(CONFIG, toy_data(), folder)
            except Killed:
                assert error is None
            except MGAEError as problem:
                assert "\n" not in str(problem)
                assert os.strerror(error or 0) in str(problem), problem
        if faults.count < at:
            break
        tally.add("kills" if error is None else "failed_calls")
        finish(folder)
        assert contents(folder) == whole, at
        evaluate(folder)
        assert not list(folder.rglob("*.partial")), at
        shutil.rmtree(folder)
    assert at > 20


def test_a_full_disk_is_one_line_that_says_how_to_go_on(tmp_path: Path) -> None:
    with failing(0, errno.ENOSPC, tmp_path) as faults:
        run(CONFIG, toy_data(), tmp_path / "count")
        calls = faults.count
    with failing(calls - 5, errno.ENOSPC, tmp_path), pytest.raises(RunDirectoryError) as caught:
        run(CONFIG, toy_data(), tmp_path / "run")
    assert "No space left on device" in str(caught.value)
    assert f"mgae train --resume {tmp_path / 'run'}" in str(caught.value)


def test_a_run_killed_before_its_configuration_starts_again(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    (folder / "graph").mkdir(parents=True)
    (folder / "graph" / "tensors.safetensors").write_bytes(b"half")
    (folder / "graph" / ".tmpaB3dE9").write_bytes(b"what safetensors had begun")
    (folder / ".lock").touch()
    with pytest.raises(RunDirectoryError, match="start it again with --out"):
        resume(folder)
    run(CONFIG, toy_data(), folder)
    assert RunDirectory.open(folder).finished


def test_what_a_kill_left_of_tensors_goes_with_the_next_writer(tmp_path: Path) -> None:
    run(CONFIG, toy_data(), tmp_path / "run")
    left = tmp_path / "run" / ".tmpaB3dE9"
    left.touch()
    resume(tmp_path / "run")
    assert not left.exists()


def test_a_folder_of_the_users_own_is_never_taken_for_remains(tmp_path: Path) -> None:
    (tmp_path / "graph").mkdir()
    (tmp_path / "graph" / "tensors.safetensors").touch()
    (tmp_path / "graph" / "thesis.tex").touch()
    with pytest.raises(RunDirectoryError, match="is not empty"):
        run(CONFIG, toy_data(), tmp_path)
    assert (tmp_path / "graph" / "thesis.tex").exists()


def test_a_directory_that_vanishes_is_one_line(tmp_path: Path) -> None:
    from mgae.runs.pipeline import Observer

    class Vanish(Observer):
        def on_epoch(self, record: Any) -> None:
            shutil.rmtree(tmp_path / "run", ignore_errors=True)

    with pytest.raises(MGAEError, match="cannot write to"):
        run(CONFIG, toy_data(), tmp_path / "run", Vanish())


def test_all_files_of_a_run_have_one_mode(tmp_path: Path) -> None:
    run(CONFIG, toy_data(), tmp_path / "run")
    files = [file for file in (tmp_path / "run").rglob("*") if file.is_file()]
    (tmp_path / "own").touch()
    assert {file.stat().st_mode for file in files} == {(tmp_path / "own").stat().st_mode}
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["format"] == 1
