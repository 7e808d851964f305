"""Every method and part on a second device, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_nothing_lies_on_the_wrong_device() -> None:
    """Autograd counts a process's devices once, before any test could add one."""
    tests = ["-p", "no:cacheprovider", "tests/placement/everywhere.py"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", *tests],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
