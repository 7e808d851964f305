"""Behind nginx with TLS, set up as docs/proxy.md says: it answers, under load too."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reliability import Tally

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "proxy.md"
STORED = ROOT / "tests" / "runs" / "stored" / "combined"
TOKEN = "a token of the test"
CLIENTS, REQUESTS = 16, 60


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


def documented_site(folder: Path, port: int, upstream: str) -> str:
    """Return the page's own configuration, with this test's ports and certificate."""
    block = re.search(r"```nginx\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block
    changes = {
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        "http://127.0.0.1:8000": upstream,
        "/etc/ssl/graph.example.org": str(folder / "tls"),
        "graph.example.org": "localhost",
    }
    site = block[1]
    for old, new in changes.items():
        assert old in site, old
        site = site.replace(old, new)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return f"""daemon off; pid {folder}/pid; error_log stderr; worker_processes 1;
        events {{ worker_connections 256; }} http {{ access_log off; {temporary} {site} }}"""


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[int]:
    for tool in ("nginx", "openssl"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    name = str(tmp_path / "tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
         "-subj", "/CN=localhost", "-keyout", f"{name}.key", "-out", f"{name}.crt"],
        check=True, capture_output=True,
    )  # fmt: skip
    service = subprocess.Popen(
        [sys.executable, "-m", "mgae", "serve", str(STORED), "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "MGAE_TOKEN": TOKEN, "OMP_NUM_THREADS": "1"},
    )
    assert service.stdout is not None
    said = re.match(r"(http://[^/]*)/", service.stdout.readline())
    assert said
    port = free_port()
    settings = tmp_path / "nginx.conf"
    settings.write_text(documented_site(tmp_path, port, said[1]), encoding="utf-8")
    proxy = subprocess.Popen(["nginx", "-p", str(tmp_path), "-c", str(settings)])
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    yield port
    proxy.send_signal(signal.SIGQUIT)
    service.terminate()
    assert proxy.wait(30) == 0
    service.wait(30)


def connect(port: int) -> http.client.HTTPSConnection:
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE  # it signs itself
    return http.client.HTTPSConnection("localhost", port, context=trusting, timeout=60)


def ask(port: int, statuses: list[int]) -> None:
    connection = connect(port)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    for number in range(REQUESTS):
        if number % 3:
            connection.request("GET", f"/nodes/n{number}/recommendations?k=3", headers=headers)
        else:
            body = json.dumps({"pairs": [["n0", f"n{number % 59 + 1}"]] * 20})
            connection.request("POST", "/score", body, headers)
        answer = connection.getresponse()
        answer.read()
        statuses.append(answer.status)
    connection.close()


@pytest.mark.slow
def test_it_answers_behind_nginx_with_tls(proxied: int, tally: Tally) -> None:
    statuses: list[int] = []
    clients = [threading.Thread(target=ask, args=(proxied, statuses)) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert statuses == [200] * (CLIENTS * REQUESTS)
    tally.add("proxy_requests", len(statuses))


@pytest.mark.slow
def test_the_token_is_asked_for_and_the_cookie_stays_with_tls(proxied: int) -> None:
    connection = connect(proxied)
    connection.request("GET", "/info")
    refused = connection.getresponse()
    assert refused.status == 401
    refused.read()
    connection.request("POST", "/session", headers={"Authorization": f"Bearer {TOKEN}"})
    answer = connection.getresponse()
    answer.read()
    cookie = answer.headers["set-cookie"]
    assert answer.status == 204
    assert "secure" in cookie.lower(), "the cookie would also go out without TLS"
    connection.request("GET", "/nodes/a%2Fb", headers={"Cookie": cookie.partition(";")[0]})
    unknown = connection.getresponse()
    assert unknown.status == 404
    assert "a/b" in json.loads(unknown.read())["detail"], "the proxy took the slash for a folder"
