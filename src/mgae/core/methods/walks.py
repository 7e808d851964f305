"""Embeddings from random walks that are read like sentences, by gensim (extra ``peers``)."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from mgae.core.errors import UnsupportedError
from mgae.core.methods.factorization import FixedEmbedding, Floats

Indices = NDArray[np.int64]
_STARTS_AT_ONCE = 65536


class DeepWalk(FixedEmbedding):
    """Skip-gram with negative samples over uniform walks; gensim has one thread, to be repeatable.

    Links are scored by the inner product, as the skip-gram compares two vectors.

    Args:
        num_walks: walks from each node.
        walk_length: nodes of a walk.
        window: nodes to each side that count as near.
        negatives: nodes that are drawn as not near, for each that is.
        passes: how often the walks are read.
        channels, cosine: see `FixedEmbedding`.
    """

    def __init__(
        self,
        channels: int = 128,
        cosine: bool = False,
        num_walks: int = 10,
        walk_length: int = 40,
        window: int = 5,
        negatives: int = 5,
        passes: int = 1,
    ) -> None:
        super().__init__(channels, cosine)
        self.num_walks, self.walk_length = num_walks, walk_length
        self.window, self.negatives, self.passes = window, negatives, passes

    def walk(self, edges: sp.csr_array, starts: Indices, generator: torch.Generator) -> Indices:
        """Return a walk from each of ``starts`` [s]: [s, walk_length]."""
        return uniform_walks(edges, starts, self.walk_length, generator)

    def factorize(self, edges: sp.csr_array) -> Floats:
        """Return the vectors of the nodes as words."""
        model = self._word2vec()(
            sentences=Corpus(self, edges),
            vector_size=self.channels,
            window=self.window,
            negative=self.negatives,
            epochs=self.passes,
            sg=1,
            sample=0,
            min_count=0,
            workers=1,
            seed=int(torch.randint(2**31, (), generator=self.generator())),
        )
        rows = [model.wv.key_to_index[str(node)] for node in range(edges.shape[0])]
        return np.asarray(model.wv.vectors[rows], dtype=np.float64)

    def _word2vec(self) -> Any:
        try:
            return importlib.import_module("gensim.models").Word2Vec
        except ImportError:
            raise UnsupportedError(
                f"method {self.name!r} needs gensim: pip install 'mgae[peers]'"
            ) from None


class Node2Vec(DeepWalk):
    """The same over walks that remember where they were.

    A step back counts 1 / p, to a neighbor of the last node 1, and to any other node 1 / q.

    Args:
        p, q: see above.
        options: arguments of `DeepWalk`.
    """

    def __init__(self, p: float = 1.0, q: float = 0.5, **options: Any) -> None:
        super().__init__(**options)
        self.p, self.q = p, q

    def walk(self, edges: sp.csr_array, starts: Indices, generator: torch.Generator) -> Indices:
        """Return a walk from each of ``starts`` [s]: [s, walk_length]."""
        return biased_walks(edges, starts, self.walk_length, generator, self.p, self.q)


@dataclass(frozen=True, eq=False)
class Corpus:
    """All walks as sentences; they are drawn anew, the same ones, each time that they are read."""

    method: DeepWalk
    edges: sp.csr_array

    def __iter__(self) -> Iterator[list[str]]:
        generator, num_nodes = self.method.generator(), self.edges.shape[0]
        words = [str(node) for node in range(num_nodes)]
        alone = self.edges.indptr[1:] == self.edges.indptr[:-1]
        for _ in range(self.method.num_walks):
            order = torch.randperm(num_nodes, generator=generator).numpy()
            for first in range(0, num_nodes, _STARTS_AT_ONCE):
                starts = order[first : first + _STARTS_AT_ONCE]
                for walk in self.method.walk(self.edges, starts, generator).tolist():
                    yield [words[node] for node in (walk[:1] if alone[walk[0]] else walk)]


def uniform_walks(
    edges: sp.csr_array, starts: Indices, length: int, generator: torch.Generator
) -> Indices:
    """Walk to a uniform neighbor ``length`` - 1 times: [s, length]; without any, stay."""
    walks = np.empty((starts.size, length), dtype=np.int64)
    walks[:, 0] = starts
    for step in range(1, length):
        walks[:, step] = _uniform_neighbor(edges, walks[:, step - 1], generator)
    return walks


def biased_walks(
    edges: sp.csr_array,
    starts: Indices,
    length: int,
    generator: torch.Generator,
    p: float,
    q: float,
) -> Indices:
    """Walk as node2vec does: [s, length].

    A uniform neighbor is drawn and taken with a probability that follows its bias; else another.
    """
    source = np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr))
    keys = np.sort(source * edges.shape[0] + edges.indices)
    walks = np.empty((starts.size, length), dtype=np.int64)
    walks[:, :2] = uniform_walks(edges, starts, 2, generator)[:, :length]
    for step in range(2, length):
        open_walks = np.arange(starts.size)
        while open_walks.size:
            before, now = walks[open_walks, step - 2], walks[open_walks, step - 1]
            following = _uniform_neighbor(edges, now, generator)
            near = _contains(keys, before * edges.shape[0] + following)
            bias = np.where(following == before, 1 / p, np.where(near, 1.0, 1 / q))
            taken = _uniform(open_walks.size, generator) * max(1 / p, 1.0, 1 / q) <= bias
            walks[open_walks[taken], step] = following[taken]
            open_walks = open_walks[~taken]
    return walks


def _uniform_neighbor(edges: sp.csr_array, nodes: Indices, generator: torch.Generator) -> Indices:
    first = edges.indptr[nodes]
    degree = edges.indptr[nodes + 1] - first
    index = first + (_uniform(nodes.size, generator) * degree).astype(np.int64)
    alone = degree == 0
    return np.where(alone, nodes, edges.indices[np.where(alone, 0, index)] if edges.nnz else nodes)


def _uniform(count: int, generator: torch.Generator) -> Floats:
    return torch.rand(count, generator=generator, dtype=torch.float64).numpy()


def _contains(keys: Indices, wanted: Indices) -> NDArray[np.bool_]:
    index = np.searchsorted(keys, wanted).clip(max=max(keys.size - 1, 0))
    return keys[index] == wanted if keys.size else np.zeros(wanted.size, dtype=bool)
