"""``mgae recommend --all``: rows for every node, in parts that a stopped command can go on from."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from mgae.serving import Predictor


@dataclass(frozen=True)
class AllNodes:
    """A request for the recommendations of all nodes."""

    predictor: Predictor
    k: int
    exclude_known: bool
    exact: bool | None
    among: list[Any] | None
    progress: Any

    def write(self, file: Path | None, safe: bool) -> int:
        """Write them, and return the number of rows; into a file part by part."""
        from mgae.serving.outfiles import print_batches
        from mgae.serving.resumable import write_in_parts

        if file is None:
            return print_batches(sys.stdout.buffer, (batch for _, batch in self._batches(0)), safe)
        rows, before = write_in_parts(
            file, self._request(), self.predictor.num_nodes, self._batches, safe
        )
        if before:
            typer.echo(f"note: went on after the first {before:,} nodes", err=True)
        return rows

    def _batches(self, start: int) -> Iterator[tuple[int, Any]]:
        import torch

        count = self.predictor.num_nodes
        heads = torch.arange(count)
        self.progress.on_share("recommending", start / count)
        options = self.k, self.exclude_known, self.exact, self.among
        for end, batch in self.predictor.recommend_from(start, heads, *options):
            yield end, batch
            self.progress.on_share("recommending", end / count)

    def _request(self) -> dict[str, Any]:
        """Return what makes two requests the same."""
        among = None
        if self.among is not None:
            among = hashlib.sha256(repr(self.among).encode()).hexdigest()
        return {
            "model": self.predictor.fingerprint,
            "k": self.k,
            "exclude_known": self.exclude_known,
            "exact": self.exact,
            "among": among,
        }
