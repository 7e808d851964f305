"""Propose tails for the decoder to score, by products of a vector with all embeddings."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn.functional import normalize

from mgae.core.decoders import Decoder
from mgae.core.graph import MessageGraph
from mgae.core.methods.base import Encoded, Method
from mgae.core.ops.sparse import row_pointers
from mgae.core.sides import Sides

_MOST_ANCHORS = 64  # tails at which a head's score is made linear
_HEADS_AT_ONCE = 512


class Neighbors:
    """Hold the nodes that each node has an edge to; of a directed edge, its target."""

    def __init__(self, graph: MessageGraph) -> None:
        source, target = graph.edge_index
        self._graph, self.num_nodes = graph, graph.num_nodes
        if graph.undirected:  # sorted by target, each with its reverse: nothing is to be sorted
            self._targets: Tensor = source
            self._ends = row_pointers(target, graph.num_nodes)
            return
        order = torch.argsort(source, stable=True)
        self._targets = target[order]
        self._ends = row_pointers(source[order], graph.num_nodes)

    def of(self, node: int) -> Tensor:
        """Return a node's neighbors in the order of their numbers: [degree]."""
        begin, end = self._ends[node : node + 2].tolist()
        return self._targets[begin:end]

    def count(self, nodes: Tensor) -> Tensor:
        """Return how many neighbors each of ``nodes`` [n] has: [n]."""
        return self._ends[nodes + 1] - self._ends[nodes]

    def first(self, nodes: Tensor, most: int) -> tuple[Tensor, Tensor]:
        """Return up to ``most`` neighbors of each of ``nodes`` [n]: whose they are, and they."""
        counts = self.count(nodes).clamp(max=most)
        owner = torch.arange(len(nodes)).repeat_interleave(counts)
        number = torch.arange(len(owner)) - (counts.cumsum(0) - counts)[owner]
        return owner, self._targets[self._ends[nodes][owner] + number]

    def join(self, heads: Tensor, tails: Tensor) -> Tensor:
        """Return whether each of ``tails`` [n] is a neighbor of its head: [n]."""
        keys = heads * self.num_nodes + tails
        index = torch.searchsorted(self._keys, keys).clamp_(max=max(0, len(self._keys) - 1))
        return self._keys[index] == keys if len(self._keys) else torch.zeros_like(keys).bool()

    @cached_property
    def _keys(self) -> Tensor:
        """Each node and its neighbor as one number, rising."""
        if self._graph.undirected:
            return self._graph.edge_keys
        counts = self._ends.diff()
        return torch.arange(self.num_nodes).repeat_interleave(counts) * self.num_nodes + (
            self._targets
        )


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
        rows = (matrix / matrix.abs().max().clamp(min=1e-30)).cpu().numpy()
        width = matrix.size(1)
        self.index = faiss.index_factory(width, "SQfp16", faiss.METRIC_INNER_PRODUCT)
        self.index.train(rows)
        self.index.add(rows)

    def search(self, queries: Tensor, count: int) -> Tensor:
        """Return the best rows, the best first but for what rounding swaps."""
        return torch.from_numpy(self.index.search(queries.cpu().numpy(), count)[1])


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

    def of(self, heads: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """Return up to ``count`` nodes for each of ``heads`` [h], and as many more as its degree.

        Its neighbors are likely among them, and may have to be left out. In a bipartite graph all
        are on the other side. The values are which of the heads [n], rising, and the nodes [n].
        """
        keys = [torch.empty(0, dtype=torch.long)]
        sides = torch.zeros_like(heads) if self.sides is None else self.sides.of[heads]
        # Few heads have many neighbors: these alone are searched as deep as that takes.
        deep = (count + self.neighbors.count(heads)).double().log2().ceil().long()
        for side, depth in torch.unique(torch.stack([sides.long(), deep]), dim=1).t().tolist():
            which = ((sides == side) & (deep == depth)).nonzero().squeeze(1)
            for some in which.split(_HEADS_AT_ONCE):
                nodes, index = self.index_of(int(heads[some[0]]))
                rows, tails = self._search(heads[some], count, nodes, index)
                keys.append(some[rows] * len(self.matrix) + tails)
        both = torch.unique(torch.cat(keys))
        return both // len(self.matrix), both % len(self.matrix)

    def index_of(self, head: int) -> tuple[Tensor, Index]:
        """Return the nodes that a head may be joined to, and an index of their rows."""
        side = -1 if self.sides is None else int(self.sides.of[head])
        if side not in self.indices:
            everyone = torch.arange(len(self.matrix))
            nodes = everyone if self.sides is None else self.sides.opposite(head)
            rows = self.matrix
            if self.sides is not None:
                rows = rows[nodes.to(rows.device)]
            self.indices[side] = nodes, open_index(rows)
        return self.indices[side]

    def _search(
        self, heads: Tensor, count: int, nodes: Tensor, index: Index
    ) -> tuple[Tensor, Tensor]:
        """Return which of the heads [n], and nodes [n]."""
        queries = self._queries(heads)
        ways = queries.size(1)
        counts = count // ways + self.neighbors.count(heads) + 1
        most = min(int(counts.max()), len(nodes))
        rows = index.search(queries.flatten(0, 1).contiguous(), most).cpu()
        rows = rows.view(len(heads), ways, most)
        kept = (torch.arange(most) < counts.view(-1, 1, 1)) & (rows >= 0)
        which, _, _ = kept.nonzero(as_tuple=True)
        return which, nodes[rows[kept]]

    def _queries(self, heads: Tensor) -> Tensor:
        """Return the vectors by which the tails of heads [h] are searched: [h, ways, w]."""
        own = self.matrix[heads.to(self.matrix.device)]
        if self.decoder is None:
            return own.unsqueeze(1)
        owner, anchors = self.neighbors.first(heads, _MOST_ANCHORS)
        owner = torch.cat([torch.arange(len(heads)), owner])
        anchors = torch.cat([heads, anchors])
        asked = (one.to(self.matrix.device) for one in (heads, owner, anchors))
        slopes = tangents(self.decoder, self.encoded, *asked)
        return torch.stack([slopes, own], dim=1)


@torch.enable_grad()
def tangents(
    decoder: Decoder, encoded: Encoded, heads: Tensor, owner: Tensor, tails: Tensor
) -> Tensor:
    """Return the mean gradient [h, K·d] of each head's score by the embeddings of its tails.

    ``tails`` [n] are those of ``heads[owner]`` [n].
    """
    ends = encoded.rows[tails].requires_grad_()
    rows = encoded.rows[heads]
    if encoded.undirected and not decoder.symmetric:
        scores = 2 * decoder.score_both(rows[owner], ends)
    else:
        scores = decoder.score(rows[owner], ends, None)
    shares = 1 / torch.bincount(owner, minlength=len(heads))[owner]
    (gradient,) = torch.autograd.grad((scores * shares).sum(), ends)
    return torch.zeros_like(rows).index_add(0, owner, gradient).flatten(1)
