"""Killed at any system call, or one that fails: the run ends in the same bits or in one line.

A preloaded shim sees the calls of every library, also those of Rust and Arrow; a kill is SIGKILL.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reliability import Tally

HERE = Path(__file__).parent
# The step between two calls: a kill is tried at every one. Failures at every one are hours.
CASES = {0: 1, errno.ENOSPC: 4, errno.EIO: 12, errno.EACCES: 12, errno.ENOENT: 12}


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("no C compiler for the shim, or not Linux")
    made = tmp_path_factory.mktemp("shim") / "faultshim.so"
    source = HERE / "faultshim.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", made, source, "-ldl"], check=True)
    return made


@pytest.mark.slow
@pytest.mark.parametrize(("error", "step"), CASES.items())
def test_every_system_call(shim: Path, error: int, step: int, tmp_path: Path, tally: Tally) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "tests.runs.faulting"]
    done = subprocess.run(
        [*command, str(error), str(tmp_path), str(1 + error % step), str(step)],
        cwd=HERE.parents[1],
        env={**os.environ, "LD_PRELOAD": str(shim), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    struck = json.loads(done.stdout)["struck"]
    assert struck > 100 / step
    tally.add("shim_faults" if error else "shim_kills", struck)
