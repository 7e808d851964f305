"""The figures for Prometheus, counted by hand."""

from __future__ import annotations

from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from mgae.serving import Predictor
from mgae.serving.service.application import create_app
from mgae.serving.service.telemetry import Telemetry


class Samples:
    """What Prometheus reads from a text."""

    def __init__(self, text: str) -> None:
        self.values = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def __call__(self, name: str, **labels: str) -> float | None:
        return self.values.get((name, frozenset(labels.items())))


def test_a_request_falls_into_its_bucket_and_all_larger_ones() -> None:
    telemetry = Telemetry({"run": lambda: 7})
    telemetry.add("/a", "GET", 200, 0.02)
    telemetry.add("/a", "GET", 200, 0.5)
    telemetry.add("/a", "GET", 404, 60.0)
    value = Samples(telemetry.text().decode())
    assert value("mgae_requests_total", route="/a", method="GET", status="200") == 2
    assert value("mgae_requests_total", route="/a", method="GET", status="404") == 1
    borders = ("0.01", "0.025", "0.5", "5.0", "+Inf")
    buckets = [value("mgae_request_seconds_bucket", route="/a", le=border) for border in borders]
    assert buckets == [0, 1, 2, 2, 3]  # a border belongs to its bucket
    assert value("mgae_request_seconds_sum", route="/a") == 60.52
    assert value("mgae_request_seconds_count", route="/a") == 3
    assert value("mgae_nodes", run="run") == 7
    memory = value("process_resident_memory_bytes")
    assert memory is not None
    assert memory > 0


def test_each_application_counts_for_itself() -> None:
    first, second = Telemetry({}), Telemetry({})
    first.add("/a", "GET", 200, 0.02)
    assert b'route="/a"' not in second.text()


def test_requests_are_counted_by_route_and_not_by_id(predictor: Predictor) -> None:
    client = TestClient(create_app(predictor), base_url="http://localhost")
    for address in ("/nodes/n20", "/nodes/n21", "/nodes/nobody", "/made-up", "/health"):
        client.get(address)
    client.get("/health", headers={"Host": "evil.example"})
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    value = Samples(answer.text)
    route = {"route": "/nodes/{id}", "method": "GET"}
    assert value("mgae_requests_total", **route, status="200") == 2
    assert value("mgae_requests_total", **route, status="404") == 1
    assert value("mgae_requests_total", route="none", method="", status="404") == 1
    assert value("mgae_requests_total", route="none", method="", status="421") == 1
    assert value("mgae_requests_in_progress") == 1
    assert "made-up" not in answer.text
