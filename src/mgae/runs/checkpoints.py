"""Checkpoints in files: a training killed at any moment goes on to the same numbers."""

from __future__ import annotations

import hashlib
import json
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from mgae.core.errors import RunDirectoryError
from mgae.core.training.checkpoint import Snapshot
from mgae.core.training.state import EpochRecord
from mgae.data.atomic import read_tensors, write_json, write_tensors
from mgae.data.damage import DAMAGE, reason
from mgae.runs.manifest import file_sum


@dataclass(frozen=True)
class _Latest:
    """What ``latest.json`` must have; the rest is for the training loop to check."""

    history: list[EpochRecord]
    best_epoch: int
    tensors: Annotated[str, Field(pattern=r"^epoch-\d+\.safetensors$")]
    best_score: float | None = None
    seconds: float = 0.0


_FORM = TypeAdapter(_Latest)


class Checkpoints:
    """The newest checkpoint in a folder.

    ``latest.json`` names the tensors' file and is replaced last, so that at every moment it
    stands beside a whole one. A checkpoint is written unless the last one is younger than
    ``every_seconds``.
    """

    def __init__(self, folder: Path, every_seconds: float = 60.0) -> None:
        self.folder, self.every_seconds = folder, every_seconds
        self._kept: Snapshot | None = None
        self._written_at = time.monotonic()

    def newest(self) -> Snapshot | None:
        """Return the last snapshot written, or None."""
        latest = self.folder / "latest.json"
        if not latest.exists():
            return None
        try:
            facts = dict(json.loads(latest.read_text(encoding="utf-8")))
            tensors = self.folder / _FORM.validate_python(facts).tensors
            own, expected = facts.pop("own", None), facts.pop("sha256", None)
            if own is not None and own != _own_sum({**facts, "sha256": expected}):
                raise ValueError("the checksum of latest.json differs")
            if expected is not None and file_sum(tensors) != expected:
                raise ValueError(f"the checksum of {tensors.name} differs")
            facts.pop("tensors")
            return Snapshot(read_tensors(tensors), facts)
        except (*DAMAGE, RunDirectoryError) as error:
            raise RunDirectoryError(
                f"the checkpoint in {self.folder} is damaged: {reason(error)}; restore it from a "
                "copy, or remove that folder to train from the start"
            ) from None

    def keep(self, snapshot: Snapshot) -> None:
        """Remember a snapshot, and write it if it is time to."""
        self._kept = snapshot
        if time.monotonic() - self._written_at >= self.every_seconds:
            self.write_kept()

    def write_kept(self) -> None:
        """Write the last snapshot remembered, unless it is written already."""
        if self._kept is not None:
            self.write(self._kept)
            self._kept = None

    def write(self, snapshot: Snapshot) -> None:
        """Write now, atomically; the one before is removed afterwards."""
        self.folder.mkdir(exist_ok=True)
        name = f"epoch-{len(snapshot.facts['history']):06d}.safetensors"
        write_tensors(self.folder / name, snapshot.tensors)
        facts = {**snapshot.facts, "tensors": name, "sha256": file_sum(self.folder / name)}
        write_json(self.folder / "latest.json", {**facts, "own": _own_sum(facts)})
        for old in self.folder.glob("epoch-*.safetensors"):
            if old.name != name:
                with suppress(OSError):  # it takes room, and harms nothing
                    old.unlink()
        self._written_at = time.monotonic()


def _own_sum(facts: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
