"""A small model behind the service."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, sync_playwright

from mgae.runs.config import RunConfig
from mgae.runs.results import RunResult, SeedResult
from mgae.serving import Predictor
from mgae.serving.service.application import create_app
from mgae.serving.service.served import Served
from tests.conftest import toy_data
from tests.serving.service.browsing import MOST_SECONDS
from tests.serving.test_predictor import fitted

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

# What a person may call her nodes; each has broken some web service.
ODD_IDS = [
    "a/b",
    "a%2Fb",
    "x/similar",
    "<b>bold</b>",
    "Zoë & Åse",
    "100%",
    "?#&=",
    " ",
    "日本",
    ".",
    "..",
]


@pytest.fixture(scope="session")
def predictor() -> Predictor:
    data = toy_data(num_nodes=60, num_edges=150)
    data.node_ids = [*ODD_IDS, *(f"n{number}" for number in range(len(ODD_IDS), 60))]
    data.node_ids[-1] = "n" * 1000  # the longest that a graph may have
    return fitted(data)


def measured(config: RunConfig, auc: float) -> RunResult:
    """Test figures of one seed, with a heuristic's beside them."""
    heuristics = {"common-neighbors": {"auc": 80.0}}
    return RunResult(config, (SeedResult(0, {"auc": auc}, {}, heuristics, 5, 3, 1.0),))


@pytest.fixture(scope="session")
def client(predictor: Predictor) -> Iterator[TestClient]:
    toy = Served.of(predictor, "toy", measured(predictor.config, 91.5))
    with TestClient(create_app(toy), base_url="http://localhost") as made:
        yield made


# By module: while it is there, this thread has an event loop that runs, and others cannot.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        missing = "the page's test needs Debian's chromium: apt-get install chromium"
        if os.environ.get("MGAE_REQUIRE_BROWSER"):
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as driver:
        limit = 1000 * MOST_SECONDS
        started = driver.chromium.launch(executable_path=program, args=FLAGS, timeout=limit)
        yield started
        started.close()
