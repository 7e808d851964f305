"""Nodes for training and test of a classifier on the embeddings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import KFold
from torch import Tensor
from torch_geometric.data import Data

from mgae.errors import GraphError

Indices = NDArray[np.intp]


def labeled_nodes(y: Tensor) -> Indices:
    """The nodes that have a label; -1 (or NaN in a multi-label row) says that there is none."""
    known = (y >= 0) if y.dim() == 1 else ~torch.isnan(y.float()).any(dim=1)
    return np.flatnonzero(known.numpy())


def folds(nodes: Indices, count: int, seed: int) -> Iterator[tuple[Indices, Indices]]:
    """Shuffled folds over ``nodes``, as (train, test).

    Raises:
        GraphError: where there are fewer labeled nodes than folds.
    """
    if len(nodes) < count:
        raise GraphError(f"{count} folds need as many labeled nodes, got {len(nodes)}")
    for train, test in KFold(count, shuffle=True, random_state=seed).split(nodes):
        yield nodes[train], nodes[test]


def node_split(graph: Data, generator: torch.Generator) -> dict[str, Indices]:
    """Nodes of ``train``, ``val`` and ``test``: the public split, or 10/10/80 at random."""
    masks = {part: graph.get(f"{part}_mask") for part in ("train", "val", "test")}
    if all(mask is not None for mask in masks.values()):
        return {part: np.flatnonzero(mask.numpy()) for part, mask in masks.items()}
    nodes = labeled_nodes(graph.y)
    shuffled = nodes[torch.randperm(len(nodes), generator=generator).numpy()]
    ends = [len(nodes) // 10, len(nodes) // 5]
    return dict(zip(("train", "val", "test"), np.split(shuffled, ends), strict=True))
