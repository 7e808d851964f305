"""Toy graphs that every test may ask for."""

from __future__ import annotations

import os

# Toy graphs are too small to share: with several processes on few cores, threads only wait.
# Set before torch is loaded, and for the commands that tests start.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from mgae.data import MessageGraph, checked
from tests.reliability import Tally

torch.set_num_threads(1)

_FAILED = pytest.StashKey[bool]()
# The default method of one's own graph, quick to train.
QUICK: dict[str, Any] = {"kind": "combined", "evidence_epochs": 2, "folds": 2}


def toy_edges(num_nodes: int, num_edges: int, seed: int) -> Tensor:
    """Distinct random pairs u < v: [2, at most num_edges]."""
    generator = torch.Generator().manual_seed(seed)
    pairs = torch.combinations(torch.arange(num_nodes), 2)
    return pairs[torch.randperm(len(pairs), generator=generator)[:num_edges]].t()


def toy_data(
    num_nodes: int = 20,
    num_edges: int = 40,
    seed: int = 0,
    num_features: int | None = 6,
    weighted: bool = False,
    directed: bool = False,
) -> Data:
    """A random graph that has passed the checks."""
    generator = torch.Generator().manual_seed(seed)
    edges = toy_edges(num_nodes, num_edges, seed)
    weight = torch.rand(edges.size(1), generator=generator) + 0.5 if weighted else None
    if directed:
        edge_index = edges
    elif weight is None:
        edge_index = to_undirected(edges, num_nodes=num_nodes)
    else:
        edge_index, weight = to_undirected(edges, weight, num_nodes)
    x = None if num_features is None else torch.rand(num_nodes, num_features, generator=generator)
    y = torch.arange(num_nodes) % 2
    return checked(Data(x=x, edge_index=edge_index, edge_weight=weight, y=y, num_nodes=num_nodes))


def toy_graph(**options: object) -> MessageGraph:
    """The same, as encoders and masks see it."""
    return MessageGraph.of(toy_data(**options))  # type: ignore[arg-type]


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data that MGAE_DATA names; skips where there is none."""
    folder = os.environ.get("MGAE_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("MGAE_DATA does not name a folder of real data")
    return Path(folder)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport]:
    """Let fixtures know how a test went."""
    report: pytest.TestReport = yield
    item.stash.setdefault(_FAILED, False)
    item.stash[_FAILED] |= report.failed
    return report


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Iterator[Tally]:
    """What this test of reliability tries; ``make test-slow`` writes it down if it passes."""
    counted = Tally(request.node.nodeid.removeprefix("tests/"))
    if counted.passed:
        pytest.skip("has passed on this source; remove its part of results/reliability.json")
    yield counted
    if not request.node.stash[_FAILED] and request.node.get_closest_marker("slow"):
        counted.write()
