"""Large graphs get fewer epochs."""

from __future__ import annotations

import pytest

from mgae.core.errors import ConfigError
from mgae.runs.budget import shortened
from mgae.runs.config import RunConfig
from tests.conftest import toy_graph


def test_epochs_are_those_that_the_pairs_allow() -> None:
    # Half of 40 edges, each with itself and 8 negatives: 180 pairs an epoch.
    graph = toy_graph(num_nodes=20, num_edges=40)
    given = {"graph": "toy", "train": {"max_pairs": 1800, "eval_every": 5}}
    config, note = shortened(RunConfig(**given), graph)
    assert (config.train.epochs, config.train.eval_every) == (10, 1)
    assert note is not None and "10 epochs instead of 300" in note
    fewest, _ = shortened(RunConfig(graph="toy", train={"max_pairs": 1}), graph)
    assert fewest.train.epochs == 3


def test_a_small_graph_and_another_method_keep_their_epochs() -> None:
    graph = toy_graph(num_nodes=20, num_edges=40)
    for config in (RunConfig(graph="toy"), RunConfig(graph="toy", method="mgae")):
        assert shortened(config, graph) == (config, None)


def test_a_time_budget_is_read_as_people_write_it() -> None:
    assert RunConfig(graph="toy", train={"budget": "10m"}).train.budget == 600
    with pytest.raises(ConfigError, match=r"must be a time such as 90s, 10m or 1\.5h, got 'soon'"):
        RunConfig(graph="toy", train={"budget": "soon"})
