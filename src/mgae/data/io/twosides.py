"""Two sides: keep the ids of the source and of the target column apart, or see that they are."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from mgae.core.errors import GraphError
from mgae.data.ids import Ids, Nodes, counted, listed
from mgae.data.io.edges import EdgeList
from mgae.data.io.noderows import NodeRows
from mgae.data.io.options import InputSettings

_THING_LIST = (
    "user customer client reader viewer listener patient student visitor author item product "
    "article movie film book song artist track game gene protein drug disease page word term "
    "course recipe ingredient merchant shop store tag category query document venue job skill"
)
_THINGS = frozenset(_THING_LIST.split())
FEWEST = 2  # nodes on a side: a single one is the middle of a star


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
    if len(coincide) and not chosen and _are_different_things(edges.columns):
        count = f"{counted(len(coincide), 'id')} in both columns {listed(edges.columns)}"
        edges = _noted(edges, f"{count} taken as the same nodes: --bipartite keeps them apart")
    if not chosen and (len(coincide) or min(len(sources), len(targets)) < FEWEST):
        return edges
    if not chosen and settings.directed:
        text = "read as a directed graph, so any two nodes may be asked about; no id is in both"
        return _noted(edges, f"{text} columns: without --directed they are two sides")
    names = side_names(edges.columns)
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


def on_sides(ids: Ids, edges: EdgeList) -> Ids:
    """Return two columns of ids with the prefixes that those of the edges got, if they lack them.

    >>> edges = EdgeList("", Ids(pa.array(["3"]), (), str), prefixes=("user:", "item:"))
    >>> columns = [pa.chunked_array([[text]]) for text in ("3", "item:3")]
    >>> on_sides(Ids.of(columns, str), edges).texts.to_pylist()
    ['user:3', 'item:3']
    """
    return ids if edges.prefixes is None else _prefixed(ids, edges.prefixes, unless_there=True)


def rows_on_sides(rows: NodeRows, column: str, edges: EdgeList) -> NodeRows:
    """Return rows about nodes whose ids have the prefixes that those of the edges got.

    Ids without a prefix belong to the side that the ``column`` of ids is named after.

    Raises:
        GraphError: if nothing says which side they are on.
    """
    if edges.prefixes is None or edges.sides is None:
        return rows
    there = pc.or_(*(pc.starts_with(rows.ids.texts, prefix) for prefix in edges.prefixes))
    names = [_side_name(name) for name in edges.sides]
    if _side_name(column) not in names:
        if pc.any(there, min_count=0).as_py():
            return rows
        ways = " or ".join(f"{prefix}3" for prefix in edges.prefixes)
        raise GraphError(
            f"{rows.table.where}: the same ids are on both sides, so that here they are {ways}: "
            f"write them so, or name their column {edges.sides[0]} or {edges.sides[1]}, "
            f"not {column}"
        )
    prefix = edges.prefixes[names.index(_side_name(column))]
    texts = pc.if_else(there, rows.ids.texts, prefixed(prefix, rows.ids.texts))
    return replace(rows, ids=Ids(texts, rows.ids.codes, rows.ids.locate))


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


def side_names(columns: tuple[str, str]) -> tuple[str, str]:
    """Return what ids are called by their column: ``user`` of ``user_id``.

    >>> side_names(("user_id", "item")), side_names(("a", "a:b"))
    (('user', 'item'), ('source', 'target'))
    """
    first, second = (name.strip().removesuffix("_id") or name for name in columns)
    # One name within the other could make two ids the same.
    unclear = f"{second}:".startswith(f"{first}:") or f"{first}:".startswith(f"{second}:")
    return ("source", "target") if unclear else (first, second)


def _noted(edges: EdgeList, note: str) -> EdgeList:
    return replace(edges, notes=(*edges.notes, f"{edges.where}: {note}"))


def _side_name(column: str) -> str:
    """Return what a column holds the ids of.

    >>> [_side_name(name) for name in ("User ID", "user_id", "items", "movieId")]
    ['user', 'user', 'item', 'movie']
    """
    plain = re.sub(r"[\s_.:-]*(ids?|names?|nr|no|num|number|code|key)$", "", column.strip().lower())
    return plain.removesuffix("s") or column.lower()


def _are_different_things(columns: tuple[str, str]) -> bool:
    """Return whether two columns are named after things of two kinds, such as users and items."""
    names = {_side_name(name) for name in columns}
    return len(names) == 2 and names <= _THINGS


def _prefixed(ids: Ids, prefixes: tuple[str, str], unless_there: bool = False) -> Ids:
    """Return the ids with each column's prefix before them."""
    texts, codes, before = [], [], 0
    for prefix, column in zip(prefixes, ids.codes, strict=True):
        distinct, own = np.unique(column, return_inverse=True)
        plain = ids.texts.take(pa.array(distinct))
        whole = prefixed(prefix, plain)
        texts.append(
            pc.if_else(pc.starts_with(plain, prefix), plain, whole) if unless_there else whole
        )
        codes.append(own + before)
        before += len(distinct)
    return Ids(pa.concat_arrays(texts), tuple(codes), ids.locate)


def prefixed(prefix: str, texts: pa.Array) -> pa.Array:
    """Return texts with a prefix."""
    return pc.binary_join_element_wise(pa.scalar(prefix), texts, "")
