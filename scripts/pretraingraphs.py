"""The graphs that the shipped evidence model is trained on: all may be shipped with, and no others.

Planetoid's citation graphs are under the MIT licence; the rest is drawn here, by fixed seeds. The
graphs of other sources only measure what comes out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import networkx as nx
import numpy as np
import torch
from scipy import sparse
from scipy.spatial import Delaunay
from torch_geometric.data import Data

from mgae.core.graph import MessageGraph
from mgae.data import load_graph

PLANETOID = ("cora", "citeseer", "pubmed")  # MIT, see the licence of kimiyoung/planetoid
Chance = np.random.Generator


@dataclass(frozen=True)
class Source:
    """A graph by its name; ``weight`` says how often a step of the training draws it."""

    name: str
    open: Callable[[], MessageGraph]
    weight: float = 1.0


def sources(leave_out: str | None = None) -> list[Source]:
    """Return all graphs, less the named one."""
    real = [
        Source(name + mark, partial(planetoid, name, bool(mark)), 4.0)
        for name in PLANETOID
        for mark in ("", "+features")
        if name != leave_out
    ]
    return real + [
        Source(f"{kind}-{number}", partial(drawn, kind, number))
        for kind, variants in KINDS.items()
        for number in range(len(variants))
    ]


def planetoid(name: str, features: bool) -> MessageGraph:
    """Return a citation graph with its features or without."""
    graph = load_graph(name)
    if not features:
        graph.x = None
    return MessageGraph.of(graph)


def drawn(kind: str, number: int) -> MessageGraph:
    """Draw one of the synthetic graphs; the seed is its number."""
    return KINDS[kind][number](np.random.default_rng(number))


def of_pairs(pairs: np.ndarray, size: int, x: np.ndarray | None = None) -> MessageGraph:
    """Return an undirected graph of pairs [n, 2]."""
    both = torch.from_numpy(np.concatenate([pairs, pairs[:, ::-1]]).T.astype(np.int64).copy())
    features = None if x is None else torch.from_numpy(x).float()
    return MessageGraph.of(Data(edge_index=both, num_nodes=size, x=features))


def of_networkx(graph: nx.Graph) -> MessageGraph:
    """Return an undirected graph whose nodes are numbered from 0."""
    return of_pairs(np.array(graph.edges), graph.number_of_nodes())


def community(
    size: int, degree: float, blocks: int, mixing: float, power: float, words: float, rng: Chance
) -> MessageGraph:
    """Draw blocks with hubs inside; ``words``: how much a node's features say of its block."""
    block = rng.integers(blocks, size=size)
    wish = rng.pareto(power, size) + 1
    count = int(size * degree / 2)
    head = rng.choice(size, count, p=wish / wish.sum())
    tail = rng.choice(size, count, p=wish / wish.sum())
    for label in range(blocks):
        mine = np.flatnonzero(block == label)
        inside = (block[head] == label) & (rng.random(count) > mixing)
        tail[inside] = rng.choice(mine, inside.sum(), p=wish[mine] / wish[mine].sum())
    x = None
    if words >= 0:
        topic = rng.random((blocks, 300)) ** 6
        x = rng.random((size, 300)) < 0.06 * (words * topic[block] / topic.mean() + 1 - words)
    return of_pairs(closed(np.stack([head, tail], 1), size, 0.3, rng), size, x)


def closed(pairs: np.ndarray, size: int, share: float, rng: Chance) -> np.ndarray:
    """Add edges between neighbors of a node, ``share`` as many as there are pairs."""
    ones = np.ones(len(pairs))
    matrix = sparse.csr_array((ones, pairs.T), shape=(size, size))
    matrix = sparse.csr_array(matrix + matrix.T)
    middle = rng.choice(pairs.ravel(), int(share * len(pairs)))
    width = np.diff(matrix.indptr)[middle]
    ends = [matrix.indices[matrix.indptr[middle] + rng.integers(width)] for _ in range(2)]
    return np.concatenate([pairs, np.stack(ends, 1)])


def cliques(size: int, groups: int, largest: int, rng: Chance) -> MessageGraph:
    """Draw teams of which all members are joined, as authors of a paper; veterans join more."""
    pairs, wish = [], np.ones(size)
    for _ in range(groups):
        first = rng.choice(size, p=wish / wish.sum())
        near = np.abs(np.arange(size) - first) < size // 20
        team = rng.choice(size, rng.integers(2, largest), p=wish * near / (wish * near).sum())
        team = np.unique(np.append(team, first))
        wish[team] += 1
        pairs += [(a, b) for a in team for b in team if a < b]
    return of_pairs(np.array(pairs), size)


def grid(size: int, extra: float, rng: Chance) -> MessageGraph:
    """Draw lines between near places: a shortest tree, and a share of other short lines."""
    at = rng.random((size, 2))
    corners = Delaunay(at).simplices
    pairs = np.unique(np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]]])), axis=0)
    length = np.linalg.norm(at[pairs[:, 0]] - at[pairs[:, 1]], axis=1)
    matrix = sparse.csr_array((length, pairs.T), shape=(size, size))
    tree = np.stack(sparse.csgraph.minimum_spanning_tree(matrix).nonzero(), 1)
    short = pairs[np.argsort(length * rng.random(len(pairs)))[: int(extra * size)]]
    return of_pairs(np.concatenate([tree, short]), size)


def bipartite(users: int, items: int, degree: float, groups: int, rng: Chance) -> MessageGraph:
    """Draw users and the items they took: of their own group, and popular ones."""
    group = rng.integers(groups, size=users), rng.integers(groups, size=items)
    active, liked = rng.pareto(2, users) + 1, rng.pareto(1.5, items) + 1
    count = int(users * degree)
    user = rng.choice(users, count, p=active / active.sum())
    item = rng.choice(items, 6 * count, p=liked / liked.sum()).reshape(count, 6)
    fits = group[1][item] == group[0][user][:, None]
    chosen = item[np.arange(count), np.where(fits.any(1), fits.argmax(1), 0)]
    graph = of_pairs(np.stack([user, chosen + users], 1), users + items)
    side = (torch.arange(users + items) >= users).to(torch.int8)
    return MessageGraph(graph.edge_index, graph.num_nodes, side=side)


def shuffled(make: Callable[..., nx.Graph], *values: float, seed: str = "seed") -> Callable:
    """Return a drawing by one of networkx' generators."""
    return lambda rng: of_networkx(
        nx.convert_node_labels_to_integers(make(*values, **{seed: int(rng.integers(2**31))}))
    )


def _communities(*rows: tuple[float, ...]) -> list[Callable[[Chance], MessageGraph]]:
    return [partial(community, int(n), d, int(b), m, p, w) for n, d, b, m, p, w in rows]


KINDS: dict[str, list[Callable[[Chance], MessageGraph]]] = {
    "community": _communities(
        (800, 6, 20, 0.2, 3, -1), (1500, 25, 3, 0.15, 1.2, -1), (3000, 8, 40, 0.3, 2, -1),
        (4000, 12, 18, 0.2, 1.5, -1), (2000, 30, 10, 0.3, 1.2, -1), (6000, 4, 60, 0.1, 2.5, -1),
    ),
    "words": _communities(
        (1500, 5, 8, 0.2, 2.5, 0.5), (2500, 14, 12, 0.3, 1.3, 0.2), (2000, 10, 6, 0.2, 2, 0.0),
        (4000, 8, 30, 0.2, 2, 0.9), (1200, 30, 5, 0.3, 1.2, 0.4),
    ),
    "power-law": [
        shuffled(nx.powerlaw_cluster_graph, n, m, p)
        for n, m, p in (
            (1000, 2, 0.8), (2500, 5, 0.6), (4000, 3, 0.3), (1500, 12, 0.8), (3000, 2, 0.05),
        )
    ],
    "duplication": [
        shuffled(nx.duplication_divergence_graph, n, p)
        for n, p in ((1500, 0.4), (2500, 0.45), (2000, 0.5))
    ],
    "geometric": [
        shuffled(nx.random_geometric_graph, n, r)
        for n, r in ((600, 0.06), (2000, 0.04), (4000, 0.018), (1500, 0.08))
    ],
    "cliques": [
        partial(cliques, *row)
        for row in ((400, 250, 6), (1200, 700, 9), (3000, 2200, 5), (2400, 1500, 20))
    ],
    "grid": [partial(grid, *row) for row in ((1000, 0.3), (5000, 0.35), (2500, 0.1), (4000, 0.8))],
    "small-world": [
        shuffled(nx.watts_strogatz_graph, n, k, p)
        for n, k, p in ((1000, 4, 0.1), (3000, 6, 0.05), (2000, 10, 0.3))
    ],
    "bipartite": [
        partial(bipartite, *row)
        for row in ((600, 300, 8, 5), (2500, 1200, 10, 12), (1500, 2500, 20, 8), (3000, 400, 5, 4))
    ],
}  # fmt: skip
