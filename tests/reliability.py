"""Count what the tests of reliability try; ``make test-slow`` keeps the sums in results/."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

FILE = Path(__file__).parents[1] / "results" / "reliability.json"


class Tally:
    """Sums and extremes by name, over all tests of a session."""

    def __init__(self) -> None:
        self.sums: Counter[str] = Counter()
        self.figures: dict[str, float] = {}

    def add(self, name: str, count: int = 1) -> None:
        """Count what was tried."""
        self.sums[name] += count

    def measure(self, name: str, value: float) -> None:
        """Keep a measured figure."""
        self.figures[name] = round(value, 3)

    def write(self) -> None:
        """Renew the figures of this session's tests, if MGAE_RECORD asks for it."""
        if not os.environ.get("MGAE_RECORD") or not (self.sums or self.figures):
            return
        stored = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
        stored |= {**self.sums, **self.figures}
        FILE.write_text(json.dumps(stored, indent=2, sort_keys=True) + "\n", encoding="utf-8")
