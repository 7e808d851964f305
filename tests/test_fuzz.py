"""Random damage to every kind of input meets only our own errors, in bounded memory and time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reliability import Tally, recording, stored

# Together a million inputs in `make test-slow`, in pieces with a seed each: a session that was
# broken off goes on with the next piece, and one that finds all done tries one piece more.
SLOW = {
    "files": 120_000,
    "options": 60_000,
    "runs": 40_000,
    "service": 60_000,
    "settings": 570_000,
    "toml": 150_000,
}
QUICK = {
    "files": 150,
    "options": 100,
    "runs": 40,
    "service": 60,
    "settings": 1500,
    "toml": 300,
}
PIECES = {"settings": 30_000, "toml": 10_000}  # others: 2,000


def fuzz(target: str, count: int, seed: int) -> int:
    """Try inputs in a process of their own, with bounded memory; return how many."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.fuzzing", target, str(count), str(seed)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"seed {seed}: {done.stderr[-4000:]}"
    return int(json.loads(done.stdout)["inputs"])


@pytest.mark.parametrize(("target", "count"), QUICK.items())
def test_only_our_own_errors(target: str, count: int) -> None:
    assert fuzz(target, count, 1) == count


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize(("target", "goal"), SLOW.items())
def test_only_our_own_errors_in_a_million_inputs(target: str, goal: int) -> None:
    tally = Tally(f"test_fuzz.py::{target}")
    while True:
        before = stored().get(tally.part, {})
        tally.add(
            f"fuzzed_{target}", fuzz(target, PIECES.get(target, 2000), 2 + before.get("pieces", 0))
        )
        tally.add("pieces")
        tally.write(more=True)
        if not recording() or stored()[tally.part][f"fuzzed_{target}"] >= goal:
            break
