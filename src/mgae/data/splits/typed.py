"""Held-out edges with their types, and negatives of the same type."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from mgae.core.graph import MessageGraph
from mgae.core.negatives import NegativeSampler, TypedSampler
from mgae.data.splits.links import LinkSplit

_ROUNDS = 50


def with_types(
    split: LinkSplit, graph: MessageGraph, generator: torch.Generator, draw: bool = True
) -> LinkSplit:
    """Return the split with the types of its edges: a pair of several types comes once for each.

    Edges point as their types do. A negative has the type of a held-out edge. If nodes have types
    or sides, others are drawn whose ends are of the same ones; with ``draw=False`` those of the
    split are kept.
    """
    assert graph.triples is not None
    drawn, parts = torch.empty(0, dtype=torch.long), dict[str, Any]()
    for part in ("val", "test"):
        pairs, negatives = split.pairs(part)
        triples = graph.triples[:, torch.isin(_keys(graph, graph.triples), _keys(graph, pairs))]
        triples = triples[:, torch.randperm(triples.size(1), generator=generator)]
        kinds = triples[2, : negatives.size(1)].clone()
        if draw and (graph.node_type is not None or graph.side is not None):
            asked = triples[:, : pairs.size(1)]
            negatives, drawn = _alike(graph, asked, drawn, generator)
            negatives, kinds = negatives[:2], negatives[2]
        parts |= {
            part: triples[:2],
            f"{part}_types": triples[2],
            f"{part}_negatives": negatives[:, : kinds.numel()],
            f"{part}_negative_types": kinds,
        }
    return replace(split, **parts)


def _keys(graph: MessageGraph, pairs: Tensor) -> Tensor:
    """Return a number for each pair, the same for its reverse if the graph is undirected."""
    ends = pairs[:2].sort(dim=0).values if graph.undirected else pairs[:2]
    keys: Tensor = ends[1] * graph.num_nodes + ends[0]
    return keys


def _alike(
    graph: MessageGraph, triples: Tensor, drawn: Tensor, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Return a triple for each of ``triples`` with other ends of the same kinds [3, n].

    None is an edge of any type, and none comes twice; ``drawn`` has the keys of all so far.
    """
    typed, sampler = TypedSampler.of(graph), NegativeSampler.of(graph)
    result, left = torch.full_like(triples, -1), torch.arange(triples.size(1))
    for _ in range(_ROUNDS):
        if not left.numel():
            break
        ends = torch.stack([typed.like(end[left], generator) for end in triples[:2]])
        low, high = ends.sort(dim=0).values
        keys = high * graph.num_nodes + low
        free = ~(sampler.is_taken(ends) | sampler.is_taken(ends.flip(0)) | torch.isin(keys, drawn))
        order = keys.argsort(stable=True)
        repeated = torch.zeros_like(free)
        repeated[order[1:]] = keys[order][1:] == keys[order][:-1]
        free &= ~repeated
        result[:, left[free]] = torch.cat([ends[:, free], triples[2:, left[free]]])
        drawn, left = torch.cat([drawn, keys[free]]), left[~free]
    return result[:, result[0] >= 0], drawn
