"""Files that are either whole or not there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # not on Windows, where there is no such lock
    fcntl = None  # type: ignore[assignment]

import pyarrow as pa
import pyarrow.parquet as pq
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let ``write`` fill a file beside ``path``, then put it in its place in one move."""
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
    """Hold a lock among processes, for which an empty file stands; its end frees it in any case."""
    with path.open("w") as stream:
        if fcntl is not None:
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def write_text(path: Path, text: str) -> None:
    """A UTF-8 text."""
    write_atomically(path, lambda partial: _discard(partial.write_text(text, encoding="utf-8")))


def write_json(path: Path, value: Any) -> None:
    """JSON for people to read."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Tensors as safetensors."""
    contiguous = {name: value.contiguous() for name, value in tensors.items()}
    write_atomically(path, lambda partial: save_file(contiguous, partial))


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Tensors from safetensors; a damaged file is a ``ValueError``, as for any other format."""
    try:
        return dict(load_file(path))
    except SafetensorError as error:
        raise ValueError(f"{path.name}: {error}") from None


def write_embeddings(path: Path, node_ids: list[Any], embeddings: Tensor) -> None:
    """A Parquet table with ``node_id`` and ``embedding``, a list of floats of fixed length."""
    values = pa.array(embeddings.flatten().numpy())
    vectors = pa.FixedSizeListArray.from_arrays(values, embeddings.size(1))
    table = pa.table({"node_id": pa.array(node_ids), "embedding": vectors})
    write_atomically(path, lambda partial: pq.write_table(table, partial))


def _discard(_: object) -> None:
    """Turn a writer's byte count into nothing."""
