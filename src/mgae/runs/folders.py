"""Folders to write to, refused before any work is done for them; JSON that may be damaged."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from typing import Any

from mgae.core.errors import RunDirectoryError
from mgae.data.atomic import is_partial
from mgae.data.store import GRAPH_FILES
from mgae.runs import locking, manifest


def check_free(path: Path) -> None:
    """Refuse a path where no new run directory can be made.

    Raises:
        RunDirectoryError: if it is not empty, or cannot be written to.
    """
    if path.is_dir() and any(path.iterdir()) and not is_remains(path):
        raise RunDirectoryError(
            f"{path} is not empty: give another --out, or go on with --resume {path}"
        )
    check_writable(path)


def require_empty(path: Path) -> None:
    """Refuse a path where something is already.

    Raises:
        RunDirectoryError: if it is a file, or a folder that is not empty.
    """
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise RunDirectoryError(f"{path} is there already: save to another path, or remove it")


def is_remains(folder: Path) -> bool:
    """Return whether a folder has nothing but what a run leaves if it is killed as it begins."""
    files = [file for file in folder.rglob("*") if not file.is_dir()]
    folders = [one.name for one in folder.rglob("*") if one.is_dir()]
    return set(folders) <= {"graph"} and all(_is_beginning(file, folder) for file in files)


def _is_beginning(file: Path, folder: Path) -> bool:
    names = GRAPH_FILES if file.parent.name == "graph" else (locking.NAME, manifest.NAME)
    here = file.parent in (folder, folder / "graph")
    return here and (is_partial(file) or file.name in names)


def remove_remains(folder: Path) -> None:
    """Remove what a run has left that was killed as it began; the lock stays."""
    (folder / manifest.NAME).unlink(missing_ok=True)
    if (folder / "graph").exists():
        shutil.rmtree(folder / "graph")


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
