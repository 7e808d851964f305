"""Slow and half-sent requests block neither others nor the end of the service."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

HALF = b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{"
STORED = Path(__file__).parents[2] / "runs" / "stored" / "finished"


@pytest.fixture(scope="module")
def service() -> Iterator[tuple[subprocess.Popen[str], str, int]]:
    command = [sys.executable, "-c", (
        "from mgae.serving.service import patience; patience.READ_SECONDS = 2\n"
        "from mgae.cli.app import main; main()"
    ), "serve", str(STORED), "--port", "0"]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        said = re.match(r"(http://[^/]*)/", process.stdout.readline())
        assert said
        address = urlsplit(said[1])
        yield process, str(address.hostname), int(address.port or 0)
        process.kill()


def test_an_answer_on_an_open_connection_does_not_wait_for_the_clients_packet(
    service: tuple[subprocess.Popen[str], str, int],
) -> None:
    """Without TCP_NODELAY each one takes 44 ms, the delay of an acknowledgement."""
    connection = http.client.HTTPConnection(*service[1:])
    times = []
    for _ in range(30):
        started = time.perf_counter()
        connection.request("GET", "/health")
        assert connection.getresponse().read()
        times.append(time.perf_counter() - started)
    connection.close()
    assert sorted(times)[5] < 0.03


def test_a_request_that_never_ends_is_dropped(
    service: tuple[subprocess.Popen[str], str, int],
) -> None:
    for half in (b"GET /health HT", HALF):
        with socket.create_connection(service[1:], timeout=20) as client:
            client.sendall(half)
            started = time.monotonic()
            while client.recv(4096):
                pass
            assert time.monotonic() - started < 15


def test_it_stops_though_requests_are_half_sent(
    service: tuple[subprocess.Popen[str], str, int],
) -> None:
    process, *address = service
    client = socket.create_connection((str(address[0]), int(address[1])), timeout=20)
    client.sendall(HALF)
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) is not None
    client.close()
