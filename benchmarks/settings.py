"""What the serving benchmarks train with."""

from __future__ import annotations

from typing import Any

RANKED: dict[str, Any] = {}
