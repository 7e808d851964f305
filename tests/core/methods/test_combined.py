"""Evidence and a network weighed on validation: chosen by hand-made sources, then on graphs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from mgae.core import (
    BCE,
    GCN,
    CombinedModel,
    CrossCorrelation,
    EvidenceModel,
    MessageGraph,
    Sketches,
    Undirected,
    fit,
)
from mgae.core.errors import GraphError
from mgae.core.evidence import Shortlist
from mgae.core.evidence.folds import Contests, are_among, uniform_pairs
from mgae.core.methods.weighing import (
    LINK,
    NETWORK,
    PARTS,
    RANK,
    _best,
    choose_link,
    choose_rank,
    only,
)
from mgae.core.seeding import Generators, drawn_from
from mgae.core.training import Snapshot
from mgae.core.training.loop import fit_again
from mgae.evaluation.metrics import auc
from tests.conftest import toy_graph
from tests.core.methods.small import seeded

HEURISTIC = len(PARTS)  # the one column of hand-made sources
SOURCES = HEURISTIC + 1


def combined(graph: MessageGraph, seed: int = 0, **options: Any) -> CombinedModel:
    """A combined model of width 4, quick to train."""
    with drawn_from(Generators(seed)["init"]):
        inputs = Sketches(8) if graph.x is None else None
        encoder = GCN(inputs.channels if inputs else graph.num_features, 4, inputs=inputs)
        decoder = CrossCorrelation(4, 2, hidden_channels=8)
        quick = {"folds": 3, "evidence_epochs": 2, "num_features": graph.num_features, **options}
        return CombinedModel(Undirected(0.5), encoder, decoder, BCE(), **quick)


def undirected(*pairs: tuple[int, int], num_nodes: int) -> MessageGraph:
    once = torch.tensor(pairs).t()
    edges = torch.cat([once, once.flip(0)], dim=1)
    return MessageGraph(edges[:, (edges[1] * num_nodes + edges[0]).argsort()], num_nodes)


# Ranks on shortlists


def test_ranks_by_hand_and_a_tie_counts_half() -> None:
    # Rows 0 to 2 are the first list, 3 and 4 the second; rows 1 and 3 are the hidden edges.
    first, end = torch.tensor([0, 3]), torch.tensor([3, 5])
    is_edge = torch.tensor([False, True, False, True, False])
    contests = Contests(torch.zeros(5, 1), is_edge, torch.tensor([1, 3]), first, end)
    scores = torch.tensor([3.0, 2.0, 2.0, 5.0, 5.0])
    assert contests.ranks(scores).tolist() == [2.5, 1.5]
    assert contests.ranks(torch.tensor([0.0, 1.0, 0.0, 1.0, 2.0])).tolist() == [1.0, 2.0]


def test_lists_are_numbered_on_from_fold_to_fold() -> None:
    def part(heads: list[int], edges: list[bool]) -> Contests:
        lists = Shortlist(np.array(heads), np.zeros(len(heads), int), np.ones((len(heads), 2)))
        return Contests.of(lists, torch.tensor(edges))

    both = Contests.joined([part([0, 0, 1], [False, True, True]), part([0, 0], [True, True])])
    assert both.edge.tolist() == [1, 2, 3, 4]
    assert (both.first.tolist(), both.end.tolist()) == ([0, 2, 3, 3], [2, 3, 5, 5])
    contest, row = both.rows
    assert contest.tolist() == [0, 0, 1, 2, 2, 3, 3]
    assert row.tolist() == [0, 1, 2, 3, 4, 3, 4]
    assert both.is_edge.sum() == len(both.edge)


def test_a_competitor_that_is_an_edge_does_not_compete() -> None:
    lists = Shortlist(np.zeros(3, int), np.arange(3), np.arange(3.0).reshape(3, 1))
    contests = Contests.of(lists, torch.tensor([True, True, False]))
    values, void = contests.draw(50, seeded())
    assert set(values[:, 0, 0].tolist()) == {0.0, 1.0}
    assert torch.equal(void[:, 1:], values[:, 1:, 0] < 2)
    assert not bool(void[:, 0].any())


def test_edges_are_the_same_in_either_order() -> None:
    pairs, edges = torch.tensor([[0, 2, 1], [1, 0, 2]]), torch.tensor([[1, 0], [0, 2]])
    assert are_among(pairs, edges, 3).tolist() == [True, True, False]


# The choice between hand-made sources


def drawn(shift: dict[int, float], count: int, seed: int) -> Tensor:
    """Normal sources [count, S]; those named have another mean."""
    sources = torch.randn(count, SOURCES, generator=seeded(seed))
    for source, mean in shift.items():
        sources[:, source] += mean
    return sources


def samples(shift: dict[int, float], seed: int) -> tuple[Tensor, Tensor]:
    return drawn(shift, 400, 2 * seed), drawn({}, 400, 2 * seed + 1)


@pytest.mark.parametrize("seed", range(4))
def test_noise_of_the_network_is_left_out(seed: int) -> None:
    weights = choose_link(*samples({LINK: 2.0}, seed), [HEURISTIC])
    assert float(weights[LINK]) > 0.2
    assert float(weights[NETWORK] + weights[RANK]) < 0.2 * float(weights[LINK])
    edges, others = samples({LINK: 2.0}, seed + 100)
    alone = auc(edges[:, LINK], others[:, LINK])
    assert auc(edges @ weights, others @ weights) > alone - 0.01


@pytest.mark.parametrize("seed", range(4))
def test_a_network_that_knows_what_the_evidence_lacks_is_added(seed: int) -> None:
    weights = choose_link(*samples({LINK: 1.0, NETWORK: 1.0}, seed), [HEURISTIC])
    assert 0.5 < float(weights[NETWORK] / weights[LINK]) < 2
    edges, others = samples({LINK: 1.0, NETWORK: 1.0}, seed + 100)
    assert auc(edges @ weights, others @ weights) > auc(edges[:, LINK], others[:, LINK]) + 0.04


def test_of_many_pairs_some_from_all_over_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mgae.core.methods.weighing._MOST_PAIRS", 100)
    edges, others = samples({LINK: 1.0, NETWORK: 1.0}, 0)
    weights = choose_link(edges, others, [HEURISTIC])
    assert torch.equal(weights, choose_link(edges[::4], others[::4], [HEURISTIC]))
    assert 0.4 < float(weights[NETWORK] / weights[LINK]) < 2.5


def test_a_single_source_that_is_clearly_best_is_taken_alone() -> None:
    for source in (HEURISTIC, NETWORK):
        edges, others = samples({LINK: 0.5}, 0)
        edges[:, source] += 50
        edges[:, LINK], others[:, LINK] = -edges[:, LINK], -others[:, LINK]
        weights = choose_link(edges, others, [HEURISTIC])
        # The heuristic is no part of a mixture: it comes alone or not at all.
        assert float(weights[source]) > 0
        assert auc(edges @ weights, others @ weights) == 1
        assert source == NETWORK or torch.equal(weights, only(HEURISTIC, SOURCES))


def test_equal_choices_leave_the_evidence_alone() -> None:
    edges, others = torch.ones(30, SOURCES), torch.zeros(30, SOURCES)
    assert torch.equal(choose_link(edges, others, [HEURISTIC]), only(LINK, SOURCES))


def contests_of(num_lists: int, length: int) -> Contests:
    head = np.arange(num_lists).repeat(length)
    lists = Shortlist(head, np.zeros_like(head), np.zeros((len(head), 1), np.float32))
    return Contests.of(lists, torch.arange(len(head)) % length == 0)


@pytest.mark.parametrize("source", [RANK, NETWORK, HEURISTIC])
def test_the_order_of_shortlists_is_chosen_by_who_puts_edges_first(source: int) -> None:
    contests = contests_of(60, 40)
    values = torch.randn(60 * 40, SOURCES, generator=seeded())
    values[contests.edge, source] += 3
    weights = choose_rank(contests, values, [HEURISTIC])
    assert int(weights.argmax()) == source
    chosen, before = (
        float((contests.ranks(values @ one) <= 10).double().mean())
        for one in (weights, only(RANK, SOURCES))
    )
    assert chosen >= before
    assert chosen > 0.9


def test_without_an_edge_on_a_list_the_evidence_ranks() -> None:
    contests = Contests.of(
        Shortlist(np.zeros(2, int), np.arange(2), np.zeros((2, 1))), torch.zeros(2).bool()
    )
    weights = choose_rank(contests, torch.zeros(2, SOURCES), [HEURISTIC])
    assert torch.equal(weights, only(RANK, SOURCES))


# On graphs


def trained(graph: MessageGraph, seed: int = 0, epochs: int = 2, **options: Any) -> CombinedModel:
    model = combined(graph, seed, **options)
    fit(model, graph, epochs=epochs, generators=seed)
    return model


NO_PAIRS = torch.empty(2, 0, dtype=torch.long)


def test_until_it_is_settled_the_network_is_scored_and_without_validation_the_evidence() -> None:
    graph = toy_graph()
    model, pairs = trained(graph), graph.pairs
    encoded = model.encode(graph)
    network = model.network.score_links(encoded.network, pairs)
    assert torch.equal(model.score_links(encoded, pairs), network)
    for known in ((NO_PAIRS, NO_PAIRS), (pairs[:, :3], NO_PAIRS), (NO_PAIRS, pairs[:, :3])):
        model.settle(graph, *known)
        assert model.choice == {"link": {"link": 1.0}, "rank": {"rank": 1.0}}
    link, rank = model.evidence.outputs(encoded.evidence.pairs(pairs))
    assert torch.equal(model.score_links(encoded, pairs), link)
    assert torch.equal(model.rank_links(encoded, pairs), rank)


@pytest.mark.parametrize("directed", [False, True])
def test_all_ways_to_ask_give_the_same_weighed_sum(directed: bool) -> None:
    graph = toy_graph(directed=directed)
    model = trained(graph)
    sources, heads = len(model.link_weights), torch.tensor([7, 3])
    model.link_weights.copy_(torch.rand(sources, generator=seeded(1)))
    model.rank_weights.copy_(torch.rand(sources, generator=seeded(2)))
    encoded, tails = model.encode(graph), torch.arange(20)
    pairs = torch.cartesian_prod(heads, tails).t()
    values = encoded.evidence.pairs(pairs)
    parts = torch.stack(
        [*model.evidence.outputs(values), model.network.score_links(encoded.network, pairs)], dim=1
    )
    whole = torch.cat([parts, model.evidence.standardized(values)], dim=1)
    torch.testing.assert_close(model.score_links(encoded, pairs), whole @ model.link_weights)
    ranked = whole @ model.rank_weights
    torch.testing.assert_close(model.rank_links(encoded, pairs), ranked)
    matrix = model.score_tails(encoded, heads, tails)
    torch.testing.assert_close(matrix.flatten(), ranked)
    likely = model.shortlist(encoded, heads)
    assert len(likely.tail) > 4
    torch.testing.assert_close(likely.scores, matrix[likely.head, likely.tail])
    for head, tail in zip(heads[likely.head].tolist(), likely.tail.tolist(), strict=True):
        assert head != tail
        assert tail not in graph.edge_index[1, graph.edge_index[0] == head]


def test_the_weights_of_the_sources_are_part_of_the_model() -> None:
    graph = toy_graph()
    model, other = trained(graph), combined(graph, seed=1)
    model.settle(graph, graph.pairs[:, :9], uniform_pairs(graph, 20, seeded()))
    other.load_state_dict(model.state_dict())
    assert other.choice == model.choice
    assert bool(other.knows_evidence)
    pairs = torch.cartesian_prod(torch.arange(20), torch.arange(20)).t()
    for ask in ("score_links", "rank_links"):
        first, second = (getattr(one, ask)(one.encode(graph), pairs) for one in (model, other))
        assert torch.equal(first, second)
    assert other.inductive


def test_both_parts_are_trained_each_in_a_stage() -> None:
    graph = toy_graph()
    before, model = combined(graph).state_dict(), trained(graph)
    moved = {k: not torch.equal(v, before[k]) for k, v in model.named_parameters()}
    assert all(moved.values()), moved
    assert not any(module.training for module in model.modules())
    first, second = combined(graph).stages(graph, Generators(0))
    assert (type(first.method), first.keep_last) == (EvidenceModel, True)
    assert first.settings["epochs"] == 2
    assert not second.keep_last


NOTHING_TO_HIDE = {
    "pairs": undirected(*((2 * k, 2 * k + 1) for k in range(8)), num_nodes=16),
    "star": undirected(*((0, k) for k in range(1, 9)), num_nodes=9),
}
COMPLETE = undirected(*((u, v) for v in range(6) for u in range(v)), num_nodes=6)


@pytest.mark.parametrize("kind", NOTHING_TO_HIDE)
def test_the_network_is_alone_where_no_edge_can_be_hidden(kind: str) -> None:
    graph = NOTHING_TO_HIDE[kind]
    model, pairs = trained(graph), uniform_pairs(graph, 12, seeded())
    model.settle(graph, graph.pairs[:, :3], pairs)
    assert model.choice == {"link": {"network": 1.0}, "rank": {"network": 1.0}}
    encoded = model.encode(graph)
    network = model.network.score_links(encoded.network, pairs)
    assert torch.equal(model.score_links(encoded, pairs), network)
    assert bool(
        torch.cat([value.flatten() for value in model.state_dict().values()]).isfinite().all()
    )


def test_a_graph_without_other_pairs_has_no_evidence_to_learn_from() -> None:
    assert [
        type(stage.method).__name__ for stage in combined(COMPLETE).stages(COMPLETE, Generators(0))
    ] == ["MaskedGraphAutoencoder"]
    for graph in (COMPLETE, *NOTHING_TO_HIDE.values()):
        with pytest.raises(GraphError, match="use another method"):
            fit(EvidenceModel(folds=2), graph, epochs=1)


def test_a_random_graph_teaches_nothing() -> None:
    """Neither the evidence nor the choice on validation edges makes something of nothing."""
    generator, scores = seeded(), []
    for seed in range(3):
        whole = toy_graph(num_nodes=80, num_edges=480, seed=seed, num_features=None)
        part = torch.zeros(480, dtype=torch.long)
        part[torch.randperm(480, generator=generator)[:130]] = 1
        part[(part == 1).nonzero().squeeze(1)[:90]] = 2
        train = whole.only((part == 0)[whole.pair_of_edge])
        model = trained(train, seed, epochs=10, evidence_epochs=12)
        others = uniform_pairs(whole, 440, generator)
        model.settle(train, whole.pairs[:, part == 1], others[:, :40])
        encoded = model.encode(train)
        positive = model.score_links(encoded, whole.pairs[:, part == 2])
        scores.append(auc(positive, model.score_links(encoded, others[:, 40:])))
    # Of 90 edges the standard error is 0.03, of three graphs less than 0.02.
    assert 0.44 < float(np.mean(scores)) < 0.56


@pytest.mark.parametrize(("spread", "chosen"), [(0.005, 1), (0.02, 0)])
def test_a_gain_counts_only_beyond_its_standard_error(spread: float, chosen: int) -> None:
    choices = [torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])]
    draws = torch.tensor([-1.0, 1.0]).repeat(100) * spread
    merits = [(0.90, torch.zeros(200)), (0.91, draws)]
    assert torch.equal(_best(choices, merits), choices[chosen])


class _Kept:
    """Checkpoints in memory; a training is killed after ``kill_after`` of them."""

    def __init__(self, kill_after: int | None = None) -> None:
        self.kill_after, self.count = kill_after, 0
        self.last: Snapshot | None = None

    def newest(self) -> Snapshot | None:
        return self.last

    def keep(self, snapshot: Snapshot) -> None:
        self.last, self.count = snapshot, self.count + 1
        if self.count == self.kill_after:
            raise KeyboardInterrupt

    def write_kept(self) -> None: ...


def fitted_again(weight: float, kept: _Kept) -> CombinedModel:
    graph = toy_graph(num_nodes=30, num_edges=90)
    model = combined(graph)
    before = fit(model, graph, epochs=6, schedule="cosine", generators=1)
    model.settle(graph, *2 * [torch.empty(2, 0, dtype=torch.long)])
    model.rank_weights[NETWORK] = weight
    fit_again(
        model, graph, replace(before, best_epoch=4), Generators(1), kept,
        learning_rate=0.01, weight_decay=0.0, schedule="cosine",
    )  # fmt: skip
    return model


def test_all_edges_teach_for_the_epochs_found_and_a_kill_does_not_change_a_bit() -> None:
    whole = fitted_again(0.5, store := _Kept())
    assert store.count == 4
    killed = _Kept(kill_after=2)
    with pytest.raises(KeyboardInterrupt):
        fitted_again(0.5, killed)
    resumed = fitted_again(0.5, killed).state_dict()
    assert killed.count == 4
    assert all(torch.equal(resumed[key], value) for key, value in whole.state_dict().items())
    # Only the evidence is learned again where the network has no part in any score.
    fitted_again(0.0, unused := _Kept())
    assert unused.count == 2
