"""Two sides: keep the ids of the source and of the target column apart, or see that they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from mgae.core.errors import GraphError
from mgae.data.ids import Ids, Nodes, counted
from mgae.data.io.edges import EdgeList
from mgae.data.io.options import InputSettings

_FEWEST = 2  # nodes on a side: a single one is the middle of a star


def divided(edges: EdgeList, settings: InputSettings) -> EdgeList:
    """Return the same edges with ``sides`` if they join two sides, and with a note about them.

    They do if `input.bipartite` says so, or if no id is in both columns. Where ids of the two
    columns coincide, all get the column's name before them.
    """
    if settings.bipartite == "no" or not len(edges.ids.codes[0]):
        return edges
    sources, targets = (np.unique(codes) for codes in edges.ids.codes)
    coincide = np.intersect1d(sources, targets, assume_unique=True)
    chosen = settings.bipartite == "yes"
    if not chosen and (len(coincide) or min(len(sources), len(targets)) < _FEWEST):
        return edges
    if not chosen and settings.directed:
        text = "no id is in both columns: without --directed they are the two sides of a graph"
        return _noted(edges, f"{text}, and pairs of one side are never asked about")
    names = _names(edges.columns)
    counts = f"{len(sources):,} {names[0]} ids and {len(targets):,} {names[1]} ids"
    if not len(coincide):
        way = "" if chosen else " (no id is in both columns; --not-bipartite if that is by chance)"
        return replace(_noted(edges, f"bipartite, {counts}{way}"), sides=names)
    if edges.nodes is not None:
        raise GraphError(
            f"{edges.where}: {counted(len(coincide), 'node')} would be on both sides: give each "
            "node its side (networkx: the attribute bipartite, 0 or 1)"
        )
    prefixes = (f"{names[0]}:", f"{names[1]}:")
    apart = f"{counts}; {counted(len(coincide), 'id')} in both columns kept apart"
    example = edges.ids.texts[int(coincide[0])].as_py()
    note = f"bipartite, {apart} as {prefixes[0]}{example} and {prefixes[1]}{example}"
    ids = _prefixed(edges.ids, prefixes)
    return replace(_noted(edges, note), ids=ids, sides=names, prefixes=prefixes)


def side_of_nodes(edges: EdgeList, nodes: Nodes) -> Tensor:
    """Return 0, 1, or -1 for an id without an edge that no prefix gives to a side: [nodes]."""
    assert edges.sides is not None
    side = np.full(len(nodes.ids), -1, np.int8)
    for number, prefix in enumerate(edges.prefixes or ()):
        side[pc.starts_with(nodes.texts, prefix).to_numpy(zero_copy_only=False)] = number
    if edges.nodes is not None and edges.node_side is not None:
        side[nodes.positions(edges.nodes.texts)[edges.nodes.codes[0]]] = edges.node_side
    position = nodes.positions(edges.ids.texts)
    for number, codes in enumerate(edges.ids.codes):
        side[position[codes]] = number
    return torch.from_numpy(side)


def unknown_side_note(edges: EdgeList, side: Tensor) -> list[str]:
    """Return a note about nodes without edges that are on neither side."""
    count = int((side < 0).sum())
    if not count:
        return []
    text = f"{counted(count, 'id')} without an edge on neither side: never a negative, and not "
    return [f"{edges.where}: {text}recommended (--node-type-column can say where they belong)"]


def _names(columns: tuple[str, str]) -> tuple[str, str]:
    """Return what ids are called by their column: ``user`` of ``user_id``.

    >>> _names(("user_id", "item")), _names(("a", "a:b"))
    (('user', 'item'), ('source', 'target'))
    """
    first, second = (name.strip().removesuffix("_id") or name for name in columns)
    # One name within the other could make two ids the same.
    unclear = f"{second}:".startswith(f"{first}:") or f"{first}:".startswith(f"{second}:")
    return ("source", "target") if unclear else (first, second)


def _noted(edges: EdgeList, note: str) -> EdgeList:
    return replace(edges, notes=(*edges.notes, f"{edges.where}: {note}"))


def _prefixed(ids: Ids, prefixes: tuple[str, str]) -> Ids:
    """Return the ids with each column's prefix before them."""
    texts, codes, before = [], [], 0
    for prefix, column in zip(prefixes, ids.codes, strict=True):
        distinct, own = np.unique(column, return_inverse=True)
        texts.append(prefixed(prefix, ids.texts.take(pa.array(distinct))))
        codes.append(own + before)
        before += len(distinct)
    return Ids(pa.concat_arrays(texts), tuple(codes), ids.locate)


def prefixed(prefix: str, texts: pa.Array) -> pa.Array:
    """Return texts with a prefix."""
    return pc.binary_join_element_wise(pa.scalar(prefix), texts, "")
