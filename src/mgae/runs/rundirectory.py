"""The run directory: everything that a run leaves behind, each file whole or absent."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from pydantic import TypeAdapter
from torch import Tensor, nn

from mgae.core.errors import ConfigError, RunDirectoryError
from mgae.core.graph import MessageGraph
from mgae.core.training.state import EpochRecord
from mgae.data.atomic import (
    json_text,
    read_tensors,
    remove_partials,
    write_embeddings,
    write_json,
    write_tensors,
    write_text,
)
from mgae.data.damage import DAMAGE, reason
from mgae.data.fields import GraphFields, as_data
from mgae.data.splits.links import LinkSplit, has_official_split
from mgae.data.store import save_graph, stored_fields
from mgae.evaluation.calibration import Calibrations
from mgae.evaluation.verdict import Verdict
from mgae.runs import locking, manifest
from mgae.runs.checkpoints import Checkpoints
from mgae.runs.config import RunConfig
from mgae.runs.environment import checked_environment, environment
from mgae.runs.folders import check_free, remove_remains, require_empty
from mgae.runs.locking import lock_folder
from mgae.runs.metricsfile import checked_metrics, seed_result, verdict_of
from mgae.runs.results import SeedResult

if TYPE_CHECKING:
    from torch_geometric.data import Data

_FINAL = "final.safetensors"
_CALIBRATION = "calibration.json"
_UPDATES = "updates.json"
_EPOCH = TypeAdapter(EpochRecord)
_UPDATES_FORM = TypeAdapter(list[dict[str, Any]])
_CALIBRATIONS: TypeAdapter[Calibrations | None] = TypeAdapter(Calibrations | None)
_PAIRS = [
    f"{part}{kind}" for part in ("val", "test") for kind in ("", "_negatives", "_hard_negatives")
]
_Content = TypeVar("_Content")


class RunDirectory:
    """Files of one run, or of several seeds in folders ``seed-N`` that look just the same.

    ``metrics.json`` is written last: a run that has it is finished. Every file is read
    through `_read`: its checksum first, then its content.

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
            RunDirectoryError: if the path is taken, or cannot be written to.
        """
        check_free(path)
        made = tuple(parent for parent in path.absolute().parents if not parent.exists())
        directory = cls(path, made)
        try:
            path.mkdir(parents=True, exist_ok=True)
            directory._lock_for_writing()
            remove_remains(path)
            save_graph(graph, path / "graph")
            text = config.to_toml()
            manifest.begin(path, text)
            # Last, since `open` takes it as the sign that the directory is one of ours.
            write_text(path / "config.toml", text)
        except OSError as error:
            raise RunDirectoryError(
                f"cannot write to {path}: {error.strerror or error}: give another --out"
            ) from None
        return directory

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Return the directory that a run has made.

        Raises:
            RunDirectoryError: if it is none.
        """
        if not (path / "config.toml").is_file():
            if not path.exists():
                raise RunDirectoryError(f"{path} is not a run directory: there is no such folder")
            begun = (path / "graph").is_dir()
            reason = f": it stopped before it began; start it again with --out {path}"
            raise RunDirectoryError(
                f"{path} is not a run directory: it has no config.toml{reason if begun else ''}"
            )
        return cls(path)

    @classmethod
    def writable(cls, path: Path) -> RunDirectory:
        """Return the directory that a run has made, locked for writing."""
        directory = cls.open(path)
        directory._lock_for_writing()
        return directory

    @property
    def config(self) -> RunConfig:
        """What was run.

        Raises:
            RunDirectoryError: if that cannot be read.
        """
        self._manifest.verify("config.toml")
        try:
            return RunConfig.from_run(self.path / "config.toml")
        except ConfigError as error:
            raise RunDirectoryError(f"cannot read the run in {self.path}: {error}") from None

    @property
    def finished(self) -> bool:
        """Whether there is a result."""
        return (self.path / "metrics.json").exists()

    @property
    def notes(self) -> list[str]:
        """What a reader should know of the files."""
        updates = self.updates()
        notes = [f"updated after its training: {updates[-1]['text']}"] if updates else []
        if (self.path / manifest.NAME).exists():
            return notes
        return [
            *notes,
            f"{self.path} has no checksums, as those of older versions: damage goes unnoticed",
        ]

    def checkpoints(self, every_seconds: float = 60.0) -> Checkpoints:
        """Return where the training can go on from."""
        return Checkpoints(self.path / "checkpoint", every_seconds)

    def final_checkpoints(self, every_seconds: float = 60.0) -> Checkpoints:
        """Return where the training on all edges can go on from."""
        (self.path / "checkpoint").mkdir(exist_ok=True)
        return Checkpoints(self.path / "checkpoint" / "final", every_seconds)

    def discard(self) -> None:
        """Remove what `create` made, unless training has left something in it or in a seed's."""
        kept = [*self.path.rglob("metrics.json"), *self.path.rglob("checkpoint")]
        if kept:
            return
        if self._unlock is not None:
            self._unlock()
        with suppress(OSError):  # what made the run fail is said, not that its traces stay
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
        """Return the finished run of this number, the first being 0.

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

    def save(self, path: Path) -> None:
        """Copy all of a finished run but checkpoints to another path, its checksums verified."""
        require_empty(path)
        self._manifest.verify_folder("")
        leave_out = shutil.ignore_patterns("checkpoint", locking.NAME)
        shutil.copytree(self.path, path, ignore=leave_out, dirs_exist_ok=True)

    def graph(self) -> Data:
        """Return the graph that was trained on."""
        return as_data(self.graph_fields())

    def graph_fields(self) -> Data | GraphFields:
        """Return the same without loading PyG."""
        self._manifest.verify_folder("graph/")
        return stored_fields(self.path / "graph")

    def write_split(self, split: LinkSplit) -> None:
        """Write which edges are held out, and the negatives."""
        write_tensors(self.path / "split.safetensors", split.tensors())

    def split(self, graph: Data, message: MessageGraph) -> LinkSplit:
        """Return the split of a graph and its message edges, as it was written."""

        def parse(path: Path) -> LinkSplit:
            tensors, official = read_tensors(path), has_official_split(graph)
            _check_pairs(tensors, message.num_nodes)
            return LinkSplit.from_tensors(message, tensors, official)

        return self._read("split.safetensors", parse)

    def load_weights(self, method: nn.Module) -> None:
        """Give a method the best epoch's weights.

        Raises:
            RunDirectoryError: if they do not fit, or are not finite.
        """
        self._load("model.safetensors", method)

    def load_final_weights(self, method: nn.Module) -> bool:
        """Give a method what it learned from all edges; return False if there is no such file."""
        has_final = (self.path / _FINAL).exists() or _FINAL in self._manifest.sums
        if has_final:
            self._load(_FINAL, method)
        return has_final

    def _load(self, name: str, method: nn.Module) -> None:
        def load(path: Path) -> None:
            weights = read_tensors(path)
            if not all(bool(values.isfinite().all()) for values in weights.values()):
                raise ValueError("it has weights that are not finite")
            method.load_state_dict(weights)

        self._read(name, load)

    def history(self) -> TextIO:
        """Open a stream for one line of JSON per epoch."""
        return (self.path / "history.jsonl").open("w", encoding="utf-8")

    def epochs(self) -> list[EpochRecord]:
        """Return the history as it was written, nothing if there is none."""
        if not (self.path / "history.jsonl").exists():
            return []

        def parse(path: Path) -> list[EpochRecord]:
            lines = path.read_text(encoding="utf-8").splitlines()
            return [_EPOCH.validate_python(json.loads(line)) for line in lines]

        return self._read("history.jsonl", parse)

    def metrics(self) -> dict[str, Any]:
        """Return the result as it was written."""
        return self._read("metrics.json", lambda path: checked_metrics(_json(path)))

    @property
    def verdict(self) -> Verdict | None:
        """Whether the result is worth using; None for a run of an older version."""
        return self._read("metrics.json", lambda path: verdict_of(_json(path)))

    @property
    def expected_auc(self) -> float | None:
        """The AUC of test edges, or else of validation edges; None where it was not measured."""
        metrics = self.metrics()
        measured = [metrics[part]["auc"] for part in ("test", "val") if "auc" in metrics[part]]
        return measured[0]["mean"] if measured else None

    def environment(self) -> dict[str, Any]:
        """Return where the run was computed, and how long it took."""
        return self._read("environment.json", lambda path: checked_environment(_json(path)))

    def seed_result(self) -> SeedResult:
        """Return the figures of a single seed."""
        metrics, seconds = self.metrics(), self.environment()["seconds"]
        return self._read("metrics.json", lambda path: seed_result(metrics, seconds[0]))

    def write_model(self, weights: dict[str, Tensor]) -> None:
        """Write the best epoch's weights."""
        write_tensors(self.path / "model.safetensors", weights)

    def write_final_model(self, weights: dict[str, Tensor]) -> None:
        """Write the weights learned from all edges: they are served, and never measured."""
        write_tensors(self.path / _FINAL, weights)

    def write_calibrations(self, calibrations: Calibrations | None) -> None:
        """Write what scores mean; null without validation edges."""
        write_json(self.path / _CALIBRATION, None if calibrations is None else asdict(calibrations))

    @property
    def has_calibrations(self) -> bool:
        """Whether they were written; runs of earlier versions have none."""
        return (self.path / _CALIBRATION).exists() or _CALIBRATION in self._manifest.sums

    def calibrations(self) -> Calibrations | None:
        """Return what scores mean, as it was written."""
        return self._read(_CALIBRATION, lambda path: _CALIBRATIONS.validate_python(_json(path)))

    def updates(self) -> list[dict[str, Any]]:
        """Return what joined the graph after training, the updates as written, in order."""
        if not (self.path / _UPDATES).exists():
            return []
        return self._read(_UPDATES, lambda path: _UPDATES_FORM.validate_python(_json(path)))

    def write_updates(self, updates: list[dict[str, Any]]) -> None:
        """Write what has joined the graph after training."""
        write_json(self.path / _UPDATES, updates)

    def write_embeddings(self, graph: Data, embeddings: Tensor) -> None:
        """Write the embeddings under the user's own ids."""
        write_embeddings(self.path / "embeddings.parquet", graph.node_ids, embeddings)

    def write_result(
        self,
        metrics: dict[str, Any],
        seeds: list[int],
        seconds: list[float],
        device: str = "cpu",
    ) -> None:
        """Write the environment, then the metrics, which are the same for the same seed."""
        write_json(self.path / "environment.json", environment(seeds, seconds, device))
        text = json_text(metrics)
        manifest.finish(self.path, text)
        write_text(self.path / "metrics.json", text)

    @property
    def _manifest(self) -> manifest.Manifest:
        return manifest.Manifest(self.path)

    def _lock_for_writing(self) -> None:
        if self._unlock is None:
            self._unlock = lock_folder(self.path, self)
            remove_partials(self.path)

    def _read(self, name: str, parse: Callable[[Path], _Content]) -> _Content:
        """Return the content of a file, its checksum verified."""
        self._manifest.verify(name)
        try:
            return parse(self.path / name)
        except DAMAGE as error:
            raise RunDirectoryError(
                f"cannot read {self.path / name}: {reason(error)}; restore it from a copy, or "
                "train again"
            ) from None


def write_record(stream: TextIO, record: EpochRecord) -> None:
    """Write one line of the history, visible at once."""
    stream.write(json.dumps(asdict(record)) + "\n")
    stream.flush()


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _check_pairs(tensors: dict[str, Tensor], num_nodes: int) -> None:
    """Refuse pairs that are none of this graph; -1 stands for no hard negative."""
    for name, pairs in ((name, tensors[name]) for name in _PAIRS if name in tensors):
        hard = name.endswith("_hard_negatives")
        low = -1 if hard else 0
        fits = not pairs.is_floating_point() and pairs.dim() == 2 + hard and pairs.size(0) == 2
        if not fits or (pairs.numel() and not low <= int(pairs.min()) <= pairs.max() < num_nodes):
            raise ValueError(f"{name} has no pairs of {num_nodes:,} nodes")
