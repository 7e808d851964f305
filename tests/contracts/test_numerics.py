"""Odd graphs and scales: every method gives finite scores on them, or one clear line."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from mgae.core.errors import MGAEError
from mgae.data import MessageGraph, checked
from tests.contracts.test_methods import ALL_METHODS, config_of, pairs_of, trained
from tests.reliability import Tally

NODES = 14
GRAPHS: dict[str, Callable[[], Tensor]] = {
    "star": lambda: torch.stack([torch.zeros(NODES - 1).long(), torch.arange(1, NODES)]),
    "path": lambda: torch.stack([torch.arange(NODES - 1), torch.arange(1, NODES)]),
    "complete": lambda: torch.combinations(torch.arange(NODES), 2).t(),
    "all but one edge": lambda: torch.combinations(torch.arange(NODES), 2).t()[:, 1:],
    "two sides": lambda: torch.cartesian_prod(torch.arange(5), torch.arange(5, NODES)).t(),
    "pairs": lambda: torch.arange(NODES).view(-1, 2).t(),
    "one edge": lambda: torch.tensor([[0], [1]]),
    "triangle and strangers": lambda: torch.tensor([[0, 1, 2], [1, 2, 0]]),
}


def uniform() -> Tensor:
    return torch.rand(NODES, 4, generator=torch.Generator().manual_seed(0))


FEATURES: dict[str, Callable[[], Tensor | None]] = {
    "none": lambda: None,
    "zeros": lambda: torch.zeros(NODES, 4),
    "the same": lambda: torch.ones(NODES, 4),
    "one column": lambda: uniform()[:, :1],
    "tiny": lambda: uniform() * 1e-30,
    "large": lambda: uniform() * 1e6,
    "huge": lambda: uniform() * 1e30,
    "uneven": lambda: uniform() * torch.tensor([1e-20, 1.0, 1e10, 1e20]),
    "negative": lambda: -uniform(),
}
WEIGHTS: dict[str, Callable[[int], Tensor]] = {
    "zero": torch.zeros,
    "tiny": lambda n: torch.full((n,), 1e-38),
    "huge": lambda n: torch.full((n,), 1e30),
    "uneven": lambda n: torch.logspace(-20, 20, n),
}


def graph_of(edges: Tensor, x: Tensor | None = None, weight: Tensor | None = None) -> MessageGraph:
    if weight is None:
        edge_index = to_undirected(edges, num_nodes=NODES)
    else:
        edge_index, weight = to_undirected(edges, weight, NODES)
    return MessageGraph.of(
        checked(Data(x=x, edge_index=edge_index, edge_weight=weight, num_nodes=NODES))
    )


def cases() -> list[tuple[str, MessageGraph]]:
    """Every odd thing beside usual others."""
    path, star = GRAPHS["path"](), GRAPHS["star"]()
    return [
        *((f"graph: {name}", graph_of(make(), uniform())) for name, make in GRAPHS.items()),
        *((f"bare: {name}", graph_of(make())) for name, make in GRAPHS.items()),
        *((f"features: {name}", graph_of(path, make())) for name, make in FEATURES.items()),
        *(
            (f"weights: {name}", graph_of(star, uniform(), make(star.size(1))))
            for name, make in WEIGHTS.items()
        ),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_METHODS)
def test_odd_graphs_and_scales_give_finite_scores_or_one_line(name: str, tally: Tally) -> None:
    for case, graph in cases():
        tally.add("numeric_cases")
        try:
            method, losses = trained(config_of(name), graph, epochs=2)
            scores = method.score_links(method.encode(graph), pairs_of(graph))
        except MGAEError as error:
            assert "\n" not in str(error), case
            tally.add("numeric_refusals")
            continue
        assert all(map(math.isfinite, losses)), case
        assert bool(scores.isfinite().all()), case
