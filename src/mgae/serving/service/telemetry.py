"""Counts and times of requests, in the text form that Prometheus reads."""

from __future__ import annotations

import os
import threading
import time
from bisect import bisect_left
from collections import Counter, defaultdict

import psutil
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BORDERS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Telemetry:
    """What is known of the requests so far; may be told by several threads."""

    def __init__(self, facts: dict[str, tuple[str, float]]) -> None:
        self.facts = facts
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets: dict[str, list[int]] = defaultdict(lambda: [0] * (len(_BORDERS) + 1))
        self._seconds: Counter[str] = Counter()
        self.in_progress = 0

    def add(self, route: str, method: str, status: int, seconds: float) -> None:
        """A request is answered."""
        with self._lock:
            self._requests[route, method, status] += 1
            self._buckets[route][bisect_left(_BORDERS, seconds)] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]

    def text(self) -> str:
        """All figures, a line each."""
        with self._lock:
            lines = [*self._request_lines(), *self._second_lines()]
        gauges = {
            "mgae_requests_in_progress": ("Requests being answered", float(self.in_progress)),
            "process_resident_memory_bytes": ("Memory", float(_memory())),
            **self.facts,
        }
        for name, (about, value) in gauges.items():
            lines += [*_head(name, about, "gauge"), f"{name} {value:g}"]
        return "\n".join(lines) + "\n"

    def _request_lines(self) -> list[str]:
        lines = _head("mgae_requests_total", "Requests answered", "counter")
        for (route, method, status), count in sorted(self._requests.items()):
            labels = f'route="{_quoted(route)}",method="{_quoted(method)}",status="{status}"'
            lines.append(f"mgae_requests_total{{{labels}}} {count}")
        return lines

    def _second_lines(self) -> list[str]:
        name = "mgae_request_seconds"
        lines = _head(name, "Time to answer", "histogram")
        for route, counts in sorted(self._buckets.items()):
            label, total = f'route="{_quoted(route)}"', 0
            for border, count in zip([*map(str, _BORDERS), "+Inf"], counts, strict=True):
                total += count
                lines.append(f'{name}_bucket{{{label},le="{border}"}} {total}')
            lines.append(f"{name}_sum{{{label}}} {self._seconds[route]:.6f}")
            lines.append(f"{name}_count{{{label}}} {total}")
        return lines


class Measured:
    """Tells a `Telemetry` of each request; the outermost layer, so that refusals count too."""

    def __init__(self, app: ASGIApp, telemetry: Telemetry) -> None:
        self.app, self.telemetry = app, telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and take the time."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        status, started = 500, time.perf_counter()

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self.telemetry.in_progress += 1
        try:
            await self.app(scope, receive, sending)
        finally:
            self.telemetry.in_progress -= 1
            self._add(scope, status, time.perf_counter() - started)
        return None

    def _add(self, scope: Scope, status: int, seconds: float) -> None:
        # By the route's pattern: ids or made-up paths and methods would fill the memory.
        route = getattr(scope.get("route"), "path", None)
        method = scope["method"] if route is not None else ""
        self.telemetry.add(route or "none", method, status, seconds)


def _head(name: str, about: str, kind: str) -> list[str]:
    return [f"# HELP {name} {about}.", f"# TYPE {name} {kind}"]


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _memory() -> int:
    return int(psutil.Process(os.getpid()).memory_info().rss)
