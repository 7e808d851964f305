"""The evidence of links and a masked autoencoder, each trained alone, weighted by validation.

The evidence model counts and the network reads features and long patterns. Trained together, the
network fits what the evidence leaves over on the training edges and loses on new ones; trained
alone and added with two weights, it helps where it can. The weights, and whether a single part or
a plain heuristic is better than the sum, come from validation edges that neither has met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from mgae.core.decoders import Decoder
from mgae.core.encoders import Encoder
from mgae.core.graph import MessageGraph
from mgae.core.losses import Loss
from mgae.core.masks import Mask
from mgae.core.methods.base import Encoded, Likely, Method, Parts, Stage
from mgae.core.methods.evidencemodel import (
    Contests,
    EncodedEvidence,
    EvidenceModel,
    are_among,
    column_parts,
)
from mgae.core.methods.masked import MaskedGraphAutoencoder
from mgae.core.methods.placing import device_of, on_device
from mgae.core.seeding import Generators

# The sources of a score besides the columns of the evidence.
LINK, RANK, NETWORK = 0, 1, 2
PARTS = ("link", "rank", "network")
# Columns that are heuristics by themselves: the higher, the likelier.
HEURISTICS = ("common neighbors", "adamic-adar", "resource allocation", "l3", "pagerank", "katz")
_RANKED_EDGES = 500  # validation edges whose ends have their shortlists scored
_SHARES = (0.25, 0.5, 0.75, 1.0)  # of the way from the evidence to the fitted weights
_DOUBT = 1.0  # standard errors by which a gain over the evidence alone counts less
_PENALTY = 1e-3
_DRAWS = 200  # of the bootstrap
_FEWEST_PAIRS = 20  # below that chance would choose
_MOST_PAIRS = 20_000  # validation edges, and other pairs, that link weights are chosen on
_WHOLE = {
    "stop": None,
    "budget": None,
    "max_steps": None,
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


class CombinedModel(Method):
    """The weighted sum of a masked autoencoder and the two outputs of an `EvidenceModel`.

    Args:
        mask, encoder, decoder, loss, step_size, chunk_size, fanouts: of the autoencoder.
        num_features, folds, hidden_channels, dropout, max_edges, shortlist: of the evidence model.
        evidence_epochs: of the evidence model, each of as many steps as there are folds.
    """

    samplable = True
    shortlists = True
    may_leave_features = True
    stays_on_cpu = True  # but for its network
    link_weights: Tensor
    rank_weights: Tensor
    knows_evidence: Tensor

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
        evidence_epochs: int = 125,
        step_size: int | None = None,
        chunk_size: int = 8192,
        fanouts: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        self.network = MaskedGraphAutoencoder(
            mask, encoder, decoder, loss, step_size, chunk_size, fanouts
        )
        self.evidence = EvidenceModel(
            num_features, folds, hidden_channels, dropout, max_edges, shortlist
        )
        self.evidence_epochs = evidence_epochs
        sources = len(PARTS) + len(self.evidence.names)
        self.register_buffer("knows_evidence", torch.tensor(False))
        # Until `settle` the network alone is scored: validation chooses its epoch.
        self.register_buffer("link_weights", _only(NETWORK, sources))
        self.register_buffer("rank_weights", _only(NETWORK, sources))

    def place(self, device: torch.device) -> None:
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
            values = encoded.evidence.pairs(pairs)
            for source, is_rank in ((LINK, False), (RANK, True)):
                if weights[source]:
                    found = self.evidence.output_parts(values, is_rank)
                    parts |= {name: weights[source] * part for name, part in found.items()}
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
        return self._whole(weights, encoded, encoded.evidence.pairs(pairs), pairs)

    def score_tails(self, encoded: EncodedBoth, heads: Tensor, tails: Tensor) -> Tensor:
        """Return the ranking scores [h, n], from one walk for each head."""
        if not heads.numel():
            return torch.empty(0, tails.numel())
        weights, rows = self.rank_weights, []
        for head in heads:
            one = head.view(1).numpy()
            values = torch.from_numpy(encoded.evidence.evidence.tails(one, tails.numpy())[0])
            rows.append(self._weighted(weights, values))
        scores = torch.stack(rows)
        if weights[NETWORK]:
            network = self._asked.score_tails(encoded.network, heads, tails)
            scores += weights[NETWORK] * network
        return scores

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
        self.link_weights.copy_(_only(LINK, len(self.link_weights)))
        self.rank_weights.copy_(_only(RANK, len(self.rank_weights)))
        # A split may have taken a node's last edge, which the graph that is asked about has.
        degree = torch.bincount(graph.edge_index.flatten(), minlength=graph.num_nodes)
        positives, negatives = (
            pairs[:, (degree[pairs] > 0).all(dim=0)] for pairs in (positives, negatives)
        )
        if min(positives.size(1), negatives.size(1)) < _FEWEST_PAIRS:
            return
        encoded = self.encode(graph)
        edges, others = (self._sources(encoded, pairs) for pairs in (positives, negatives))
        self.link_weights.copy_(_choose_link(edges, others, self._single_columns))
        ranked = positives[:, :_RANKED_EDGES]
        heads = torch.unique(ranked)
        listed = encoded.evidence.evidence.shortlist(heads.numpy(), self.evidence.count)
        pairs = torch.stack([heads[listed.head], torch.from_numpy(listed.tail)])
        contests = Contests.of(listed, are_among(pairs, positives, graph.num_nodes))
        values = self._sources(encoded, pairs, contests.values)
        self.rank_weights.copy_(_choose_rank(contests, values, self._single_columns))

    @property
    def remembers_edges(self) -> bool:
        """Whether the network has a say in the ranking."""
        return bool(self.rank_weights[NETWORK])

    @property
    def _single_columns(self) -> list[int]:
        return [len(PARTS) + self.evidence.names.index(name) for name in HEURISTICS]

    def _sources(self, encoded: EncodedBoth, pairs: Tensor, values: Tensor | None = None) -> Tensor:
        """Return the sources of a score side by side: [n, 3 + F]."""
        values = encoded.evidence.pairs(pairs) if values is None else values
        link, rank = self.evidence.outputs(values)
        network = self._asked.score_links(encoded.network, pairs)
        parts = torch.stack([link, rank, network], dim=1)
        return torch.cat([parts, self.evidence.standardized(values)], dim=1)

    @property
    def choice(self) -> dict[str, dict[str, float]]:
        """What each score is made of: for ``link`` and ``rank`` the weight of each source."""
        names = (*PARTS, *self.evidence.names)
        return {
            output: {name: float(w) for name, w in zip(names, weights, strict=True) if w}
            for output, weights in (("link", self.link_weights), ("rank", self.rank_weights))
        }

    def reset_parameters(self) -> None:
        """Draw every parameter anew."""
        self.network.reset_parameters()
        self.evidence.reset_parameters()


def _only(source: int, count: int) -> Tensor:
    weights = torch.zeros(count)
    weights[source] = 1.0
    return weights


def _choose_link(edges: Tensor, others: Tensor, columns: list[int]) -> Tensor:
    """Return the weights that best separate edges [n, S] from other pairs [m, S]."""
    # More pairs would not change the choice, and the bootstrap holds _DRAWS times as many.
    edges, others = (part[:: 1 + (len(part) - 1) // _MOST_PAIRS] for part in (edges, others))
    choices = _choices(LINK, _logistic(edges, others), [NETWORK, *columns])
    generator = Generators(0).fresh("choice")
    drawn = [_drawn(len(part), generator) for part in (edges, others)]

    def merit(weights: Tensor) -> tuple[float, Tensor]:
        scores = [part.double() @ weights.double() for part in (edges, others)]
        # How often an edge is above another pair, for each edge and for each other pair.
        ordered = [part.sort().values for part in scores]
        above = _share_below(ordered[1], scores[0])
        below = 1 - _share_below(ordered[0], scores[1])
        whole = float(above.mean())
        spread = above[drawn[0]].mean(dim=1) + below[drawn[1]].mean(dim=1) - whole
        return whole, spread

    return _best(choices, [merit(weights) for weights in choices])


def _choose_rank(contests: Contests, values: Tensor, columns: list[int]) -> Tensor:
    """Return the weights by which hidden edges come first on shortlists with sources [n, S]."""
    if not len(contests.edge):
        return _only(RANK, values.size(1))
    choices = _choices(RANK, _softmax(contests, values), [LINK, *columns])
    drawn = _drawn(len(contests.edge), Generators(0).fresh("choice"))

    def merit(weights: Tensor) -> tuple[float, Tensor]:
        # Discounted by the logarithm of the rank: whether it is below ten is too rough a measure.
        gain = 1 / torch.log2(1 + contests.ranks(values @ weights))
        return float(gain.mean()), gain[drawn].mean(dim=1)

    return _best(choices, [merit(weights) for weights in choices])


def _choices(evidence: int, fitted: Tensor, others: list[int]) -> list[Tensor]:
    """Return what may be scored: the evidence, mixtures with the fitted weights, single sources."""
    alone = _only(evidence, len(fitted))
    mixtures = [torch.lerp(alone, fitted, share) for share in _SHARES]
    return [alone, *mixtures, *(_only(source, len(fitted)) for source in others)]


def _best(choices: list[Tensor], merits: list[tuple[float, Tensor]]) -> Tensor:
    """Return the choice with the largest gain over the first one, less what chance may give."""
    first, draws_of_first = merits[0]
    gains = [
        mean - first - _DOUBT * float((draws - draws_of_first).std()) for mean, draws in merits
    ]
    return choices[int(np.argmax(gains))]


def _drawn(count: int, generator: torch.Generator) -> Tensor:
    return torch.randint(count, (_DRAWS, count), generator=generator)


def _share_below(ordered: Tensor, values: Tensor) -> Tensor:
    """Return for each value the share of ``ordered`` below it, ties counting half."""
    sides = [torch.searchsorted(ordered, values, right=right) for right in (False, True)]
    return (sides[0] + sides[1]).double() / (2 * max(1, ordered.numel()))


def _logistic(edges: Tensor, others: Tensor) -> Tensor:
    """Fit non-negative weights of the three parts, and an intercept, to edges and other pairs."""
    x = torch.cat([edges, others])[:, : len(PARTS)].double()
    y = (torch.arange(len(x)) < len(edges)).double()

    def loss(theta: Tensor) -> Tensor:
        logits = x @ theta[:-1] + theta[-1]
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, y)

    return _fitted(loss, [1.0, 0.0, 0.0, 0.0], edges.size(1), bias=True)


def _softmax(contests: Contests, values: Tensor) -> Tensor:
    """Fit non-negative weights of the three parts to edges among their competitors."""
    x, count = values[:, : len(PARTS)].double(), len(contests.edge)
    row, listed = contests.rows
    # Other edges of the same list are no competitors.
    void = contests.is_edge[listed] & (listed != contests.edge[row])
    row, listed = row[~void], listed[~void]

    def loss(theta: Tensor) -> Tensor:
        scores = x @ theta
        top = torch.full((count,), -torch.inf, dtype=torch.double)
        top = top.scatter_reduce(0, row, scores[listed].detach(), "amax")
        shares = (scores[listed] - top[row]).exp()
        total = torch.zeros(count, dtype=torch.double).index_add(0, row, shares)
        return (total.log() + top - scores[contests.edge]).mean()

    return _fitted(loss, [0.0, 1.0, 0.0], values.size(1), bias=False)


def _fitted(loss: Callable[[Tensor], Tensor], start: list[float], count: int, bias: bool) -> Tensor:
    """Minimize a loss of the three weights, pulled a little towards ``start``."""
    from scipy.optimize import minimize  # noqa: PLC0415 - slow to load

    center = torch.tensor(start, dtype=torch.double)

    def objective(at: np.ndarray) -> tuple[float, np.ndarray]:
        theta = torch.from_numpy(at).requires_grad_()
        value = loss(theta) + _PENALTY * (theta - center).square().sum()
        (gradient,) = torch.autograd.grad(value, theta)
        return float(value.detach()), gradient.numpy()

    bounds = [(0, None)] * len(PARTS) + ([(None, None)] if bias else [])
    point = minimize(objective, center.numpy(), jac=True, method="L-BFGS-B", bounds=bounds).x
    weights = torch.zeros(count)
    weights[: len(PARTS)] = torch.from_numpy(point[: len(PARTS)]).float()
    return weights if weights.any() else _only(start.index(1.0), count)
