"""Many clients for a long time: no error, quick answers, flat memory and file handles."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import psutil
import pytest

from mgae.cli.app import main
from tests.reliability import Tally

CLIENTS = 64
SECONDS = float(os.environ.get("MGAE_LOAD_SECONDS", "600"))
PAUSE = 1.0  # between two requests of a client, as of people who look around
ROUTES = [
    "/health", "/info", "/nodes?query=1&limit=10", "/nodes/{}", "/nodes/{}/recommendations?k=10",
    "/nodes/{}/similar?k=10", "POST /score",
]  # fmt: skip

SMALL = [
    "--set", "train.epochs=2", "--set", "encoder.hidden_channels=32",
    "--set", "evaluation.heuristics=[]",
]  # fmt: skip


class Client(threading.Thread):
    """Ask one thing after the other on an open connection."""

    def __init__(self, address: tuple[str, int], until: float, seed: int) -> None:
        super().__init__(daemon=True)
        self.address, self.until, self.draw = address, until, random.Random(seed)
        self.seconds: list[float] = []
        self.problems: list[str] = []

    def run(self) -> None:
        connection = http.client.HTTPConnection(*self.address, timeout=60)
        time.sleep(self.draw.random() * PAUSE)
        while time.monotonic() < self.until:
            started = time.perf_counter()
            try:
                status = self.ask(connection)
            except (OSError, http.client.HTTPException) as error:
                self.problems.append(repr(error))
                connection.close()
                continue
            self.seconds.append(time.perf_counter() - started)
            if status != 200:
                self.problems.append(str(status))
            time.sleep(self.draw.uniform(0.5, 1.5) * PAUSE)
        connection.close()

    def ask(self, connection: http.client.HTTPConnection) -> int:
        route = self.draw.choice(ROUTES)
        if route == "POST /score":
            pairs = [[self.draw.randrange(2000), self.draw.randrange(2000)] for _ in range(20)]
            body = json.dumps({"pairs": pairs})
            connection.request("POST", "/score", body, {"Content-Type": "application/json"})
        else:
            connection.request("GET", route.format(self.draw.randrange(2000)))
        answer = connection.getresponse()
        answer.read()
        return answer.status


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_clients_get_quick_answers_and_leave_nothing(tmp_path: Path, tally: Tally) -> None:
    graph = "pubmed" if os.environ.get("MGAE_DATA") else "cora"
    with pytest.raises(SystemExit) as stop:
        main(["train", graph, "--out", str(tmp_path / "run"), "--quiet", *SMALL])
    assert stop.value.code == 0
    command = [sys.executable, "-m", "mgae", "serve", str(tmp_path / "run"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = re.match(r"(http://[^/]*)/", process.stdout.readline())
        assert said
        parts = urlsplit(said[1])
        address = str(parts.hostname), int(parts.port or 0)
        slow = [socket.create_connection(address) for _ in range(8)]  # they never say anything
        until = time.monotonic() + SECONDS
        clients = [Client(address, until, seed) for seed in range(CLIENTS)]
        for client in clients:
            client.start()
        time.sleep(SECONDS / 4)
        server = psutil.Process(process.pid)
        memory, files = server.memory_info().rss, server.num_fds()
        for client in clients:
            client.join()
        grown = server.memory_info().rss / memory
        assert server.num_fds() <= files
        assert not [problem for client in clients for problem in client.problems]
        assert grown < 1.1
        for one in slow:
            one.close()
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    seconds = np.concatenate([client.seconds for client in clients])
    tally.add("requests", seconds.size)
    tally.measure("request_p99_ms", 1000 * float(np.quantile(seconds, 0.99)))
    tally.measure("request_median_ms", 1000 * float(np.median(seconds)))
    tally.measure("server_memory_growth", grown)
