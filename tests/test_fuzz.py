"""Random damage to every kind of input meets only our own errors, in bounded memory and time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reliability import Tally

# Together a million inputs in `make test-slow`; the seed differs there from that of every day.
SLOW = {"files": 60_000, "settings": 760_000, "toml": 150_000, "service": 30_000}
QUICK = {"files": 150, "settings": 1500, "toml": 300, "service": 60}
CASES = [
    *((target, count, 1) for target, count in QUICK.items()),
    *(pytest.param(target, count, 2, marks=pytest.mark.slow) for target, count in SLOW.items()),
]


@pytest.mark.parametrize(("target", "count", "seed"), CASES)
def test_only_our_own_errors(target: str, count: int, seed: int, tally: Tally) -> None:
    count = int(count * float(os.environ.get("MGAE_FUZZ", "1")))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.fuzzing", target, str(count), str(seed)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    tally.add(f"fuzzed_{target}", json.loads(done.stdout)["inputs"])
