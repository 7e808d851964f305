"""Propose tails for the decoder to score, by products of a vector with all embeddings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn.functional import normalize

from mgae.core.decoders import Decoder
from mgae.core.graph import MessageGraph
from mgae.core.methods.base import Encoded, Method
from mgae.core.ops.sparse import row_pointers
from mgae.core.sides import Sides

# Tails at which a head's score is made linear.
_MOST_ANCHORS = 64


class Neighbors:
    """Hold the nodes that each node has an edge to; of a directed edge, its target."""

    def __init__(self, graph: MessageGraph) -> None:
        source, target = graph.edge_index
        order = torch.argsort(source, stable=True)
        self._targets: Tensor = target[order]
        self._ends = row_pointers(source[order], graph.num_nodes)

    def of(self, node: int) -> Tensor:
        """Return a node's neighbors in the order of their numbers: [degree]."""
        begin, end = self._ends[node : node + 2].tolist()
        return self._targets[begin:end]


class Index(Protocol):
    """Find the rows of a matrix that have the largest products with a vector."""

    def search(self, queries: Tensor, count: int) -> Tensor:
        """Return the numbers of ``count`` rows for each of ``queries`` [h, w], the best first."""


class PlainIndex:
    """Multiply with the whole matrix [n, w]: nothing is missed."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix

    def search(self, queries: Tensor, count: int) -> Tensor:
        """Return the best rows, the best first."""
        # In this order: a few queries on the left take the product five times as long.
        products = (self.matrix @ queries.t()).t()
        return torch.topk(products, count).indices


class FaissIndex:
    """Compute the same products in half precision by faiss: half the memory, and faster.

    Raises:
        ImportError: if faiss, the extra ``ann``, is not installed.
    """

    def __init__(self, matrix: Tensor) -> None:
        import faiss  # noqa: PLC0415 - an extra

        # Half precision ends at 65,504; a common factor does not change the order.
        rows = (matrix / matrix.abs().max().clamp(min=1e-30)).numpy()
        width = matrix.size(1)
        self.index = faiss.index_factory(width, "SQfp16", faiss.METRIC_INNER_PRODUCT)
        self.index.train(rows)
        self.index.add(rows)

    def search(self, queries: Tensor, count: int) -> Tensor:
        """Return the best rows, the best first but for what rounding swaps."""
        return torch.from_numpy(self.index.search(queries.numpy(), count)[1])


def open_index(matrix: Tensor) -> Index:
    """Return a faiss index if it is installed, else plain products."""
    try:
        return FaissIndex(matrix)
    except ImportError:
        return PlainIndex(matrix)


class Candidates:
    """Propose tails for heads.

    For one head the score is a function of the tail's embedding alone. It is made linear at the
    head's neighbors, where it is high: the gradient there is a vector whose product with an
    embedding says how high a tail will score. One half of the candidates has the largest products
    with it, the other half with the head's own embedding: with few candidates the first finds
    more, with many the second, and the two miss different ones. A method without a decoder has
    the nearest by the cosine.
    """

    def __init__(
        self,
        method: Method,
        encoded: Any,
        neighbors: Neighbors,
        embed: Callable[[], Tensor],
        sides: Sides | None = None,
    ) -> None:
        decoder = getattr(method, "decoder", None)
        linear = isinstance(decoder, Decoder) and isinstance(encoded, Encoded)
        self.decoder: Decoder | None = decoder if linear else None
        self.encoded, self.neighbors = encoded, neighbors
        self.matrix = encoded.rows.flatten(1) if linear else normalize(embed())
        self.sides = sides
        # By side: the nodes that its heads may be joined to, and an index of their rows.
        self.indices: dict[int, tuple[Tensor, Index]] = {}

    def of(self, heads: Tensor, count: int) -> list[Tensor]:
        """Return for each of ``heads`` [h] up to ``count`` nodes, and as many more as its degree.

        Its neighbors are likely among them, and may have to be left out. In a bipartite graph all
        are on the other side.
        """
        if self.sides is None:
            return self._search(heads, count, *self.index_of(int(heads[0])))
        side, rows = self.sides.of[heads], dict[int, Tensor]()
        for number in side.unique():
            some = heads[side == number]
            found = self._search(some, count, *self.index_of(int(some[0])))
            rows.update(zip(some.tolist(), found, strict=True))
        return [rows[head] for head in heads.tolist()]

    def index_of(self, head: int) -> tuple[Tensor, Index]:
        """Return the nodes that a head may be joined to, and an index of their rows."""
        side = -1 if self.sides is None else int(self.sides.of[head])
        if side not in self.indices:
            everyone = torch.arange(len(self.matrix))
            nodes = everyone if self.sides is None else self.sides.opposite(head)
            self.indices[side] = (
                nodes,
                open_index(self.matrix if self.sides is None else self.matrix[nodes]),
            )
        return self.indices[side]

    def _search(self, heads: Tensor, count: int, nodes: Tensor, index: Index) -> list[Tensor]:
        queries = torch.stack([self._queries(int(head)) for head in heads])
        ways = queries.size(1)
        counts = [count // ways + len(self.neighbors.of(int(head))) + 1 for head in heads]
        rows = index.search(queries.flatten(0, 1), min(max(counts), len(nodes)))
        by_head = zip(rows.view(len(heads), ways, -1), counts, strict=True)
        return [nodes[torch.unique(row[:, :most])] for row, most in by_head]

    def _queries(self, head: int) -> Tensor:
        """Return the vectors by which a head's tails are searched: [ways, w]."""
        own = self.matrix[head]
        if self.decoder is None:
            return own.unsqueeze(0)
        anchors = torch.cat([torch.tensor([head]), self.neighbors.of(head)[:_MOST_ANCHORS]])
        return torch.stack([tangent(self.decoder, self.encoded, head, anchors), own])


@torch.enable_grad()
def tangent(decoder: Decoder, encoded: Encoded, head: int, tails: Tensor) -> Tensor:
    """Return the mean gradient [K·d] of a head's score by the embedding of ``tails`` [n]."""
    ends = encoded.rows[tails].requires_grad_()
    heads = encoded.rows[head].expand_as(ends)
    score = decoder.score(heads, ends, None).mean()
    if encoded.undirected and not decoder.symmetric:
        score = score + decoder.score(ends, heads, None).mean()
    (gradient,) = torch.autograd.grad(score, ends)
    return gradient.sum(dim=0).flatten()
