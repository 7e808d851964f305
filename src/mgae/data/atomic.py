"""Write files that are either whole or not there, and lock them among processes."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

_PARTIAL = ".partial"
# safetensors fills a file of its own beside the one it is given, and moves it there.
_LEFT_BEHIND = re.compile(rf"\..*{re.escape(_PARTIAL)}|\.tmp[A-Za-z0-9]{{6}}")


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a file beside ``path``, then move it there in one step.

    Two processes that write the same file do not meet: the last one wins, whole.

    Raises:
        OSError: if that fails, as on a full disk; ``path`` is then as it was.
    """
    # A short name: with that of the file it could be longer than a file system allows.
    partial = path.with_name(f".{uuid4().hex}{_PARTIAL}")
    try:
        partial.touch()
        mode = partial.stat().st_mode  # that of the user's other files; some libraries write 0600
        write(partial)
        partial.chmod(mode)
        with partial.open("rb+") as stream:
            os.fsync(stream.fileno())
        partial.replace(path)
        _sync_folder(path.parent)
    except SafetensorError as error:
        raise _os_error(error, path) from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def remove_partials(folder: Path) -> None:
    """Remove what killed writers have left below a folder; nobody may write meanwhile."""
    for file in filter(is_partial, folder.rglob(".*")):
        with suppress(OSError):
            file.unlink()


def is_partial(path: Path) -> bool:
    """Return whether a file is one that a killed writer has left."""
    return _LEFT_BEHIND.fullmatch(path.name) is not None


def _sync_folder(folder: Path) -> None:
    """Make a rename outlast a loss of power, in the order in which files were written."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # no such thing on this file system
            raise
    finally:
        os.close(descriptor)


def _os_error(error: SafetensorError, path: Path) -> OSError:
    """Return what safetensors reports in its own class, as on a full disk."""
    number = re.search(r"\(os error (\d+)\)", str(error))
    if number is None:
        return OSError(errno.EIO, str(error), str(path))
    return OSError(int(number[1]), os.strerror(int(number[1])), str(path))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock among processes by an empty file; it is freed if the process dies."""
    with FileLock(path):
        yield


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text."""
    write_atomically(path, lambda partial: partial.write_text(text, encoding="utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON."""
    write_text(path, json_text(value))


def json_text(value: Any) -> str:
    """Return indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors as safetensors, to be read on any device."""
    contiguous = {name: value.cpu().contiguous() for name, value in tensors.items()}
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


def write_embeddings(path: Path, node_ids: Sequence[Any], embeddings: Tensor) -> None:
    """Write a Parquet file with ``node_id`` and ``embedding``, a list of floats of fixed length."""
    values = pa.array(embeddings.flatten().numpy())
    vectors = pa.FixedSizeListArray.from_arrays(values, embeddings.size(1))
    ids = getattr(node_ids, "column", None)  # those of a prepared graph are one already
    ids = pa.array(node_ids) if ids is None else ids
    table = pa.table({"node_id": ids, "embedding": vectors})
    write_atomically(path, lambda partial: pq.write_table(table, partial))
