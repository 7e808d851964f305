from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import torch

from mgae.core.errors import UnsupportedError
from mgae.data import MessageGraph, load_graph
from mgae.runs.config import RunConfig
from mgae.runs.memory import GIB, fitted, training_bytes
from tests.conftest import toy_graph


def limited(gib: float, **changes: Any) -> RunConfig:
    return RunConfig(**{**changes, "train": {**changes.get("train", {}), "memory_limit_gb": gib}})


def test_more_of_anything_takes_more() -> None:
    small, large = toy_graph(num_nodes=50), toy_graph(num_nodes=500)
    need = training_bytes(RunConfig(), small)
    assert training_bytes(RunConfig(), large) > need
    for more in (
        {"encoder": {"hidden_channels": 256}},
        {"encoder": {"num_layers": 3}},
        {"decoder": {"hidden_channels": 512}},
        {"train": {"chunk_size": 16384}},
    ):
        assert training_bytes(RunConfig(**more), small) > need


def test_sketches_are_computed_and_a_table_is_learned() -> None:
    """A table of width d has gradient, moments and copies; sketches are wider and have none."""
    million = 10**6
    graph = MessageGraph(torch.tensor([[1, 0], [0, 1]]), million)
    need = {
        kind: training_bytes(RunConfig(encoder={"inputs": kind}), graph)
        for kind in ("auto", "table", "inductive", "sketches")
    }
    assert need["auto"] == need["table"] > need["inductive"] == need["sketches"]
    assert need["table"] - need["sketches"] == pytest.approx(4 * million * (8 * 128 - 5 * 193), 0.1)
    with_x = MessageGraph(graph.edge_index, million, x=torch.zeros(million, 1))
    own = {
        kind: training_bytes(RunConfig(encoder={"inputs": kind}), with_x)
        for kind in ("auto", "inductive", "features")
    }
    assert own["auto"] == own["inductive"] == own["features"] < need["sketches"]


def test_what_fits_stays_as_it_is() -> None:
    config = limited(10)
    assert fitted(config, toy_graph()) == (config, None)


def test_the_chunk_is_lowered_first() -> None:
    graph = toy_graph()
    need = training_bytes(RunConfig(), graph) / GIB
    chosen, note = fitted(limited(0.6 * need), graph)
    assert chosen.train.chunk_size == 4096
    assert chosen.train.fanouts is None
    assert note is not None
    assert "train.chunk_size is lowered to 4096" in note


def test_then_neighborhoods_are_sampled() -> None:
    million = 10**6
    edges = torch.tensor([[1, 0], [0, 1]])
    graph = MessageGraph(edges, million, x=torch.zeros(million, 1))
    wide = {"encoder": {"hidden_channels": 256}, "train": {"chunk_size": 256}}
    need = training_bytes(RunConfig(**wide), graph) / GIB
    chosen, note = fitted(
        limited(
            0.95 * need,
            **wide,
        ),
        graph,
    )
    assert chosen.train.fanouts == (15, 15)
    assert chosen.train.step_size == 4096
    assert note is not None
    assert "neighborhoods are sampled" in note


def test_a_limit_that_cannot_be_kept_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"memory_limit_gb is 0\.001"):
        fitted(limited(0.001), toy_graph())


def test_without_a_limit_free_memory_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    class Little:
        available, total = 60 * 2**20, 2**34

    monkeypatch.setattr(psutil, "virtual_memory", Little)
    chosen, note = fitted(RunConfig(), toy_graph())
    assert chosen.train.chunk_size < RunConfig().train.chunk_size
    assert note is not None


def test_a_method_that_learns_nothing_needs_no_plan() -> None:
    config = RunConfig(method="common-neighbors")
    assert fitted(config, toy_graph()) == (config, None)


@pytest.mark.parametrize("changes", [{"method": "gae"}, {"method": "maskgae"}, {"mask": "path"}])
def test_what_needs_the_whole_graph_is_not_sampled(changes: dict[str, Any]) -> None:
    graph = toy_graph()
    with pytest.raises(UnsupportedError, match=r"memory_limit_gb is 0\.001"):
        fitted(limited(0.001, **changes), graph)
    assert fitted(limited(10, **changes), graph)[0].train.fanouts is None


def test_the_smallest_way_is_taken_and_not_the_last_one_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a small graph sampling, the last way, takes more than the smallest chunk."""

    class Scarce:
        available, total = 1, 2**34

    monkeypatch.setattr("mgae.runs.memory.psutil.virtual_memory", Scarce)
    chosen, note = fitted(RunConfig(), MessageGraph.of(load_graph("cora")))
    assert (chosen.train.chunk_size, chosen.train.fanouts) == (256, None)
    assert note is not None
    assert "more than is free: train.chunk_size is lowered to 256" in note


def test_a_table_that_no_machine_holds_is_refused_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = SimpleNamespace(available=2**20, total=2**20)
    monkeypatch.setattr("mgae.runs.memory.psutil.virtual_memory", lambda: here)
    monkeypatch.setattr("mgae.runs.memory._everything", lambda: 2**20)
    config = RunConfig(method="mgae", encoder={"kind": "gcn", "inputs": "table"})
    with pytest.raises(UnsupportedError, match=r"inputs = .sketches. needs none"):
        fitted(config, toy_graph(num_features=None))
