"""Times as people write them."""

from __future__ import annotations

import re

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    """Return the seconds of a time such as ``90``, ``90s``, ``10m`` or ``1.5h``.

    >>> seconds("10m"), seconds("1.5h")
    (600.0, 5400.0)

    Raises:
        ValueError: if it is no time.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip().lower())
    if match is None or not float(match[1]):
        raise ValueError(f"must be a time such as 90s, 10m or 1.5h, got {text!r}")
    return float(match[1]) * _UNITS[match[2]]
