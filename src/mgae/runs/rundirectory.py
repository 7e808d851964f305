"""The run directory: everything that a run leaves behind, each file whole or absent."""

from __future__ import annotations

import json
import shutil
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from filelock import FileLock, Timeout
from torch import Tensor
from torch_geometric.data import Data

from mgae.core.errors import ConfigError, RunDirectoryError
from mgae.core.graph import MessageGraph
from mgae.core.training.loop import EpochRecord
from mgae.data.atomic import read_tensors, write_embeddings, write_json, write_tensors, write_text
from mgae.data.splits.links import LinkSplit, has_official_split
from mgae.data.store import save_graph, stored_graph
from mgae.runs.checkpoints import Checkpoints
from mgae.runs.config import RunConfig
from mgae.runs.environment import environment
from mgae.runs.folders import check_free


class RunDirectory:
    """Files of one run, or of several seeds in folders ``seed-N`` that look just the same.

    ``metrics.json`` is written last: where it stands, the run is finished.

    `create` and `seed` lock the directory for as long as this object lives, so that no other
    process writes to it; readers do not wait. The same process may lock it again.
    """

    def __init__(self, path: Path, made: tuple[Path, ...] = ()) -> None:
        self.path = path
        self._made = made
        self._unlock: Callable[[], object] | None = None

    @classmethod
    def create(cls, path: Path, config: RunConfig, graph: Data) -> RunDirectory:
        """Make a new directory with the configuration and the graph, locked for writing.

        Raises:
            RunDirectoryError: if there is something already, or nothing can be written.
        """
        check_free(path)
        made = tuple(parent for parent in path.absolute().parents if not parent.exists())
        directory = cls(path, made)
        try:
            path.mkdir(parents=True, exist_ok=True)
            directory._lock_for_writing()
            save_graph(graph, path / "graph")
            # Last, since `open` takes it as the sign that the directory is one of ours.
            write_text(path / "config.toml", config.to_toml())
        except OSError as error:
            raise RunDirectoryError(f"cannot write to {path}: {error.strerror}") from None
        return directory

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """A directory that a run has made."""
        if not (path / "config.toml").is_file():
            raise RunDirectoryError(f"{path} is not a run directory: it has no config.toml")
        return cls(path)

    @property
    def config(self) -> RunConfig:
        """What was run.

        Raises:
            RunDirectoryError: if that cannot be read, which says nothing of the method.
        """
        try:
            return RunConfig.from_toml(self.path / "config.toml")
        except ConfigError as error:
            raise RunDirectoryError(f"cannot read the run in {self.path}: {error}") from None

    @property
    def finished(self) -> bool:
        """Whether there is a result."""
        return (self.path / "metrics.json").exists()

    def checkpoints(self, every_seconds: float = 60.0) -> Checkpoints:
        """Return where the training can go on from."""
        return Checkpoints(self.path / "checkpoint", every_seconds)

    def discard(self) -> None:
        """Remove what `create` made, unless training has left something in it or in a seed's."""
        kept = [*self.path.rglob("metrics.json"), *self.path.rglob("checkpoint")]
        if not kept:
            if self._unlock is not None:
                self._unlock()
            shutil.rmtree(self.path)
            for parent in self._made:
                if not any(parent.iterdir()):
                    parent.rmdir()

    def seed(self, config: RunConfig, graph: Data) -> RunDirectory:
        """Return the folder of one seed, made if need be; the directory itself if there is one.

        Raises:
            RunDirectoryError: if another process is writing to the directory.
        """
        self._lock_for_writing()
        if self.config.runs == 1:
            return self
        path = self.path / f"seed-{config.seed}"
        if (path / "config.toml").exists():
            return RunDirectory(path)
        if path.exists():
            shutil.rmtree(path)  # killed before its configuration was written
        return self.create(path, config, graph)

    def run(self, index: int = 0) -> RunDirectory:
        """The finished run of this number, the first being 0.

        Raises:
            RunDirectoryError: if there is none, or it has not come to its end.
        """
        config = self.config
        if not 0 <= index < config.runs:
            raise RunDirectoryError(f"{self.path} has the runs 0 to {config.runs - 1}, got {index}")
        path = self.path if config.runs == 1 else self.path / f"seed-{config.seed + index}"
        if not (path / "metrics.json").exists():
            raise RunDirectoryError(
                f"the run in {path} is not finished: go on with mgae train --resume {self.path}"
            )
        return RunDirectory(path)

    def graph(self) -> Data:
        """The graph that was trained on."""
        return stored_graph(self.path / "graph")

    def write_split(self, split: LinkSplit) -> None:
        """Which edges are held out, and the negatives."""
        write_tensors(self.path / "split.safetensors", split.tensors())

    def split(self, graph: Data, message: MessageGraph) -> LinkSplit:
        """Return the split of a graph and its message edges, as it was written."""
        tensors, official = self._tensors("split.safetensors"), has_official_split(graph)
        return LinkSplit.from_tensors(message, tensors, official)

    def weights(self) -> dict[str, Tensor]:
        """The best epoch's weights."""
        return self._tensors("model.safetensors")

    def history(self) -> TextIO:
        """A stream for one line of JSON per epoch."""
        return (self.path / "history.jsonl").open("w", encoding="utf-8")

    def metrics(self) -> dict[str, Any]:
        """The result as it was written."""
        return self._json("metrics.json")

    def environment(self) -> dict[str, Any]:
        """Where and how long."""
        return self._json("environment.json")

    def write_model(self, weights: dict[str, Tensor]) -> None:
        """The best epoch's weights."""
        write_tensors(self.path / "model.safetensors", weights)

    def write_embeddings(self, graph: Data, embeddings: Tensor) -> None:
        """The embeddings under the user's own ids."""
        write_embeddings(self.path / "embeddings.parquet", graph.node_ids, embeddings)

    def write_result(self, metrics: dict[str, Any], seeds: list[int], seconds: list[float]) -> None:
        """The environment, then the metrics: those hold nothing that differs between two runs."""
        write_json(self.path / "environment.json", environment(seeds, seconds))
        write_json(self.path / "metrics.json", metrics)

    def _lock_for_writing(self) -> None:
        if self._unlock is not None:
            return
        # One lock per process and directory: a traceback that is kept must not bar a resumed run.
        lock = FileLock(self.path / ".lock", timeout=0, thread_local=False, is_singleton=True)
        try:
            lock.acquire()
        except Timeout:
            raise RunDirectoryError(
                f"another process is writing to {self.path}: wait until it ends, or give another "
                "directory"
            ) from None
        except OSError as error:
            raise RunDirectoryError(f"cannot write to {self.path}: {error.strerror}") from None
        self._unlock = weakref.finalize(self, _release, lock)

    def _tensors(self, name: str) -> dict[str, Tensor]:
        try:
            return read_tensors(self.path / name)
        except (OSError, ValueError) as error:
            raise RunDirectoryError(f"cannot read {self.path / name}: {error}") from None

    def _json(self, name: str) -> dict[str, Any]:
        try:
            return dict(json.loads((self.path / name).read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise RunDirectoryError(f"cannot read {self.path / name}: {error}") from None


def _release(lock: FileLock) -> None:
    """Release a lock and remove its file, which others recognize as gone."""
    if lock.lock_counter == 1:
        with suppress(OSError):  # Windows keeps a file that is open: an empty one stays behind
            Path(lock.lock_file).unlink()
    lock.release()


def write_record(stream: TextIO, record: EpochRecord) -> None:
    """One line of the history, visible at once."""
    stream.write(json.dumps(asdict(record)) + "\n")
    stream.flush()
