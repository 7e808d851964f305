"""A small model behind the service."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from mgae.serving import Predictor
from mgae.serving.service.application import create_app
from tests.conftest import toy_data
from tests.serving.test_predictor import fitted

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


@pytest.fixture(scope="session")
def client(predictor: Predictor) -> Iterator[TestClient]:
    with TestClient(create_app(predictor, test={"auc": 91.5}), base_url="http://localhost") as made:
        yield made
