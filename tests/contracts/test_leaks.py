"""No method sees a held-out edge: it learns and scores the same where the edge never was.

The bugs of others that this would have caught: validation edges in the encoder, negatives that
avoid test edges, features or embeddings from the whole graph, the reverse of a held-out edge.
"""

from __future__ import annotations

import pytest
import torch

from mgae.core.errors import MGAEError
from mgae.core.graph import MessageGraph
from mgae.data import checked
from mgae.data.splits.links import LinkSplit, split_links
from mgae.evaluation.links import held_out_scores
from mgae.registry import METHODS
from mgae.runs.trial import Trial
from tests.conftest import toy_data
from tests.contracts.test_methods import ALL_METHODS, config_of
from tests.reliability import Tally

OPTIONS = {"epochs": 2, "patience": 2}


@pytest.mark.parametrize(
    "kind",
    [
        "undirected",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("directed", "weighted", "bare")),
    ],
)
@pytest.mark.parametrize("name", ALL_METHODS)
def test_a_held_out_edge_changes_nothing(name: str, kind: str, tally: Tally) -> None:
    graph = toy_data(
        24, 70, directed=kind == "directed", weighted=kind == "weighted",
        num_features=None if kind == "bare" else 5,
    )  # fmt: skip
    message = MessageGraph.of(graph)
    split = split_links(message, 0.1, 0.2, torch.Generator().manual_seed(0))
    never = graph.clone()
    never.edge_index, never.edge_weight = split.message.edge_index, split.message.edge_weight
    never = checked(never)
    known, unknown = (
        _outcome(name, one, visible, split)
        for one, visible in ((graph, message), (never, MessageGraph.of(never)))
    )
    tally.add("leak_checks")
    assert known.keys() == unknown.keys()
    for key, value in known.items():
        assert torch.equal(value, unknown[key]), f"{name} sees held-out edges: {key}"


def _outcome(
    name: str, graph: object, message: MessageGraph, split: LinkSplit
) -> dict[str, torch.Tensor]:
    """Return the trained weights and the scores of all held-out pairs."""
    train = OPTIONS if METHODS[name].build.trains else {}
    evaluation = {"heuristics": (), "hard_negatives": 0}
    config = config_of(name, graph="toy", train=train, evaluation=evaluation)
    trial = Trial(config, graph, message, split)  # type: ignore[arg-type]
    try:
        trial.fit()
        scores = [held_out_scores(trial.method, split, part, False) for part in ("val", "test")]
    except MGAEError as error:
        return {str(error): torch.empty(0)}
    flat = {f"scores {k}": side for k, side in enumerate(s for pair in scores for s in pair)}
    return {**trial.method.state_dict(), **flat}
