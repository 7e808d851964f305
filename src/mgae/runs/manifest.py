"""Checksums of a run directory's files: a flipped bit is refused, and never answers.

The manifest names the sum of each file as it was written. It is written before the file that
makes a directory count (``config.toml`` of a run, ``metrics.json`` of a finished one), and has the
sum of that one too: a kill between the two leaves a directory that is resumed, never a wrong sum.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from mgae.core.errors import RunDirectoryError
from mgae.data.atomic import write_json

NAME = "manifest.json"
# What is written once, before training; its sums are never taken again from files.
_FIRST = ("config.toml", "graph/")
_LATER = (
    "split.safetensors",
    "history.jsonl",
    "model.safetensors",
    "final.safetensors",
    "calibration.json",
    "embeddings.parquet",
    "environment.json",
    "updates.json",
)


class Manifest:
    """The sums of a directory's files, by their names.

    ``known`` is False for a directory of a version that wrote none.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known = (folder / NAME).exists()
        self.sums = _read(folder / NAME) if self.known else {}

    def verify(self, *names: str) -> None:
        """Check that files are as they were written, each in one pass.

        Raises:
            RunDirectoryError: if one differs, or is missing.
        """
        for name in names:
            if name in self.sums and file_sum(self.folder / name) != self.sums[name]:
                raise RunDirectoryError(
                    f"{self.folder / name} is damaged, or was changed after the run wrote it: "
                    "its checksum differs; restore it from a copy, or train again"
                )

    def verify_folder(self, prefix: str) -> None:
        """Check all files whose names begin with a prefix."""
        self.verify(*(name for name in self.sums if name.startswith(prefix)))


def begin(folder: Path, config: str) -> None:
    """Write the sums of a new run's graph, and of the configuration that follows as a file."""
    graph = [f"graph/{file.name}" for file in sorted((folder / "graph").iterdir())]
    _write(folder, {**_sums(folder, graph), "config.toml": _text_sum(config)})


def finish(folder: Path, metrics: str) -> None:
    """Add the sums of all that a run has written, and of the metrics that follow as a file."""
    try:
        first = {k: v for k, v in Manifest(folder).sums.items() if k.startswith(_FIRST)}
    except RunDirectoryError:
        first = {}  # its config was read without it, or could not have come here
    present = [name for name in _LATER if (folder / name).exists()]
    _write(folder, {**first, **_sums(folder, present), "metrics.json": _text_sum(metrics)})


def renew(folder: Path) -> None:
    """Write the sums of a finished run's files anew, after all of them were written."""
    begin(folder, (folder / "config.toml").read_bytes().decode())
    finish(folder, (folder / "metrics.json").read_bytes().decode())


def file_sum(path: Path) -> str:
    """Return the SHA-256 of a file; one that has not changed is read once.

    Raises:
        RunDirectoryError: if it cannot be read.
    """
    try:
        state = path.stat()
        return _cached_sum(path, state.st_size, state.st_mtime_ns, state.st_ino)
    except OSError as error:
        raise RunDirectoryError(f"cannot read {path}: {error.strerror or error}") from None


@lru_cache(maxsize=4096)
def _cached_sum(path: Path, size: int, time: int, number: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _text_sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _sums(folder: Path, names: Iterable[str]) -> dict[str, str]:
    return {name: file_sum(folder / name) for name in names}


def _write(folder: Path, sums: dict[str, str]) -> None:
    own = _text_sum(json.dumps(sums, sort_keys=True))
    write_json(folder / NAME, {"format": 1, "sha256": sums, "own": own})


def _read(path: Path) -> dict[str, str]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        sums = dict(content["sha256"])
        if content["own"] != _text_sum(json.dumps(sums, sort_keys=True)):
            raise ValueError("its own checksum differs")
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise RunDirectoryError(
            f"{path} is damaged: {error}; restore it from a copy, or remove it to read the run "
            "without checking its files"
        ) from None
    return sums
