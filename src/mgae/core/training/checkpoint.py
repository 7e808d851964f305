"""What a training needs to go on after a stop, to the same numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor


@dataclass(frozen=True)
class Snapshot:
    """The state of a training between two epochs: tensors under ``part/name``, and plain facts."""

    tensors: dict[str, Tensor]
    facts: dict[str, Any]

    def part(self, prefix: str) -> dict[str, Tensor]:
        """Return the tensors of one part, under their own names."""
        start = prefix + "/"
        return {k.removeprefix(start): v for k, v in self.tensors.items() if k.startswith(start)}


class CheckpointStore(Protocol):
    """Keeps the newest snapshot; `mgae.runs` has one that writes files."""

    def newest(self) -> Snapshot | None:
        """Return the last snapshot written, or None."""

    def keep(self, snapshot: Snapshot) -> None:
        """Remember a snapshot, and write it if it is time to."""

    def write_kept(self) -> None:
        """Write the last snapshot remembered, unless it is written already."""
