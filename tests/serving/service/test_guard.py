"""Who is let in."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from mgae.serving import Predictor
from mgae.serving.service.application import create_app

TOKEN = "correct horse"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def guarded(predictor: Predictor) -> Iterator[TestClient]:
    with TestClient(create_app(predictor, token=TOKEN), base_url="http://graph.example") as made:
        yield made


def test_every_route_but_health_needs_the_token(guarded: TestClient) -> None:
    described = guarded.get("/openapi.json", headers=BEARER).json()
    routes = {
        (method.upper(), path.replace("{id}", "n20"))
        for path, methods in described["paths"].items()
        for method in methods
    }
    hidden = {"/", "/docs", "/openapi.json", "/page/main.js", "/palette.css", "/nowhere"}
    routes |= {("GET", path) for path in hidden} | {("POST", "/session")}
    assert len(routes) >= 16
    for method, path in routes - {("GET", "/health")}:
        answer = guarded.request(method, path)
        assert answer.status_code == 401, path
        assert answer.json()["status"] == 401
        assert answer.headers["www-authenticate"] == 'Bearer realm="mgae"'
    assert guarded.get("/health").json() == {"status": "ok"}


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer {TOKEN}", 200),
        (f"Bearer {TOKEN}x", 401),
        (f"Bearer {TOKEN[:-1]}", 401),
        ("Bearer ", 401),
        (f"Basic {TOKEN}", 401),
        (TOKEN, 401),
        ("Bearer \u00e9".encode("latin-1"), 401),
    ],
)
def test_the_token_must_be_the_very_one(
    guarded: TestClient, header: str | bytes, status: int
) -> None:
    assert guarded.get("/info", headers={"Authorization": header}).status_code == status


def test_a_browser_shows_the_token_once_and_comes_again_with_a_cookie(guarded: TestClient) -> None:
    asked = guarded.get("/", headers={"Accept": "text/html"})
    assert asked.status_code == 401
    assert "needs its token" in asked.text
    policy = asked.headers["content-security-policy"]
    assert re.search(r"script-src 'sha256-\S+'; style-src 'sha256-\S+';", policy)
    assert guarded.post("/session").status_code == 401
    let_in = guarded.post("/session", headers=BEARER)
    assert let_in.status_code == 204
    cookie = let_in.headers["set-cookie"]
    assert TOKEN not in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert guarded.get("/info").status_code == 200
    guarded.cookies.clear()
    name = cookie.split("=")[0]
    assert guarded.get("/info", headers={"Cookie": f"{name}=wrong"}).status_code == 401


def test_a_session_ends_with_the_service(predictor: Predictor, guarded: TestClient) -> None:
    ((name, value),) = guarded.post("/session", headers=BEARER).cookies.items()
    other = TestClient(create_app(predictor, token=TOKEN))
    cookies = f"{name}={value}; {other.app.state.credentials.cookie}={value}"  # type: ignore[attr-defined]
    assert other.get("/info", headers={"Cookie": cookies}).status_code == 401


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8000", 200),
        ("127.0.0.1", 200),
        ("[::1]:8000", 200),
        ("LOCALHOST", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("", 421),
    ],
)
def test_without_a_token_only_its_own_names_are_answered(
    client: TestClient, host: str, status: int
) -> None:
    assert client.get("/health", headers={"Host": host}).status_code == status
