from __future__ import annotations

from typing import Any

import pytest
import torch
from sklearn.exceptions import NotFittedError
from torch_geometric.data import Data

import mgae
from mgae.core.errors import ConfigError, GraphError, UnsupportedError
from mgae.runs.config import RunConfig
from tests.conftest import QUICK, toy_data

SMALL: dict[str, Any] = {
    "method": QUICK,
    "encoder": {"kind": "sage", "hidden_channels": 8},
    "train": {"epochs": 2},
}


def test_fit_embed_and_score() -> None:
    data = toy_data()
    model = mgae.MGAE(**SMALL)
    assert model.fit(data) is model
    assert model.embed().shape == (20, 16)
    assert torch.equal(model.embed(data), model.embed())
    scores = model.score_links(torch.tensor([[0, 1], [1, 0]]))
    torch.testing.assert_close(scores[0], scores[1])


def test_the_same_seed_gives_the_same_embedding() -> None:
    data = toy_data()
    first, second = (mgae.MGAE(**SMALL, seed=3).fit(data).embed() for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, mgae.MGAE(**SMALL, seed=4).fit(data).embed())


def test_the_default_is_that_of_one_s_own_graph() -> None:
    train = {"epochs": 1}
    model = mgae.MGAE(train=train, method__evidence_epochs=1, features__use="always")
    fitted = model.fit(toy_data())
    assert fitted.config_ == RunConfig(
        graph="data",
        method={"kind": "combined", "evidence_epochs": 1},
        train=train,
        features={"use": "always"},
        split={"val_ratio": 0.05, "test_ratio": 0.0, "seed": 0},
    )
    assert {*fitted.method_.choice} == {"link", "rank"}
    plain = mgae.MGAE(**{**SMALL, "method": "mgae"}).fit(toy_data())
    assert type(plain.method_).__name__ == "MaskedGraphAutoencoder"


def test_without_features_new_nodes_are_embedded_by_their_edges() -> None:
    """Nothing is learned for a node: the first 20 of a larger graph keep their embedding."""
    data = toy_data(num_features=None)
    model = mgae.MGAE(**SMALL).fit(data)
    larger = Data(edge_index=data.edge_index, num_nodes=25)
    torch.testing.assert_close(model.embed(larger)[:20], model.embed())
    assert model.embed(toy_data(num_nodes=9, num_edges=12, num_features=None)).shape == (9, 16)


def test_another_graph_with_the_same_features_is_embedded() -> None:
    model = mgae.MGAE(**SMALL).fit(toy_data())
    assert model.embed(toy_data(num_nodes=9, num_edges=10, seed=1)).shape == (9, 16)


def test_wrong_use_is_explained() -> None:
    with pytest.raises(NotFittedError, match="not fitted"):
        mgae.MGAE().embed()
    with pytest.raises(ConfigError, match="unknown encoder"):
        mgae.MGAE(encoder="gnc").fit(toy_data())
    model = mgae.MGAE(**SMALL).fit(toy_data())
    with pytest.raises(GraphError, match="knows 6 features, got 3"):
        model.embed(toy_data(num_features=3))
    with pytest.raises(GraphError, match=r"shape \[2, n\]"):
        model.score_links(torch.zeros(3))
    with pytest.raises(GraphError, match=r"nodes in \[0, 20\)"):
        model.score_links(torch.tensor([[0], [20]]))


@pytest.mark.parametrize("features", [None, 6])
def test_a_node_table_knows_its_own_nodes_only(features: int | None) -> None:
    encoder = {**SMALL["encoder"], "inputs": "table"}
    model = mgae.MGAE(**{**SMALL, "encoder": encoder}).fit(toy_data(num_features=features))
    with pytest.raises(UnsupportedError, match="an embedding table"):
        model.embed(toy_data(num_nodes=9, num_edges=10, num_features=features))
    assert model.embed(toy_data(num_features=features, seed=1)).shape == (20, 16)


def test_ids_are_looked_at_before_the_training() -> None:
    data = toy_data()
    data.node_ids = [*range(19), "last"]
    with pytest.raises(GraphError, match=r"node_ids must be all integers .*got 'last' at 19"):
        mgae.MGAE(**SMALL).fit(data)
