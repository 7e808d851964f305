"""Folders to write to: refused before any work is done for them, and shared with nobody."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain, count
from pathlib import Path

from mgae.core.errors import RunDirectoryError


def check_free(path: Path) -> None:
    """Refuse a place where no new run directory can be, before any work is done for it."""
    if path.is_dir() and any(path.iterdir()):
        raise RunDirectoryError(
            f"{path} is not empty: give another --out, or go on with --resume {path}"
        )
    check_writable(path)


def check_writable(path: Path) -> None:
    """Refuse a folder that cannot be made or written to."""
    nearest = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    if not nearest.is_dir():
        raise RunDirectoryError(f"cannot write to {path}: {nearest} is a file")
    if not os.access(nearest, os.W_OK):
        raise RunDirectoryError(f"cannot write to {path}: {nearest} is not writable")


@contextmanager
def new_folder(parent: Path, label: str) -> Iterator[Path]:
    """``parent/label``, with a number behind it where that is taken; no other process gets it too.

    It goes again where nothing was put into it, and so does what had to be made above it.

    Raises:
        RunDirectoryError: if it cannot be made.
    """
    check_writable(parent)
    above = [folder for folder in (parent, *parent.absolute().parents) if not folder.exists()]
    names = chain([label], (f"{label}-{number}" for number in count(2)))
    try:
        path = next(filter(_made_now, (parent / name for name in names)))
    except OSError as error:
        raise RunDirectoryError(f"cannot write to {parent}: {error.strerror}") from None
    try:
        yield path
    finally:
        for folder in (path, *above):
            with suppress(OSError):  # it holds a run, or a run that failed has removed it
                folder.rmdir()


def _made_now(path: Path) -> bool:
    """Whether the folder is ours: choosing a free name and making it later would let two share."""
    try:
        path.mkdir(parents=True)
    except FileExistsError:
        return False
    return True
