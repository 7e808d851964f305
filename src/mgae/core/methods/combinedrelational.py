"""The evidence of links beside a relational autoencoder, for graphs whose edges have types.

The evidence does not tell types apart, the network does. So there are three sets of weights: for
pairs, for the tails of a head, and for the tails of a head that one type of edge may join.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mgae.core.evidence import Shortlist
from mgae.core.evidence.folds import Contests
from mgae.core.graph import MessageGraph
from mgae.core.methods.combined import RANKED_EDGES, Combined, EncodedBoth, joined
from mgae.core.methods.evidencemodel import EvidenceModel, Start
from mgae.core.methods.relational import RelationalAutoencoder
from mgae.core.methods.weighing import NETWORK, RANK, choose_rank, only

_AS_SOURCE, _AS_TARGET = 0, 1


class CombinedRelationalModel(Combined):
    """The evidence model beside a relational autoencoder.

    Args:
        num_nodes, num_features, num_types, channels, num_layers, num_bases, ratio, num_negatives,
            dropout, step_size: of the autoencoder.
        folds, max_edges, shortlist, start: of the evidence model.
        evidence_epochs: of the evidence model, each of as many steps as there are folds.
    """

    typed = True
    typed_weights: Tensor

    def __init__(
        self,
        num_nodes: int,
        num_features: int = 0,
        num_types: int = 1,
        channels: int = 32,
        num_layers: int = 2,
        num_bases: int = 4,
        ratio: float = 0.5,
        num_negatives: int = 4,
        dropout: float = 0.2,
        folds: int = 8,
        max_edges: int = 6000,
        shortlist: int = 50,
        start: Start = "auto",
        evidence_epochs: int = 125,
        step_size: int | None = None,
    ) -> None:
        network = RelationalAutoencoder(
            num_nodes, num_features, num_types, channels, num_layers, num_bases, ratio,
            num_negatives, dropout, step_size,
        )  # fmt: skip
        evidence = EvidenceModel(
            num_features, folds, max_edges=max_edges, shortlist=shortlist, start=start
        )
        super().__init__(network, evidence, evidence_epochs)
        self.register_buffer("typed_weights", only(NETWORK, len(self.link_weights)))

    def rank_links(self, encoded: EncodedBoth, pairs: Tensor) -> Tensor:
        """Return what ranks the tails of a head, for pairs [2, n] or triples [3, n]."""
        typed = pairs.size(0) == 3
        return self._of_pairs(self.typed_weights if typed else self.rank_weights, encoded, pairs)

    def score_typed_tails(
        self, encoded: EncodedBoth, heads: Tensor, tails: Tensor, kind: int
    ) -> Tensor:
        """Return the ranking scores [h, n] of edges of one type."""
        scores = self._evidence_of_tails(self.typed_weights, encoded, heads, tails)
        if self.typed_weights[NETWORK]:
            network = self._asked.score_typed_tails(encoded.network, heads, tails, kind)
            scores += self.typed_weights[NETWORK] * network
        return scores

    def settle(self, graph: MessageGraph, positives: Tensor, negatives: Tensor) -> None:
        """Choose all weights on validation triples [3, n]; without any, evidence."""
        super().settle(graph, positives, negatives)
        if not self.knows_evidence:
            return
        self.typed_weights.copy_(only(RANK, len(self.typed_weights)))
        positives = joined(graph, positives)
        if positives.size(0) == 3 and positives.size(1):
            self.typed_weights.copy_(self._choose_typed(graph, positives))

    def _choose_typed(self, graph: MessageGraph, triples: Tensor) -> Tensor:
        """Return the weights by which hidden ends come first, given the other end and the type."""
        encoded, some = self.encode(graph), triples[:, :RANKED_EDGES]
        heads, index = torch.unique(some[:2], return_inverse=True)
        lists = encoded.evidence.evidence.shortlist(heads.numpy(), self.evidence.count)
        roles = torch.tensor([_AS_SOURCE, _AS_TARGET]).repeat_interleave(some.size(1))
        asked = torch.stack([index.flatten(), some[2].repeat(2), roles])
        asked = torch.unique(asked, dim=1)
        question, row = _repeated(torch.from_numpy(lists.head), asked[0].contiguous())
        head, tail = heads[asked[0]][question], torch.from_numpy(lists.tail)[row]
        kind, turned = asked[1][question], asked[2][question] == _AS_TARGET
        drawn = torch.stack(
            [torch.where(turned, tail, head), torch.where(turned, head, tail), kind]
        )
        is_edge = torch.isin(_keys(drawn, graph), _keys(triples, graph))
        listed = Shortlist(question.numpy(), tail.numpy(), lists.values[row.numpy()])
        contests = Contests.of(listed, is_edge)
        values = self._sources(encoded, drawn, contests.values)
        return choose_rank(contests, values, self._single_columns)

    @property
    def remembers_edges(self) -> bool:
        """Whether the network has a say in a ranking."""
        return super().remembers_edges or bool(self.typed_weights[NETWORK])

    @property
    def choice(self) -> dict[str, dict[str, float]]:
        """What each score is made of: for ``link``, ``rank`` and ``typed`` the sources' weights."""
        return super().choice | {"typed": self._named(self.typed_weights)}


def _repeated(head: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Return the rows of each of the ``wanted`` heads [w]; ``head`` [n] rises.

    The first value says which of the wanted ones a row is for, the second is the row.
    """
    first = torch.searchsorted(head, wanted)
    length = torch.searchsorted(head, wanted, right=True) - first
    question = torch.repeat_interleave(torch.arange(len(wanted)), length)
    before = torch.repeat_interleave(first - length.cumsum(0) + length, length)
    return question, torch.arange(len(question)) + before


def _keys(triples: Tensor, graph: MessageGraph) -> Tensor:
    return (triples[2] * graph.num_nodes + triples[0]) * graph.num_nodes + triples[1]
