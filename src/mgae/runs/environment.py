"""What must be known of a machine to get the same numbers."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil
import torch
from pydantic import TypeAdapter

from mgae.core.ops.backend import multiplies_bfloat16

_PACKAGES = (
    "mgae",
    "torch",
    "torch_geometric",
    "numpy",
    "scipy",
    "scikit-learn",
    "scikit-learn-intelex",
)

_LAYERS = ("core", "data", "evaluation", "runs")


@dataclass
class _Environment:
    """What readers rely on; every version so far has written it."""

    versions: dict[str, str | None]
    processor: str
    cores: int
    threads: int
    seeds: list[int]
    seconds: list[float]


_CHECK = TypeAdapter(_Environment)


def checked_environment(content: Any) -> dict[str, Any]:
    """Return what `environment` gave, read back from a file.

    Raises:
        ValueError: if something is missing or of another type.
    """
    _CHECK.validate_python(content)
    return dict(content)


def environment(seeds: list[int], seconds: list[float], device: str = "cpu") -> dict[str, Any]:
    """Return versions, commit and checksum of the code, hardware, seeds and seconds."""
    return {
        "versions": {"python": platform.python_version(), **dict(map(_version, _PACKAGES))},
        "commit": _commit(),
        "code": code_checksum(),
        "platform": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "device": device,
        "bfloat16": multiplies_bfloat16("cpu"),
        "threads": torch.get_num_threads(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "seeds": seeds,
        "seconds": [round(value, 3) for value in seconds],
    }


@cache
def code_checksum() -> str:
    """Return a short checksum of the code that figures depend on, of a checkout or not.

    These are the layers below the tables: methods, data, evaluation and runs. What experiment files
    say is left out, since settings are stored by themselves.
    """
    package, digest = Path(__file__).parents[1], hashlib.sha256()
    for layer in _LAYERS:
        for file in sorted((package / layer).rglob("*.py")):
            digest.update(f"{file.relative_to(package).as_posix()}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def _version(package: str) -> tuple[str, str | None]:
    try:
        return package, version(package)
    except PackageNotFoundError:
        return package, None


def _commit() -> str | None:
    """Return the commit of the source, if this is a checkout of it."""
    source = Path(__file__).parent
    if not (source.parents[2] / ".git").exists():
        return None
    try:
        command = ["git", "-C", str(source), "rev-parse", "HEAD"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
