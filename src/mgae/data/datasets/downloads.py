"""Fetching over HTTP and taking files out of archives, whole or with an OSError."""

from __future__ import annotations

import http.client
import os
import shutil
import urllib.request
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

Progress = Callable[[str, int, int | None], None]

_CONNECT_SECONDS = 5.0
_READ_SECONDS = 60.0
_BLOCK_BYTES = 1 << 18


def download(url: str, path: Path, on_progress: Progress) -> None:
    """Write what ``url`` has to ``path``; an OSError where it does not come whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    request = urllib.request.Request(url, headers={"User-Agent": "mgae"})
    with _OPENER.open(request, timeout=_CONNECT_SECONDS) as response, path.open("wb") as file:
        length = response.headers.get("Content-Length")
        total, done = int(length) if length else None, 0
        while block := response.read(_BLOCK_BYTES):
            done += file.write(block)
            on_progress(path.name, done, total)
        os.fsync(file.fileno())
    if total not in (None, done):
        raise OSError(f"{path.name} broke off after {done:,} of {total:,} bytes")


def unpack(archive: Path, inside: str, files: Iterable[str], folder: Path) -> None:
    """Take ``files`` below ``inside`` out of a zip, by name: no name in it becomes a path here."""
    with zipfile.ZipFile(archive) as members:
        for file in files:
            if f"{inside}/{file}" not in members.NameToInfo:
                raise OSError(f"{archive.name} has no {inside}/{file}")
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            with members.open(f"{inside}/{file}") as packed, (folder / file).open("wb") as whole:
                shutil.copyfileobj(packed, whole)


class _Connection(http.client.HTTPConnection):
    """Short of patience until it is connected, then patient with a slow server."""

    def connect(self) -> None:
        super().connect()
        self.sock.settimeout(_READ_SECONDS)


class _SecureConnection(http.client.HTTPSConnection):
    """The same over TLS."""

    def connect(self) -> None:
        super().connect()
        self.sock.settimeout(_READ_SECONDS)


class _Http(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Connection, request)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_SecureConnection, request)


_OPENER = urllib.request.build_opener(_Http, _Https)
