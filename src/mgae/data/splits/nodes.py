"""Nodes for training and test of a classifier on the embeddings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import KFold
from torch import Tensor

from mgae.core.errors import GraphError

if TYPE_CHECKING:
    from torch_geometric.data import Data

Indices = NDArray[np.intp]


def labeled_nodes(y: Tensor) -> Indices:
    """Return the nodes that have a label; -1 (or NaN in a multi-label row) is none."""
    known = (y >= 0) if y.dim() == 1 else ~torch.isnan(y.float()).any(dim=1)
    return np.flatnonzero(known.numpy())


def folds(nodes: Indices, count: int, seed: int) -> Iterator[tuple[Indices, Indices]]:
    """Return shuffled folds over ``nodes``, as (train, test).

    Raises:
        GraphError: if there are fewer labeled nodes than folds.
    """
    if len(nodes) < count:
        raise GraphError(f"{count} folds need as many labeled nodes, got {len(nodes)}")
    for train, test in KFold(count, shuffle=True, random_state=seed).split(nodes):
        yield nodes[train], nodes[test]


def node_split(graph: Data, y: Tensor, generator: torch.Generator) -> dict[str, Indices]:
    """Return labeled nodes for train, val and test: the public split, or 10/10/80 at random.

    Raises:
        GraphError: if a part would be empty, or the graph brings several splits.
    """
    nodes = labeled_nodes(y)
    masks = {part: graph.get(f"{part}_mask") for part in ("train", "val", "test")}
    if any(mask is None for mask in masks.values()):
        return _random_split(nodes, generator)
    if any(mask.dim() != 1 for mask in masks.values()):
        raise GraphError("the graph brings several node splits: keep one, as train_mask[:, 0]")
    split = {part: np.intersect1d(np.flatnonzero(m.numpy()), nodes) for part, m in masks.items()}
    for part, members in split.items():
        if len(members) == 0:
            raise GraphError(f"{part}_mask has no labeled node")
    return split


def _random_split(nodes: Indices, generator: torch.Generator) -> dict[str, Indices]:
    if len(nodes) < 10:
        raise GraphError(f"a probe needs at least 10 labeled nodes, got {len(nodes)}")
    shuffled = nodes[torch.randperm(len(nodes), generator=generator).numpy()]
    ends = [len(nodes) // 10, len(nodes) // 5]
    return dict(zip(("train", "val", "test"), np.split(shuffled, ends), strict=True))
