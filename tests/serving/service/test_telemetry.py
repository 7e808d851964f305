"""The figures for Prometheus, counted by hand."""

from __future__ import annotations

from fastapi.testclient import TestClient

from mgae.serving import Predictor
from mgae.serving.service.application import create_app
from mgae.serving.service.telemetry import Telemetry


def test_a_request_falls_into_its_bucket_and_all_larger_ones() -> None:
    counted = Telemetry({"mgae_nodes": ("Nodes", 7)})
    counted.add("/a", "GET", 200, 0.02)
    counted.add("/a", "GET", 200, 0.5)
    counted.add("/a", "GET", 404, 60.0)
    lines = counted.text().splitlines()
    assert 'mgae_requests_total{route="/a",method="GET",status="200"} 2' in lines
    assert 'mgae_requests_total{route="/a",method="GET",status="404"} 1' in lines
    found = {line.split('le="')[1]: line for line in lines if "_bucket" in line}
    buckets = {key.split('"')[0]: int(line.split()[-1]) for key, line in found.items()}
    assert buckets["0.01"] == 0
    assert buckets["0.025"] == 1
    assert buckets["0.5"] == 2  # a border belongs to its bucket
    assert (buckets["5.0"], buckets["+Inf"]) == (2, 3)
    assert 'mgae_request_seconds_sum{route="/a"} 60.520000' in lines
    assert 'mgae_request_seconds_count{route="/a"} 3' in lines
    assert "mgae_nodes 7" in lines


def test_requests_are_counted_by_route_and_not_by_id(predictor: Predictor) -> None:
    client = TestClient(create_app(predictor), base_url="http://localhost")
    for address in ("/nodes/n20", "/nodes/n21", "/nodes/nobody", "/made-up", "/health"):
        client.get(address)
    client.get("/health", headers={"Host": "evil.example"})
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert 'mgae_requests_total{route="/nodes/{id}",method="GET",status="200"} 2' in lines
    assert 'mgae_requests_total{route="/nodes/{id}",method="GET",status="404"} 1' in lines
    assert 'mgae_requests_total{route="none",method="",status="404"} 1' in lines
    assert 'mgae_requests_total{route="none",method="",status="421"} 1' in lines
    assert "mgae_requests_in_progress 1" in lines
    assert "made-up" not in answer.text
