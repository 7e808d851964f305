"""Count and time requests, in the text format that Prometheus reads."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import psutil
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as MEDIA_TYPE
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["MEDIA_TYPE", "Measured", "Telemetry"]

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Telemetry:
    """The metrics of one application, in a registry of its own.

    ``nodes`` counts the nodes of each run, asked each time: a run may be replaced.
    """

    def __init__(self, nodes: Mapping[str, Callable[[], int]]) -> None:
        self.registry = registry = CollectorRegistry()
        labels = ["route", "method", "status"]
        self.requests = Counter("mgae_requests", "Requests answered.", labels, registry=registry)
        self.seconds = Histogram(
            "mgae_request_seconds",
            "Time to answer.",
            ["route"],
            registry=registry,
            buckets=_BUCKETS,
        )
        self.in_progress = Gauge(
            "mgae_requests_in_progress", "Requests being answered.", registry=registry
        )
        # prometheus-client's own collector has this on Linux alone.
        memory = Gauge("process_resident_memory_bytes", "Memory.", registry=registry)
        memory.set_function(lambda: psutil.Process().memory_info().rss)
        gauge = Gauge("mgae_nodes", "Nodes of the graph.", ["run"], registry=registry)
        for name, count in nodes.items():
            gauge.labels(name).set_function(count)

    def add(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self.requests.labels(route, method, status).inc()
        self.seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Return all metrics, a line each."""
        return generate_latest(self.registry)


class Measured:
    """Add each request to a `Telemetry`; the outermost layer, so that refusals count too."""

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

        try:
            with self.telemetry.in_progress.track_inprogress():
                await self.app(scope, receive, sending)
        finally:
            # By the route's pattern: ids or made-up paths and methods would fill the memory.
            route = getattr(scope.get("route"), "path", None)
            method = scope["method"] if route is not None else ""
            self.telemetry.add(route or "none", method, status, time.perf_counter() - started)
        return None
