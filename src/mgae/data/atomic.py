"""Write files that are either whole or not there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let ``write`` fill a file beside ``path``, then rename it to ``path`` in one step."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        write(partial)
        with partial.open("rb+") as stream:
            os.fsync(stream.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for the lock file ``path`` and hold it; a process that is killed frees it."""
    with FileLock(path):
        yield


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text."""
    write_atomically(path, lambda partial: _discard(partial.write_text(text, encoding="utf-8")))


def write_json(path: Path, value: Any) -> None:
    """Write JSON for people to read."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors as safetensors."""
    contiguous = {name: value.contiguous() for name, value in tensors.items()}
    write_atomically(path, lambda partial: save_file(contiguous, partial))


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read tensors from safetensors.

    Raises:
        ValueError: if the file is damaged, as for any other format.
    """
    try:
        return dict(load_file(path))
    except SafetensorError as error:
        raise ValueError(f"{path.name}: {error}") from None


def write_embeddings(path: Path, node_ids: list[Any], embeddings: Tensor) -> None:
    """Write a Parquet file with ``node_id`` and ``embedding``, a list of floats of fixed length."""
    values = pa.array(embeddings.flatten().numpy())
    vectors = pa.FixedSizeListArray.from_arrays(values, embeddings.size(1))
    table = pa.table({"node_id": pa.array(node_ids), "embedding": vectors})
    write_atomically(path, lambda partial: pq.write_table(table, partial))


def _discard(_: object) -> None:
    """Ignore a writer's byte count."""
