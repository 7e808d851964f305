"""Folders to write to, refused before any work is done for them; JSON that may be damaged."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from typing import Any

from mgae.core.errors import RunDirectoryError


def check_free(path: Path) -> None:
    """Refuse a path where no new run directory can be made.

    Raises:
        RunDirectoryError: if it is not empty, or cannot be written to.
    """
    if path.is_dir() and any(path.iterdir()):
        raise RunDirectoryError(
            f"{path} is not empty: give another --out, or go on with --resume {path}"
        )
    check_writable(path)


def check_writable(path: Path) -> None:
    """Refuse a folder that cannot be made or written to.

    Raises:
        RunDirectoryError: if it is a file, or below one, or not writable.
    """
    nearest = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    if not nearest.is_dir():
        raise RunDirectoryError(f"cannot write to {path}: {nearest} is a file")
    if not os.access(nearest, os.W_OK):
        raise RunDirectoryError(f"cannot write to {path}: {nearest} is not writable")


@contextmanager
def new_folder(parent: Path, label: str) -> Iterator[Path]:
    """Make ``parent/label``, with a number behind it if that is taken by another process or run.

    If it stays empty, it is removed again, and so are the folders that were made above it.

    Raises:
        RunDirectoryError: if it cannot be made.
    """
    check_writable(parent)
    above = [folder for folder in (parent, *parent.absolute().parents) if not folder.exists()]
    names = chain([label], (f"{label}-{number}" for number in count(2)))
    try:
        path = next(filter(_make, (parent / name for name in names)))
    except OSError as error:
        raise RunDirectoryError(f"cannot write to {parent}: {error.strerror}") from None
    try:
        yield path
    finally:
        for folder in (path, *above):
            with suppress(OSError):  # it holds a run, or a run that failed has removed it
                folder.rmdir()


def _make(path: Path) -> bool:
    """Make a folder in one step, so that no two processes share it; return whether it is ours."""
    try:
        path.mkdir(parents=True)
    except FileExistsError:
        return False
    return True


def read_json(path: Path, advice: str = "restore it, or move it away") -> Any:
    """Return the content of a JSON file.

    Raises:
        RunDirectoryError: if it is not there, or is not JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunDirectoryError(f"cannot read {path}: {error}: {advice}") from None
