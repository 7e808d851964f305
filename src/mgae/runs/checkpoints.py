"""Checkpoints in files: a training killed at any moment goes on to the same numbers."""

from __future__ import annotations

import json
import time
from pathlib import Path

from mgae.core.errors import RunDirectoryError
from mgae.core.training.checkpoint import Snapshot
from mgae.data.atomic import read_tensors, write_json, write_tensors


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
            facts = json.loads(latest.read_text(encoding="utf-8"))
            return Snapshot(read_tensors(self.folder / facts.pop("tensors")), facts)
        except (OSError, ValueError, KeyError) as error:
            raise RunDirectoryError(
                f"the checkpoint in {self.folder} is damaged: {error}"
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
        self.folder.mkdir(parents=True, exist_ok=True)
        name = f"epoch-{len(snapshot.facts['history']):06d}.safetensors"
        write_tensors(self.folder / name, snapshot.tensors)
        write_json(self.folder / "latest.json", {**snapshot.facts, "tensors": name})
        for old in self.folder.glob("epoch-*.safetensors"):
            if old.name != name:
                old.unlink()
        self._written_at = time.monotonic()
