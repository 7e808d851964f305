"""What tests in a real browser share."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from playwright.sync_api import Browser, Page, expect

SIZES = {"desktop": (1280, 800), "tablet": (820, 1180), "phone": (390, 844)}
MOST_SECONDS = 30  # a busy machine is slow, and not wrong
expect.set_options(timeout=1000 * MOST_SECONDS)


@contextmanager
def served(app: Any) -> Iterator[str]:
    """The app on a free port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        sockets = {"sockets": [listening]}
        thread = threading.Thread(target=server.run, kwargs=sockets, daemon=True)
        thread.start()
        try:
            limit = time.monotonic() + MOST_SECONDS
            while not server.started:
                assert thread.is_alive(), "the service ended before it was up"
                assert time.monotonic() < limit, f"the service is not up after {MOST_SECONDS} s"
                time.sleep(0.01)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = server.force_exit = True
            thread.join(MOST_SECONDS)
        assert not thread.is_alive(), f"the service has not stopped after {MOST_SECONDS} s"


@contextmanager
def opened(browser: Browser, address: str, size: str = "desktop", **options: Any) -> Iterator[Page]:
    """A page of the service; anything that goes wrong in it fails the test."""
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height}, **options)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    ours = (address, f"blob:{address}", "data:")
    page.on(
        "request", lambda asked: None if asked.url.startswith(ours) else wrong.append(asked.url)
    )
    page.goto(address)
    yield page
    assert wrong == []
    context.close()


def search(page: Page, text: str, box: str = "#search", options: str = "#suggestions") -> None:
    """Type into a box that finds nodes, and wait for what it suggests."""
    page.fill(box, text)
    expect(page.locator(f"{options} li").first).to_be_visible()
