"""One writer at a time in a run directory."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from mgae.core.errors import RunDirectoryError

NAME = ".lock"


def lock_folder(folder: Path, owner: object) -> Callable[[], object]:
    """Lock a folder for as long as ``owner`` lives; return what unlocks it before.

    The same process may lock it again.

    Raises:
        RunDirectoryError: if another process is writing to it, or nothing can be written.
    """
    # One lock per process and directory: a traceback that is kept must not bar a resumed run.
    lock = FileLock(folder / NAME, timeout=0, thread_local=False, is_singleton=True)
    try:
        lock.acquire()
    except Timeout:
        raise RunDirectoryError(
            f"another process is writing to {folder}: wait until it ends, or give another directory"
        ) from None
    except OSError as error:
        raise RunDirectoryError(f"cannot write to {folder}: {error.strerror}") from None
    return weakref.finalize(owner, _release, lock)


def _release(lock: FileLock) -> None:
    """Release a lock and remove its file, which others recognize as gone."""
    if lock.lock_counter == 1:
        with suppress(OSError):  # Windows keeps a file that is open: an empty one stays behind
            Path(lock.lock_file).unlink()
    lock.release()
