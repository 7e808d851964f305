"""A dataset that is computed: two rails of forty nodes, and a rung between each pair."""

from __future__ import annotations

import torch
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from mgae.registry import DATASETS

_LENGTH = 40


@DATASETS.register(
    "ladder",
    summary="two rails and the rungs between them",
    tasks=("links",),
    statistics={"nodes": 80, "edges": 118, "features": 4, "classes": 0},
    license="CC0",
)
def ladder() -> Data:
    """Return the graph, with four waves along the rails as features."""
    left = torch.arange(_LENGTH)
    right = left + _LENGTH
    rails = [torch.stack([rail[:-1], rail[1:]]) for rail in (left, right)]
    edges = torch.cat([*rails, torch.stack([left, right])], dim=1)
    step = torch.arange(2 * _LENGTH) % _LENGTH
    x = torch.stack([torch.cos(step * wave / 5) for wave in range(1, 5)], dim=1)
    return Data(x=x, edge_index=to_undirected(edges), num_nodes=2 * _LENGTH)
