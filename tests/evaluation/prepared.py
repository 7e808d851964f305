"""Six small graphs whose right verdict is known from how they were made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

# The method that learns from features alone, quick to train.
_NETWORK: dict[str, Any] = {
    "method": "mgae",
    "encoder": {"kind": "gcn", "hidden_channels": 16, "inputs": "auto"},
    "decoder": {"hidden_channels": 16},
    "split": {"val_ratio": 0.1, "test_ratio": 0.2},
}


def _heuristics(*names: str) -> dict[str, Any]:
    return {"heuristics": names, "hard_negatives": 0}


@dataclass(frozen=True)
class Prepared:
    """A graph, how it is trained, and what must be said of it.

    Attributes:
        kinds: the verdicts that are right.
        says: what the sentence has in it.
        tells: a setting that is advised; None if nothing in particular has to be.
    """

    data: Callable[[], Data]
    settings: dict[str, Any]
    kinds: tuple[str, ...]
    says: str
    tells: str | None = None


def _drawn(chance: Tensor, seed: int, x: Tensor | None = None) -> Data:
    """Join each pair u < v by its chance [n, n]."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.rand(chance.shape, generator=generator) < chance
    edges = torch.triu(drawn, diagonal=1).nonzero().t()
    return Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), num_nodes=len(chance), x=x)


def _groups(nodes: int, groups: int) -> Tensor:
    return torch.arange(nodes) % groups


def _blocks(nodes: int, groups: int, inside: float, outside: float) -> Tensor:
    group = _groups(nodes, groups)
    same = group.unsqueeze(0) == group.unsqueeze(1)
    return torch.where(same, torch.tensor(inside), torch.tensor(outside))


def random_graph() -> Data:
    """Every pair has the same chance: nothing can be known."""
    return _drawn(torch.full((200, 200), 0.05), seed=1)


def tiny_graph() -> Data:
    """Three triangles in a row: two edges are held out, which tell nothing."""
    edges = torch.tensor([[0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7], [1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8]])
    return Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), num_nodes=9)


def hurting_features() -> Data:
    """Small groups, many common neighbors, and features that are noise."""
    x = torch.randn(240, 32, generator=torch.Generator().manual_seed(2))
    return _drawn(_blocks(240, 24, 0.7, 0.002), seed=2, x=x)


def helping_features() -> Data:
    """Few edges, and features that name the group through noise."""
    generator = torch.Generator().manual_seed(3)
    x = torch.nn.functional.one_hot(_groups(500, 20)).float()
    x = x + 0.5 * torch.randn(x.shape, generator=generator)
    return _drawn(_blocks(500, 20, 0.2, 0.001), seed=3, x=x)


def hub_heavy() -> Data:
    """The chance of an edge is the product of both ends' popularity, and nothing else."""
    popularity = (torch.arange(300) + 1.0) ** -0.7
    return _drawn((8 * torch.outer(popularity, popularity)).clamp(max=0.9), seed=4)


def bipartite_graph() -> Data:
    """Users and items in four groups; the graph does not say that there are sides."""
    side = torch.arange(240) % 2
    across = side.unsqueeze(0) != side.unsqueeze(1)
    group = (torch.arange(240) // 2) % 4
    same = group.unsqueeze(0) == group.unsqueeze(1)
    return _drawn(torch.where(same, 0.35, 0.02) * across, seed=5)


PREPARED = {
    "random": Prepared(
        random_graph,
        {**_NETWORK, "train": {"epochs": 30}, "evaluation": _heuristics("common-neighbors")},
        ("chance",),
        "no better than chance: do not use these scores",
    ),
    "tiny": Prepared(
        tiny_graph,
        {**_NETWORK, "train": {"epochs": 5}, "evaluation": _heuristics("common-neighbors")},
        ("unclear",),
        "too few to tell: 2 held-out edges",
        "--runs 5 --set split.seed=run",
    ),
    "features that hurt": Prepared(
        hurting_features,
        {
            **_NETWORK,
            "encoder": {"kind": "gcn", "hidden_channels": 16, "inputs": "features"},
            "train": {"epochs": 10},
            "evaluation": _heuristics("resource-allocation", "raw-features"),
        },
        ("worse",),
        "not worth it here: use Resource Allocation",
        "--set features.use=never",
    ),
    "features that help": Prepared(
        helping_features,
        {
            **_NETWORK,
            "train": {"epochs": 40},
            # By the AUC: among all nodes the few common neighbors there are count for more.
            "evaluation": {**_heuristics("common-neighbors", "raw-features"), "recall_pairs": 0},
        },
        ("better",),
        "beats every heuristic",
    ),
    "hub-heavy": Prepared(
        hub_heavy,
        {
            **_NETWORK,
            "train": {"epochs": 10},
            "evaluation": _heuristics("preferential-attachment", "common-neighbors"),
        },
        ("worse", "level"),
        "preferential attachment",
    ),
    "bipartite": Prepared(
        bipartite_graph,
        {
            **_NETWORK,
            "train": {"epochs": 10},
            "evaluation": _heuristics("l3", "common-neighbors"),
        },
        ("worse", "chance"),
        "L3",
        "--bipartite",
    ),
}
