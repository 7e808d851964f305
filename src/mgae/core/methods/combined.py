"""The evidence of links and a masked autoencoder, each trained alone, weighted by validation.

The evidence model counts and the network reads features and long patterns. Trained together, the
network fits what the evidence leaves over on the training edges and loses on new ones; trained
alone and added with two weights, it helps where it can. The weights, and whether a single part or
a plain heuristic is better than the sum, come from validation edges that neither has met.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from mgae.core.decoders import Decoder
from mgae.core.encoders import Encoder
from mgae.core.evidence.folds import Contests, are_among
from mgae.core.graph import MessageGraph
from mgae.core.losses import Loss
from mgae.core.masks import Mask
from mgae.core.methods.base import Encoded, Likely, Method, Parts, Stage
from mgae.core.methods.evidencemodel import EncodedEvidence, EvidenceModel, Start, column_parts
from mgae.core.methods.masked import MaskedGraphAutoencoder
from mgae.core.methods.ondevice import device_of, on_device
from mgae.core.methods.weighing import (
    LINK,
    NETWORK,
    PARTS,
    RANK,
    choose_link,
    choose_rank,
    only,
)
from mgae.core.seeding import Generators

# Columns that are heuristics by themselves: the higher, the likelier.
HEURISTICS = ("common neighbors", "adamic-adar", "resource allocation", "l3", "pagerank", "katz")
RANKED_EDGES = 500  # validation edges whose ends have their shortlists scored
_FEWEST_PAIRS = 20  # below that chance would choose
_WHOLE = {
    "stop": None,
    "budget": None,
    "max_steps": None,
    "average": 0.0,
}  # the evidence is trained to the end of its epochs
_EVIDENCE_SETTINGS = {
    "learning_rate": 0.005,
    "weight_decay": 5e-5,
    "schedule": "cosine",
    "clip": 1.0,
}


@dataclass(frozen=True, eq=False)
class EncodedBoth:
    """What both parts made of one graph."""

    evidence: EncodedEvidence
    network: Encoded


class Combined(Method):
    """The weighted sum of a network and the two outputs of an `EvidenceModel`.

    Args:
        network: a method that is trained by itself.
        evidence: trained before it.
        evidence_epochs: of the evidence model, each of as many steps as there are folds.
    """

    shortlists = True
    may_leave_features = True
    stays_on_cpu = True  # but for its network
    link_weights: Tensor
    rank_weights: Tensor
    knows_evidence: Tensor

    def __init__(self, network: Method, evidence: EvidenceModel, evidence_epochs: int) -> None:
        super().__init__()
        self.network, self.evidence = network, evidence
        self.evidence_epochs = evidence_epochs
        sources = len(PARTS) + len(self.evidence.names)
        self.register_buffer("knows_evidence", torch.tensor(False))
        # Until `settle` the network alone is scored: validation chooses its epoch.
        self.register_buffer("link_weights", only(NETWORK, sources))
        self.register_buffer("rank_weights", only(NETWORK, sources))

    def move_to(self, device: torch.device) -> None:
        """Move the network; evidence and weights of the sources stay, and take its scores over."""
        self.network.to(device)

    @property
    def _asked(self) -> Method:
        """The network, asked from the CPU."""
        return on_device(self.network, device_of(self.network))

    def stages(self, graph: MessageGraph, generators: Generators) -> list[Stage]:
        """Train the evidence model, then the network; a graph may be too small for the first."""
        network = Stage(self.network)
        if not self.evidence.fold(graph, generators).teaches:
            return [network]
        self.knows_evidence.fill_(True)
        return [*map(self._with_settings, self.evidence.stages(graph, generators)), network]

    def final_stages(self, graph: MessageGraph, generators: Generators) -> list[Stage]:
        """Train both parts again, each as before; the weights of the sources stay.

        A network that counts for nothing in both scores is not trained again: only embeddings
        would come from it, and those that it gives now read all edges too.
        """
        stages = []
        if self.knows_evidence:
            again = self.evidence.final_stages(graph, generators)
            stages = [self._with_settings(stage) for stage in again]
        if self.link_weights[NETWORK] or self.rank_weights[NETWORK]:
            stages += self.network.final_stages(graph, generators)
        return stages

    def _with_settings(self, stage: Stage) -> Stage:
        """Return a stage of the evidence model, which does not train as the network does."""
        return replace(
            stage, settings={**_EVIDENCE_SETTINGS, "epochs": self.evidence_epochs, **_WHOLE}
        )

    def losses(self, graph: MessageGraph, generators: Generators) -> Iterator[tuple[Tensor, str]]:
        """Run an epoch of the network; the evidence model has a stage of its own."""
        return self.network.losses(graph, generators)

    def encode(self, graph: MessageGraph) -> EncodedBoth:
        """Return what both parts made of ``graph``."""
        return EncodedBoth(self.evidence.encode(graph), self._asked.encode(graph))

    def embed(self, graph: MessageGraph) -> Tensor:
        """Return the network's layers side by side: [num_nodes, K·d]."""
        return self._asked.embed(graph)

    def score_links(self, encoded: EncodedBoth, pairs: Tensor) -> Tensor:
        """Return the weighted sum for telling edges from other pairs."""
        return self._of_pairs(self.link_weights, encoded, pairs)

    def rank_links(self, encoded: EncodedBoth, pairs: Tensor) -> Tensor:
        """Return the weighted sum for ranking the tails of a head."""
        return self._of_pairs(self.rank_weights, encoded, pairs)

    def parts(self, encoded: EncodedBoth, pairs: Tensor, ranking: bool = True) -> Parts:
        """Return the weighted shares of both outputs by group, of columns and of the network."""
        weights = self.rank_weights if ranking else self.link_weights
        parts: Parts = {}
        if weights.count_nonzero() > weights[NETWORK].count_nonzero():
            values = encoded.evidence.pairs(pairs[:2])
            for source, is_rank in ((LINK, False), (RANK, True)):
                if weights[source]:
                    shares = self.evidence.output_parts(values, is_rank)
                    parts |= {name: weights[source] * part for name, part in shares.items()}
            parts |= column_parts(
                self.evidence.standardized(values), self.evidence.names, weights[len(PARTS) :]
            )
        if weights[NETWORK]:
            network = weights[NETWORK] * self._asked.score_links(encoded.network, pairs)
            parts["network", "network"] = network
        return parts

    def _of_pairs(self, weights: Tensor, encoded: EncodedBoth, pairs: Tensor) -> Tensor:
        """Return the weighted sum [n]; evidence that counts for nothing is not computed."""
        if weights.count_nonzero() == weights[NETWORK].count_nonzero():
            return weights[NETWORK] * self._asked.score_links(encoded.network, pairs)
        return self._whole(weights, encoded, encoded.evidence.pairs(pairs[:2]), pairs)

    def score_tails(self, encoded: EncodedBoth, heads: Tensor, tails: Tensor) -> Tensor:
        """Return the ranking scores [h, n], from one walk for each head."""
        if not heads.numel():
            return torch.empty(0, tails.numel())
        scores = self._evidence_of_tails(self.rank_weights, encoded, heads, tails)
        if self.rank_weights[NETWORK]:
            network = self._asked.score_tails(encoded.network, heads, tails)
            scores += self.rank_weights[NETWORK] * network
        return scores

    def _evidence_of_tails(
        self, weights: Tensor, encoded: EncodedBoth, heads: Tensor, tails: Tensor
    ) -> Tensor:
        """Return the weighted sum [h, n] without the network."""
        rows = []
        for head in heads:
            one = head.view(1).numpy()
            values = torch.from_numpy(encoded.evidence.evidence.tails(one, tails.numpy())[0])
            rows.append(self._weighted(weights, values))
        return torch.stack(rows)

    def shortlist(self, encoded: EncodedBoth, heads: Tensor) -> Likely:
        """Return likely new tails and their ranking scores."""
        listed = encoded.evidence.evidence.shortlist(heads.numpy(), self.evidence.count)
        head, tail = torch.from_numpy(listed.head), torch.from_numpy(listed.tail)
        values, pairs = torch.from_numpy(listed.values), torch.stack([heads[head], tail])
        return Likely(head, tail, self._whole(self.rank_weights, encoded, values, pairs))

    def _whole(
        self, weights: Tensor, encoded: EncodedBoth, values: Tensor, pairs: Tensor
    ) -> Tensor:
        """Return the weighted sum [n] of all sources of pairs with evidence ``values`` [n, F]."""
        scores = self._weighted(weights, values)
        if weights[NETWORK]:
            scores += weights[NETWORK] * self._asked.score_links(encoded.network, pairs)
        return scores

    def _weighted(self, weights: Tensor, values: Tensor) -> Tensor:
        """Return the weighted sum [n] of what the evidence ``values`` [n, F] gives."""
        columns = weights[len(PARTS) :]
        scores = values.new_zeros(len(values))
        if columns.any():
            scores += self.evidence.standardized(values) @ columns
        if weights[LINK] or weights[RANK]:
            link, rank = self.evidence.outputs(values)
            scores += weights[LINK] * link + weights[RANK] * rank
        return scores

    def settle(self, graph: MessageGraph, positives: Tensor, negatives: Tensor) -> None:
        """Choose the weights of both scores on validation pairs [2, n]; without any, evidence."""
        if not self.knows_evidence:
            return
        self.link_weights.copy_(only(LINK, len(self.link_weights)))
        self.rank_weights.copy_(only(RANK, len(self.rank_weights)))
        positives, negatives = (joined(graph, pairs) for pairs in (positives, negatives))
        if min(positives.size(1), negatives.size(1)) < _FEWEST_PAIRS:
            return
        encoded = self.encode(graph)
        edges, others = (self._sources(encoded, pairs) for pairs in (positives, negatives))
        self.link_weights.copy_(choose_link(edges, others, self._single_columns))
        heads = torch.unique(positives[:2, :RANKED_EDGES])
        listed = encoded.evidence.evidence.shortlist(heads.numpy(), self.evidence.count)
        pairs = torch.stack([heads[listed.head], torch.from_numpy(listed.tail)])
        contests = Contests.of(listed, are_among(pairs, positives[:2], graph.num_nodes))
        values = self._sources(encoded, pairs, contests.values)
        self.rank_weights.copy_(choose_rank(contests, values, self._single_columns))

    @property
    def remembers_edges(self) -> bool:
        """Whether the network has a say in the ranking."""
        return bool(self.rank_weights[NETWORK])

    @property
    def _single_columns(self) -> list[int]:
        return [len(PARTS) + self.evidence.names.index(name) for name in HEURISTICS]

    def _sources(self, encoded: EncodedBoth, pairs: Tensor, values: Tensor | None = None) -> Tensor:
        """Return the sources of a score side by side: [n, 3 + F]."""
        values = encoded.evidence.pairs(pairs[:2]) if values is None else values
        link, rank = self.evidence.outputs(values)
        network = self._asked.score_links(encoded.network, pairs)
        parts = torch.stack([link, rank, network], dim=1)
        return torch.cat([parts, self.evidence.standardized(values)], dim=1)

    @property
    def choice(self) -> dict[str, dict[str, float]]:
        """What each score is made of: for ``link`` and ``rank`` the weight of each source."""
        return {"link": self._named(self.link_weights), "rank": self._named(self.rank_weights)}

    def _named(self, weights: Tensor) -> dict[str, float]:
        names = (*PARTS, *self.evidence.names)
        return {name: float(w) for name, w in zip(names, weights, strict=True) if w}

    def reset_parameters(self) -> None:
        """Draw every parameter anew."""
        self.network.reset_parameters()
        self.evidence.reset_parameters()


def joined(graph: MessageGraph, pairs: Tensor) -> Tensor:
    """Return the pairs of nodes that both have an edge.

    A split may have taken a node's last edge, which the graph that is asked about has.
    """
    degree = torch.bincount(graph.edge_index.flatten(), minlength=graph.num_nodes)
    return pairs[:, (degree[pairs[:2]] > 0).all(dim=0)]


class CombinedModel(Combined):
    """The evidence model beside a masked autoencoder.

    Args:
        mask, encoder, decoder, loss, step_size, chunk_size, fanouts: of the autoencoder.
        num_features, folds, hidden_channels, dropout, max_edges, shortlist, start: of the evidence
            model.
        evidence_epochs: of the evidence model, each of as many steps as there are folds.
    """

    samplable = True

    def __init__(
        self,
        mask: Mask,
        encoder: Encoder,
        decoder: Decoder,
        loss: Loss,
        num_features: int = 0,
        folds: int = 8,
        hidden_channels: int = 64,
        dropout: float = 0.1,
        max_edges: int = 6000,
        shortlist: int = 50,
        start: Start = "auto",
        evidence_epochs: int = 125,
        step_size: int | None = None,
        chunk_size: int = 8192,
        fanouts: Sequence[int] | None = None,
    ) -> None:
        network = MaskedGraphAutoencoder(
            mask, encoder, decoder, loss, step_size, chunk_size, fanouts
        )
        evidence = EvidenceModel(
            num_features, folds, hidden_channels, dropout, max_edges, shortlist, start=start
        )
        super().__init__(network, evidence, evidence_epochs)
