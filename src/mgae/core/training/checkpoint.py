"""Checkpoints: a training killed at any moment goes on to the same numbers."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from mgae.core.errors import RunDirectoryError
from mgae.data.atomic import read_tensors, write_json, write_tensors


@dataclass(frozen=True)
class Snapshot:
    """The state of a training between two epochs: tensors under ``part/name``, and plain facts."""

    tensors: dict[str, Tensor]
    facts: dict[str, Any]

    def part(self, prefix: str) -> dict[str, Tensor]:
        """The tensors of one part, under their own names."""
        start = prefix + "/"
        return {k.removeprefix(start): v for k, v in self.tensors.items() if k.startswith(start)}


class Checkpoints:
    """The newest checkpoint in a folder.

    ``latest.json`` names the tensors' file and is replaced last, so that at every moment it
    stands beside a whole one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kept: Snapshot | None = None
        self._written_at = time.monotonic()

    def newest(self) -> Snapshot | None:
        """The last snapshot written, or None."""
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

    def keep(self, snapshot: Snapshot, every_seconds: float) -> None:
        """Remember it; write it unless the last one written is younger than the interval."""
        self._kept = snapshot
        if time.monotonic() - self._written_at >= every_seconds:
            self.write_kept()

    def write_kept(self) -> None:
        """Write the last one remembered, if it is not written yet."""
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
