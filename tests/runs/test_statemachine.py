"""Any order of training, faults, kills, resuming, measuring and serving ends in the same bits."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from mgae.core.errors import MGAEError
from mgae.runs.pipeline import evaluate, resume, run
from mgae.runs.rundirectory import RunDirectory
from mgae.serving import Predictor
from tests.conftest import toy_data
from tests.reliability import Tally
from tests.runs.test_damage import CONFIG
from tests.runs.test_faults import Killed, contents, failing

AGAIN = CONFIG.changed(train={**CONFIG.train.model_dump(), "final_fit": True})
ERRORS = [None, errno.ENOSPC, errno.EIO, errno.EACCES, errno.ENOENT]
KEPT = ("final.safetensors", "embeddings.parquet")


class Life(RuleBasedStateMachine):
    """A run directory among people, crashes and disks."""

    whole: dict[str, bytes]
    steps = 0

    @initialize()
    def begin(self) -> None:
        self.root = Path(tempfile.mkdtemp())
        self.folder = self.root / "run"

    def teardown(self) -> None:
        if hasattr(self, "root"):
            shutil.rmtree(self.root)

    def attempt(self, action: Callable[[], object], at: int, error: int | None) -> bool:
        """Do it with the n-th call struck (0: none); return whether it came to its end."""
        type(self).steps += 1
        with failing(at, error, self.folder):
            try:
                action()
            except Killed:
                assert at
                assert error is None
                return False
            except MGAEError as problem:
                assert "\n" not in str(problem)
                return False
        return True

    @rule(at=st.integers(0, 90), error=st.sampled_from(ERRORS))
    def train(self, at: int, error: int | None) -> None:
        known = (self.folder / "config.toml").exists()
        ended = self.attempt(lambda: run(AGAIN, toy_data(), self.folder), at, error)
        assert not (known and ended), "a second training took a folder that has a run"

    @rule(at=st.integers(0, 90), error=st.sampled_from(ERRORS))
    def go_on(self, at: int, error: int | None) -> None:
        known = (self.folder / "config.toml").exists()
        ended = self.attempt(lambda: resume(self.folder), at, error)
        assert ended <= known
        if known and not at:
            assert ended, "what is there cannot be resumed"

    @rule()
    def measure(self) -> None:
        ended = self.attempt(lambda: evaluate(self.folder), 0, None)
        assert ended == self.finished

    @rule()
    def serve(self) -> None:
        ended = self.attempt(lambda: Predictor.load(self.folder).neighbors(0), 0, None)
        assert ended == self.finished

    @rule()
    def vanish(self) -> None:
        if self.folder.exists():
            shutil.rmtree(self.folder)

    @property
    def finished(self) -> bool:
        known = (self.folder / "config.toml").exists()
        return known and RunDirectory.open(self.folder).finished

    @invariant()
    def a_result_is_the_right_one(self) -> None:
        if hasattr(self, "folder") and self.finished:
            assert everything(self.folder) == self.whole


def everything(folder: Path) -> dict[str, bytes]:
    return contents(folder) | {name: (folder / name).read_bytes() for name in KEPT}


@pytest.mark.parametrize(
    "examples", [4, pytest.param(150, marks=[pytest.mark.slow, pytest.mark.timeout(0)])]
)
def test_every_life_of_a_run_ends_in_the_same_bits(
    examples: int, tmp_path: Path, tally: Tally
) -> None:
    run(AGAIN, toy_data(), tmp_path / "whole")
    Life.whole, Life.steps = everything(tmp_path / "whole"), 0
    chosen = settings(
        max_examples=examples,
        stateful_step_count=8,
        deadline=None,
        derandomize=examples < 10,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Life, settings=chosen)
    tally.add("machine_steps", Life.steps)
