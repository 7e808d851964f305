"""One service takes over from another, by the socket that both are given: no request is refused."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mgae.cli.service import _listen
from mgae.core.errors import ConfigError
from tests.reliability import Tally

STORED = Path(__file__).parents[2] / "runs" / "stored" / "combined"
CLIENTS, SUCCESSIONS = 6, 2
# systemd's protocol: descriptor 3 is the socket. `exec` keeps the process's number.
SERVE = 'exec 3<&"$1" && LISTEN_FDS=1 exec "$2" -m mgae serve "$3"'


def serve(listening: socket.socket) -> subprocess.Popen[str]:
    number = listening.fileno()
    process = subprocess.Popen(
        ["bash", "-c", SERVE, "serve", str(number), sys.executable, str(STORED)],
        pass_fds=[number],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    assert str(listening.getsockname()[1]) in process.stdout.readline()
    return process


def ask(address: tuple[str, int], ended: threading.Event, statuses: list[int | str]) -> None:
    while not ended.is_set():
        connection = http.client.HTTPConnection(*address, timeout=60)
        try:
            connection.request("GET", f"/nodes/n{len(statuses) % 60}")
            answer = connection.getresponse()
            answer.read()
            statuses.append(answer.status)
        except (OSError, http.client.HTTPException) as error:
            statuses.append(repr(error))
        finally:
            connection.close()


@pytest.mark.slow
def test_a_new_service_takes_over_without_a_refused_request(tally: Tally) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        old, ended = serve(listening), threading.Event()
        statuses: list[list[int | str]] = [[] for _ in range(CLIENTS)]
        clients = [
            threading.Thread(target=ask, args=(listening.getsockname(), ended, one))
            for one in statuses
        ]
        for client in clients:
            client.start()
        try:
            for _ in range(SUCCESSIONS):
                new = serve(listening)
                old.send_signal(signal.SIGTERM)
                assert old.wait(60) is not None
                old = new
                time.sleep(1)
        finally:
            ended.set()
            for client in clients:
                client.join()
            old.kill()
            old.wait()
    answers = [status for one in statuses for status in one]
    assert len(answers) > 20 * CLIENTS
    assert set(answers) == {200}, set(answers)
    tally.add("restart_requests", len(answers))


def test_what_is_no_socket_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LISTEN_FDS", "1")
    monkeypatch.setenv("LISTEN_PID", str(os.getpid()))
    monkeypatch.setattr("mgae.cli.service._FIRST_DESCRIPTOR", 999)
    with pytest.raises(ConfigError, match="descriptor 3 is no listening socket"):
        _listen("127.0.0.1", 0)


def test_a_socket_that_others_reach_needs_their_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LISTEN_FDS", "1")
    with socket.socket() as listening:  # bound, and not listening
        listening.bind(("0.0.0.0", 0))
        monkeypatch.setattr("mgae.cli.service._FIRST_DESCRIPTOR", listening.detach())
        with pytest.raises(ConfigError, match=r"listens on 0\.0\.0\.0, and --host is 127\.0\.0\.1"):
            _listen("127.0.0.1", 0)
