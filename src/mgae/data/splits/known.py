"""Pairs that the user knows to be no edges: read, checked, and put into a split.

They enter training and evaluation here alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from mgae.core.errors import GraphError
from mgae.core.graph import MessageGraph, random_orientation
from mgae.core.negatives import NegativeSampler
from mgae.data.ids import Ids, Nodes
from mgae.data.io.alike import alike_hint
from mgae.data.splits.links import LinkSplit

if TYPE_CHECKING:
    from torch_geometric.data import Data


def known_negatives(ids: Ids, nodes: Nodes, graph: Data) -> Tensor:
    """Return the pairs [2, k] in two columns of ids, each once.

    On an undirected graph the order of a pair does not count.

    Raises:
        GraphError: if an id is no node, or a pair is an edge, with its line.
    """
    position = nodes.positions(ids.texts)
    if (unknown := np.flatnonzero(position < 0)).size:
        code = int(unknown[0])
        text = ids.texts[code].as_py()
        hint = alike_hint([text], nodes.texts.to_pylist())
        raise GraphError(f"{ids.location_of(code)}: {text} is no node of the graph{hint}")
    pairs = torch.from_numpy(np.stack([position[codes] for codes in ids.codes]).astype(np.int64))
    sampler = NegativeSampler.of(MessageGraph.of(graph))
    joined = sampler.is_taken(pairs) & (pairs[0] != pairs[1])
    if bool(joined.any()):
        row = int(joined.nonzero()[0])
        ends = " and ".join(str(nodes.ids[int(node)]) for node in pairs[:, row])
        raise GraphError(
            f"{ids.locate(row)}: {ends} are joined by an edge, so they are no negative"
        )
    pairs = pairs.sort(dim=0).values if graph.undirected else pairs
    once: Tensor = torch.unique(pairs[:, pairs[0] != pairs[1]], dim=1)
    return once


def with_known_negatives(
    split: LinkSplit, known: Tensor, ratios: tuple[float, float], generator: torch.Generator
) -> LinkSplit:
    """Divide known negatives [2, k] as the edges are, and put them into the three parts.

    ``ratios`` of them go to validation and test, instead of as many random negatives there; the
    others are what `mgae.core.negatives.InformedSampler` trains on.
    """
    known = known[:, torch.randperm(known.size(1), generator=generator)]
    if split.message.undirected:
        known = random_orientation(known, generator)
    start, parts = 0, {}
    for part, ratio in zip(("val", "test"), ratios, strict=True):
        random = split.pairs(part)[1]
        count = min(round(ratio * known.size(1)), random.size(1))
        own, start = known[:, start : start + count], start + count
        others = random[:, ~is_known(random, known, split.message.num_nodes)]
        parts[f"{part}_negatives"] = torch.cat([own, others[:, : random.size(1) - count]], dim=1)
    left = known[:, start:]
    both = torch.cat([left, left.flip(0)], dim=1) if split.message.undirected else left
    message = replace(split.message, known_negatives=both if both.size(1) else None)
    return replace(split, message=message, **parts)


def is_known(pairs: Tensor, known: Tensor, num_nodes: int) -> Tensor:
    """Return whether each of ``pairs`` [2, n] is one of ``known`` [2, k], in either order: [n]."""
    keys, own = (one.amin(dim=0) * num_nodes + one.amax(dim=0) for one in (pairs, known))
    return torch.isin(keys, own)
