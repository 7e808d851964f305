"""Count what the slow tests of reliability try; each writes its part of results/reliability.json.

``make test-slow`` sets MGAE_RECORD. A part that has passed on the same source is not run again, so
that a session that was broken off goes on where it stopped; `python -m tests.reliability` prints
the table of docs/reliability.md, ``check`` and ``update`` compare it or write it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from mgae.data.atomic import locked, write_json

ROOT = Path(__file__).parents[1]
FILE = ROOT / "results" / "reliability.json"
PAGE = ROOT / "docs" / "reliability.md"
_PLACE = re.compile(r"(<!-- reliability -->\n)(.*?)(<!-- end of reliability -->)", re.DOTALL)


def recording() -> bool:
    """Return whether figures are to be kept."""
    return bool(os.environ.get("MGAE_RECORD"))


@cache
def source() -> str:
    """Return the state of the package's source, by which a part knows that it has passed."""
    files = sorted((ROOT / "src").rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def stored() -> dict[str, dict[str, Any]]:
    """Return what is recorded, by part."""
    return dict(json.loads(FILE.read_text(encoding="utf-8"))) if FILE.exists() else {}


class Tally:
    """What one test has tried."""

    def __init__(self, part: str) -> None:
        self.part, self.started = part, time.monotonic()
        self.figures: Counter[str] = Counter()

    @property
    def passed(self) -> bool:
        """Whether the test has passed on this source already."""
        return recording() and stored().get(self.part, {}).get("source") == source()

    def add(self, name: str, count: int = 1) -> None:
        """Count what was tried."""
        self.figures[name] += count

    def measure(self, name: str, value: float) -> None:
        """Keep a measured figure."""
        self.figures[name] = round(value, 3)  # type: ignore[assignment]

    def write(self, more: bool = False) -> None:
        """Renew the test's part, if figures are kept at all; ``more`` adds to what is there."""
        if not recording() or not self.figures:
            return
        lock = Path(tempfile.gettempdir()) / f"mgae-reliability-{os.getuid()}.lock"
        with locked(lock):
            parts = stored()
            old = parts.get(self.part, {}) if more else {}
            figures = {**self.figures, "seconds": round(time.monotonic() - self.started)}
            summed = {name: value + old.get(name, 0) for name, value in figures.items()}
            parts[self.part] = {**summed, "source": source()}
            write_json(FILE, dict(sorted(parts.items())))
        self.figures.clear()
        self.started = time.monotonic()


# What the page says of each figure; times and ratios are of one part each.
ROWS = {
    "shim_kills": "processes ended by SIGKILL at a system call, then resumed to the same bits",
    "shim_faults": "system calls made to fail (full disk, I/O error, no permission, vanished)",
    "kills": "calls of Python at which a run was ended, then resumed to the same bits",
    "failed_calls": "calls of Python made to fail, then resumed to the same bits",
    "machine_steps": "steps of the state machine: train, fail, kill, resume, evaluate, serve",
    "flipped_bits": "flipped bits in run directories, each refused",
    "damaged_directories": "damaged run directories without checksums, no traceback",
    "fuzzed_files": "fuzzed files of every format",
    "fuzzed_options": "fuzzed files with options for columns, times, types, sides and negatives",
    "fuzzed_settings": "fuzzed settings and texts of `--set`",
    "fuzzed_toml": "fuzzed configuration files",
    "fuzzed_service": "fuzzed requests to the service",
    "fuzzed_runs": "fuzzed files of a run directory",
    "leak_checks": "trainings compared with one whose graph never had the held-out edges",
    "numeric_cases": "odd graphs and scales, each with a method",
    "numeric_refusals": "of those refused in one line",
    "requests": "requests of 64 clients, no error",
    "request_median_ms": "median answer, ms",
    "request_p99_ms": "99th percentile of answers, ms",
    "server_memory_growth": "memory of the service at the end over that after a quarter",
    "restart_requests": "requests while one service took over from another, none refused",
    "proxy_requests": "requests by TLS through nginx, no error",
    "schema_cases": "requests made from the OpenAPI description, all checks",
}


def table() -> str:
    """Return the figures as a Markdown table."""
    sums: Counter[str] = Counter()
    for figures in stored().values():
        sums.update({name: value for name, value in figures.items() if name in ROWS})
    rows = [f"| {text} | {sums[name]:,} |" for name, text in ROWS.items() if name in sums]
    return "\n".join(["| What was tried | Figure |", "|---|--:|", *rows])


def page(text: str) -> str:
    """Return the page with the table of the figures in its place."""
    return _PLACE.sub(lambda match: f"{match[1]}\n{table()}\n\n{match[3]}", text)


def main(action: str) -> int:
    """Return the exit code: 1 if the page has other figures."""
    text = PAGE.read_text(encoding="utf-8")
    if action == "update":
        PAGE.write_text(page(text), encoding="utf-8")
    elif page(text) != text:
        sys.stderr.write(f"{PAGE} is not what {FILE} has: run make results-docs\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:] or ["check"]))
