"""Say why a link is recommended: facts of the graph in one sentence, and what adds up to its score.

Facts are read off the graph as everybody can check them: neighbors in common, paths of length 3,
the distance, attributes and features in common, and the neighbor that the other node is most like.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from mgae.core.graph import MessageGraph, edge_matrix
from mgae.data.ids import counted

if TYPE_CHECKING:
    from mgae.serving.recommender import Recommender

_NAMED = 3  # neighbors in common, the rarest


@dataclass(frozen=True)
class Named:
    """A node by its id, its title if it has one, and for a similar node the cosine."""

    node: Any
    title: str | None = None
    cosine: float | None = None

    @property
    def name(self) -> str:
        """What a person reads."""
        return self.title or str(self.node)


@dataclass(frozen=True)
class Contribution:
    """What one part adds to a score.

    Attributes:
        source: ``link`` or ``rank``, an output of the evidence model; ``column``, a single column
            of the evidence; ``network``; or ``score``, of a method that has no parts.
        about: what the source looks at, such as ``common neighbors``; ``a mean pair`` is what it
            gives before it knows anything of this one.
    """

    source: str
    about: str
    value: float


@dataclass(frozen=True)
class Why:
    """Why a link from a node to another is recommended.

    Attributes:
        sentence: the facts, for people.
        common: nodes joined to both, those with the fewest neighbors first; in a bipartite graph
            the node's own neighbors from which two steps lead to the other.
        num_common: how many there are.
        paths: the number of paths of length 3 between the two.
        distance: steps from one to the other; None if there is no path.
        attributes: in which the two agree.
        feature: the rarest that both have, and None without one.
        similar: the node's neighbor that the other is most like by the embedding, or None.
        contributions: they add up to the score.
    """

    sentence: str
    common: list[Named]
    num_common: int
    paths: int
    distance: int | None
    attributes: dict[str, str]
    feature: str | None
    similar: Named | None
    contributions: list[Contribution] = field(default_factory=list)


class Explainer:
    """Explain links of one predictor's graph; directions of edges do not count."""

    def __init__(self, predictor: Recommender) -> None:
        self.predictor, self.nodes = predictor, predictor.nodes
        graph: MessageGraph = predictor.known_edges
        self.joined, self.two_sided = edge_matrix(graph), graph.sides is not None
        self.degree = np.diff(self.joined.indptr)

    def why(self, head: int, tails: Sequence[int], ranking: bool = True) -> list[Why]:
        """Return the reasons for links of a node to others, all by their numbers."""
        if not len(tails):
            return []
        distance = self._distances(head, tails)
        paths = self._paths(head)
        parts = self.predictor.score_parts(_pairs(head, tails), ranking)
        reasons = []
        for n, tail in enumerate(tails):
            common = self._common(head, tail)
            # A walk along the edge itself and back is no path.
            degenerate = self.degree[head] + self.degree[tail] - 1 if distance[n] == 1 else 0
            why = Why(
                "",
                [self._named(number) for number in common[:_NAMED]],
                len(common),
                round(float(paths[tail] - degenerate)),
                distance[n],
                {} if self.texts is None else self.texts.shared(head, tail),
                self._feature(head, tail),
                self._similar(head, tail),
                [Contribution(*name, float(part[n])) for name, part in parts.items()],
            )
            sentence = sentence_of(why, self.nodes.name(head), self.two_sided)
            reasons.append(Why(**{**vars(why), "sentence": sentence}))
        return reasons

    @property
    def texts(self) -> Any:
        """The texts of the nodes, if they have any."""
        return self.predictor.fields.get("texts")

    def _named(self, number: int, cosine: float | None = None) -> Named:
        return Named(self.nodes.ids[number], self.nodes.title(number), cosine)

    def _neighbors(self, number: int) -> np.ndarray:
        start, end = self.joined.indptr[number : number + 2]
        neighbors: np.ndarray = self.joined.indices[start:end]
        return neighbors

    def _common(self, head: int, tail: int) -> list[int]:
        near = self._neighbors(tail)
        if self.two_sided:
            near = np.unique(self.joined[near].indices)
            near = near[near != head]
        shared = np.intersect1d(self._neighbors(head), near)
        shared = shared[shared != tail]
        numbers: list[int] = shared[np.argsort(self.degree[shared], kind="stable")].tolist()
        return numbers

    def _paths(self, head: int) -> np.ndarray:
        reached: np.ndarray = np.zeros(self.joined.shape[0])
        reached[head] = 1
        for _ in range(3):
            reached = self.joined @ reached
        return reached

    def _distances(self, head: int, tails: Sequence[int]) -> list[int | None]:
        """Walk outwards until all tails are reached, or nothing new is."""
        steps = np.full(self.joined.shape[0], -1)
        steps[head], front, step = 0, np.array([head]), 0
        while len(front) and (steps[list(tails)] < 0).any():
            step += 1
            near = np.unique(self.joined[front].indices)
            front = near[steps[near] < 0]
            steps[front] = step
        return [None if steps[tail] < 0 else int(steps[tail]) for tail in tails]

    @cached_property
    def _feature_weights(self) -> Tensor | None:
        """One over the mean square of each feature [F]; None if they are no counts or shares."""
        x = self.predictor.fields.x
        if x is None or bool(x.min() < 0):
            return None
        lengths: Tensor = torch.linalg.vector_norm(x, dim=0)
        return 1 / lengths.square().clamp(min=1e-12)

    def _feature(self, head: int, tail: int) -> str | None:
        weights = self._feature_weights
        if weights is None:
            return None
        x = self.predictor.fields.x
        both = x[head] * x[tail] * weights
        best = int(both.argmax())
        if both[best] <= 0:
            return None
        names = self.predictor.fields.get("feature_names")
        return str(names[best]) if names else f"number {best}"

    def _similar(self, head: int, tail: int) -> Named | None:
        neighbors = self._neighbors(head)
        neighbors = neighbors[neighbors != tail]
        if not self.predictor.embeds or not len(neighbors):
            return None
        cosines = self.predictor.cosines(tail, torch.from_numpy(neighbors).long())
        best = int(cosines.argmax())
        if cosines[best] <= 0:
            return None
        return self._named(int(neighbors[best]), float(cosines[best]))


def sentence_of(why: Why, name: str, two_sided: bool = False) -> str:
    """Return the facts about a link of the node with this name in one sentence."""
    facts = [_nearness(why, two_sided)]
    facts += [f"the same {key} ({value})" for key, value in why.attributes.items()]
    if why.feature is not None and not why.attributes:
        facts.append(f"a feature in common ({why.feature})")
    text = ", ".join(facts)
    if why.similar is not None:
        text += (
            f"; among the neighbors of {name} it is most like {why.similar.name} "
            f"(cosine {why.similar.cosine:.2f})"
        )
    return f"{text[0].upper()}{text[1:]}."


def _nearness(why: Why, two_sided: bool) -> str:
    paths = f"{counted(why.paths, 'path')} of length 3"
    names = ", ".join(node.name for node in why.common)
    rarest = "the rarest " if why.num_common > len(why.common) else ""
    if why.num_common and two_sided:
        return f"{paths} by way of {counted(why.num_common, 'neighbor')} ({rarest}{names})"
    if why.num_common:
        common = f"{counted(why.num_common, 'neighbor')} in common ({rarest}{names})"
        return f"{common}, {paths}" if why.paths else common
    if why.distance is None:
        return "no path between the two"
    if why.paths:
        return f"no neighbor in common, {paths}"
    return f"no neighbor in common, {counted(why.distance, 'step')} apart"


def sum_of(contributions: Sequence[Contribution]) -> str:
    """Return what adds up in one line, the largest first; sources of one kind together.

    >>> parts = [("link", "degrees", 1.0), ("network", "network", -2.0), ("rank", "degrees", 2.0)]
    >>> sum_of([Contribution(*part) for part in parts])
    'degrees +3.00, network -2.00'
    """
    sums: dict[str, float] = {}
    for part in contributions:
        sums[part.about] = sums.get(part.about, 0.0) + part.value
    ordered = sorted(sums.items(), key=lambda item: -abs(item[1]))
    return ", ".join(f"{about} {value:+.2f}" for about, value in ordered)


def _pairs(head: int, tails: Sequence[int]) -> Tensor:
    return torch.tensor([[head] * len(tails), list(tails)])
