"""One client, then sixteen, that ask the service about PubMed without a pause."""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

CLIENTS = 16
SECONDS = 60.0
_REQUESTS = 1000
_PATHS = {"health_p50_seconds": "/health", "p50_seconds": "/nodes/{}/recommendations?k=10"}
# What a request costs does not depend on how well the model has learned.
_TRAIN = [
    "train",
    "pubmed",
    "--set",
    "train.epochs=5",
    "--set",
    "evaluation.heuristics=[]",
    "--quiet",
]
# With one of torch's threads for each request, whatever the machine is set to.
_ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


def measure(run: Path | None = None, seconds: float = SECONDS) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        if run is None:
            run = Path(folder) / "pubmed"
            _mgae(*_TRAIN, "--out", str(run))
        with _service(run) as address:
            alone = {f"alone_{name}": _alone(address, path) for name, path in _PATHS.items()}
            return {**alone, **_summary(*_asked(address, seconds), seconds)}


def _mgae(*arguments: str) -> None:
    command = [sys.executable, "-m", "mgae", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def _service(run: Path) -> Iterator[str]:
    """A service of its own process; it has said where it is once it can answer."""
    command = [sys.executable, "-m", "mgae", "serve", str(run), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=_ENVIRONMENT) as process:
        try:
            assert process.stdout is not None
            said = re.match(r"http://(\S+)/,", process.stdout.readline())
            assert said, "the service did not start"
            yield said[1]
        finally:
            process.terminate()


def _alone(address: str, path: str) -> float:
    """The median of the seconds that one client waits, on one connection."""
    host = urlsplit(f"//{address}")
    connection = http.client.HTTPConnection(host.hostname or "", host.port, timeout=30)
    times = []
    for number in range(_REQUESTS):
        start = time.perf_counter()
        connection.request("GET", path.format((number * 7919 + 104729) % 19717))
        connection.getresponse().read()
        times.append(time.perf_counter() - start)
    connection.close()
    return float(np.median(times))


def _asked(address: str, seconds: float) -> tuple[list[float], list[str]]:
    """The seconds of each answer, and what was wrong with those that were none."""
    times: list[float] = []
    errors: list[str] = []
    end = time.perf_counter() + seconds
    threads = [
        threading.Thread(target=_client, args=(address, number, end, times, errors))
        for number in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times, errors


def _client(address: str, number: int, end: float, times: list[float], errors: list[str]) -> None:
    host = urlsplit(f"//{address}")
    connection = http.client.HTTPConnection(host.hostname or "", host.port, timeout=30)
    node = number
    while (start := time.perf_counter()) < end:
        node = (node * 7919 + 104729) % 19717  # another node each time, the same ones in each run
        try:
            connection.request("GET", f"/nodes/{node}/recommendations?k=10")
            answer = connection.getresponse()
            body = answer.read()
        except OSError as error:
            errors.append(repr(error))
            connection.close()
            continue
        times.append(time.perf_counter() - start)
        if answer.status != 200 or b'"recommendations":[{' not in body:
            errors.append(f"{answer.status} {body[:200]!r}")


def _summary(times: list[float], errors: list[str], seconds: float) -> dict[str, float]:
    for error in errors[:3]:
        print(f"  {error}")
    return {
        "clients": CLIENTS,
        "requests_per_second": len(times) / seconds,
        "p50_seconds": float(np.quantile(times, 0.5)),
        "p99_seconds": float(np.quantile(times, 0.99)),
        "slowest_seconds": max(times),
        "errors": len(errors),
    }


if __name__ == "__main__":
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    for name, value in measure(given).items():
        print(f"{name} {value:.4f}")
