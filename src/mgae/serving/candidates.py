"""Which tails are worth the decoder's time, told by one product of a vector with all embeddings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn.functional import normalize

from mgae.decoders import Decoder
from mgae.methods.base import Encoded, Method
from mgae.serving.neighbors import Neighbors

# Tails at which a head's score is made linear.
_MOST_ANCHORS = 64
# Below this the plain product is as fast as a search of cells, and misses nothing.
_FAISS_FROM = 1_000_000


class Index(Protocol):
    """Finds the rows of a matrix that have the largest products with a vector."""

    def search(self, queries: Tensor, count: int) -> Tensor:
        """The numbers of ``count`` rows for each of ``queries`` [h, w], the best first."""


class PlainIndex:
    """A product with the whole matrix [n, w]: nothing is missed."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix

    def search(self, queries: Tensor, count: int) -> Tensor:
        """The best first."""
        return torch.topk(queries @ self.matrix.t(), count).indices


class FaissIndex:
    """The rows in cells, of which a search sees some: for millions of nodes, where it pays.

    Raises:
        ImportError: without faiss, the extra ``ann``.
    """

    def __init__(self, matrix: Tensor) -> None:
        import faiss  # noqa: PLC0415 - an extra

        cells = int(4 * len(matrix) ** 0.5)
        self.index = faiss.index_factory(
            matrix.size(1), f"IVF{cells},Flat", faiss.METRIC_INNER_PRODUCT
        )
        self.index.train(matrix.numpy())
        self.index.add(matrix.numpy())
        self.index.nprobe = max(1, cells // 16)

    def search(self, queries: Tensor, count: int) -> Tensor:
        """Those that are in the searched cells; -1 where these hold fewer."""
        return torch.from_numpy(self.index.search(queries.numpy(), count)[1])


def open_index(matrix: Tensor) -> Index:
    """faiss where it is installed and pays, plain products otherwise."""
    if len(matrix) >= _FAISS_FROM:
        with suppress(ImportError):
            return FaissIndex(matrix)
    return PlainIndex(matrix)


class Candidates:
    """Proposes tails for heads.

    For one head the score is a function of the tail's embedding alone. It is made linear at the
    head's neighbors, where it is high: the gradient there is the vector whose product with an
    embedding says most cheaply how high a tail will score. That finds what the decoder likes;
    the nearest embeddings are often not that. A method without a decoder takes the nearest.
    """

    def __init__(
        self, method: Method, encoded: Any, neighbors: Neighbors, embed: Callable[[], Tensor]
    ) -> None:
        decoder = getattr(method, "decoder", None)
        linear = isinstance(decoder, Decoder) and isinstance(encoded, Encoded)
        self.decoder: Decoder | None = decoder if linear else None
        self.encoded, self.neighbors = encoded, neighbors
        self.matrix = encoded.rows.flatten(1) if linear else normalize(embed())
        self.index = open_index(self.matrix)

    def of(self, heads: Tensor, count: int) -> list[Tensor]:
        """For each of ``heads`` [h] ``count`` nodes, and as many more as it is joined to.

        Its neighbors are likely among them, and may have to be left out.
        """
        counts = [count + len(self.neighbors.of(int(head))) + 1 for head in heads]
        queries = torch.stack([self._query(int(head)) for head in heads])
        found = self.index.search(queries, min(max(counts), len(self.matrix)))
        rows = (row[:most] for row, most in zip(found, counts, strict=True))
        return [row[row >= 0].sort().values for row in rows]

    def _query(self, head: int) -> Tensor:
        if self.decoder is None:
            return self.matrix[head]
        anchors = torch.cat([torch.tensor([head]), self.neighbors.of(head)[:_MOST_ANCHORS]])
        return tangent(self.decoder, self.encoded, head, anchors)


@torch.enable_grad()
def tangent(decoder: Decoder, encoded: Encoded, head: int, tails: Tensor) -> Tensor:
    """The mean gradient [K·d] of a head's score by the embedding of ``tails`` [n]."""
    ends = encoded.rows[tails].requires_grad_()
    heads = encoded.rows[head].expand_as(ends)
    score = decoder.score(heads, ends, None).mean()
    if encoded.undirected and not decoder.symmetric:
        score = score + decoder.score(ends, heads, None).mean()
    (gradient,) = torch.autograd.grad(score, ends)
    return gradient.sum(dim=0).flatten()
