"""Losses: worked by hand on tiny graphs, Eq. 3 as a double loop, then chunks and negatives."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from mgae.core.decoders import CrossCorrelation, Decoder, InnerProduct, PairMLP
from mgae.core.errors import GraphError, UnsupportedError
from mgae.core.graph import MessageGraph
from mgae.core.losses import BCE, FullSoftmax, Loss, SampledSoftmax
from mgae.core.negatives import NegativeSampler
from mgae.core.seeding import Generators, drawn_from
from mgae.data import checked
from mgae.data.splits import split_links
from tests.conftest import toy_graph

ALL = 10**6  # a chunk that holds everything
LOSSES: list[type[Loss]] = [BCE, SampledSoftmax, FullSoftmax]
SAMPLED: list[type[BCE | SampledSoftmax]] = [BCE, SampledSoftmax]
PATH = [(0, 1), (1, 2)]  # 0 - 1 - 2: the only free pair is {0, 2}


def decoder_of(made: type[CrossCorrelation | PairMLP]) -> Decoder:
    with drawn_from(torch.Generator().manual_seed(0)):
        return made(3, 2, hidden_channels=8, dropout=0.0)


def sampler_of(edges: list[tuple[int, int]], num_nodes: int) -> NegativeSampler:
    edge_index = to_undirected(torch.tensor(edges).t(), num_nodes=num_nodes)
    data = checked(Data(edge_index=edge_index, num_nodes=num_nodes))
    return NegativeSampler.of(MessageGraph.of(data))


def scalar_layer(*values: float) -> list[Tensor]:
    """One layer of width 1: with the inner product the logit of (u, v) is h_u · h_v."""
    return [torch.tensor(values, dtype=torch.float).unsqueeze(1)]


def computed(
    loss: Loss,
    decoder: Decoder,
    layers: list[Tensor],
    positives: Tensor,
    sampler: NegativeSampler,
    seed: int = 0,
    chunk: int = ALL,
) -> Tensor:
    """The loss with negatives drawn for the positives."""
    generators = Generators(seed)
    negatives = loss.draw(positives, sampler, generators["negatives"])
    return loss(decoder, layers, positives, negatives, generators["dropout"], chunk)


def value(
    loss: Loss, layers: list[Tensor], positives: list[tuple[int, int]], sampler: NegativeSampler
) -> float:
    return float(computed(loss, InnerProduct(), layers, torch.tensor(positives).t(), sampler))


def softplus(z: float) -> float:
    return math.log(1 + math.exp(z))


class Spy(Decoder):
    """The inner product, which remembers what it was asked; its layers must be `numbered`."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Tensor] = []

    def score(self, heads: Tensor, tails: Tensor, generator: torch.Generator | None) -> Tensor:
        self.asked.append(torch.stack([heads[:, 0, 0], tails[:, 0, 0]]).detach().long())
        return (heads[:, -1] * tails[:, -1]).sum(dim=1)

    @property
    def pairs(self) -> Tensor:
        return torch.cat(self.asked, dim=1)


def numbered(layers: list[Tensor]) -> list[Tensor]:
    """The layers below one that holds each node's number."""
    numbers = torch.arange(len(layers[0]), dtype=layers[0].dtype)
    return [numbers.unsqueeze(1).expand_as(layers[0]), *layers]


# By hand. With h = 1, 2, -1 on the path: y_01 = 2, y_12 = -2, y_02 = -1.


def test_bce_on_a_path_by_hand() -> None:
    # The one free pair (in whatever order) has the logit -1 for both positives.
    expected = (softplus(-2) + softplus(-1) + softplus(2) + softplus(-1)) / 2
    result = value(BCE(), scalar_layer(1, 2, -1), [(0, 1), (1, 2)], sampler_of(PATH, 3))
    assert result == pytest.approx(expected, rel=1e-6)


def test_bce_is_minus_the_log_of_sigmoids() -> None:
    def sigmoid(z: float) -> float:
        return 1 / (1 + math.exp(-z))

    expected = -math.log(sigmoid(2)) - math.log(1 - sigmoid(-1))
    result = value(BCE(), scalar_layer(1, 2, -1), [(0, 1)], sampler_of(PATH, 3))
    assert result == pytest.approx(expected, rel=1e-6)


def test_bce_takes_the_mean_over_the_negatives_of_an_edge() -> None:
    sampler = sampler_of(PATH, 3)
    results = [
        value(BCE(num_negatives=m), scalar_layer(1, 2, -1), [(0, 1)], sampler) for m in (1, 5)
    ]
    assert results[1] == pytest.approx(results[0], rel=1e-6)


def test_sampled_softmax_on_a_path_by_hand() -> None:
    # Head 0 has the free tail 2 only: both of its draws have the logit -1.
    expected = math.log(math.exp(2) + 2 * math.exp(-1)) - 2
    loss = SampledSoftmax(num_negatives=2)
    result = value(loss, scalar_layer(1, 2, -1), [(0, 1)], sampler_of(PATH, 3))
    assert result == pytest.approx(expected, rel=1e-6)


def test_a_head_without_free_tail_costs_nothing_in_the_sampled_softmax() -> None:
    # Node 1 is joined to all others: its edge stands alone in its row, with a share of 1.
    expected = (math.log(math.exp(2) + 2 * math.exp(-1)) - 2 + 0) / 2
    loss = SampledSoftmax(num_negatives=2)
    result = value(loss, scalar_layer(1, 2, -1), [(0, 1), (1, 2)], sampler_of(PATH, 3))
    assert result == pytest.approx(expected, rel=1e-6)


def test_a_head_without_free_tail_has_a_gradient_of_zero() -> None:
    layers = [tensor.requires_grad_() for tensor in scalar_layer(1, 2, -1)]
    pairs = torch.tensor([[1], [2]])
    loss = SampledSoftmax(num_negatives=3)
    computed(loss, InnerProduct(), layers, pairs, sampler_of(PATH, 3)).backward()
    assert torch.equal(layers[0].grad, torch.zeros(3, 1))


def test_full_softmax_on_a_path_by_hand() -> None:
    # Σ_z runs over every node, the head itself and its edges among them.
    # Head 0: y_00 = 1, y_01 = 2, y_02 = -1. Head 1: y_10 = 2, y_11 = 4, y_12 = -2.
    of_01 = math.log(math.exp(1) + math.exp(2) + math.exp(-1)) - 2
    of_12 = math.log(math.exp(2) + math.exp(4) + math.exp(-2)) + 2
    positives = [(0, 1), (1, 2)]
    result = value(FullSoftmax(), scalar_layer(1, 2, -1), positives, sampler_of(PATH, 3))
    assert result == pytest.approx((of_01 + of_12) / 2, rel=1e-6)


def test_full_softmax_of_equal_logits_is_log_of_the_node_count() -> None:
    result = value(FullSoftmax(), scalar_layer(0, 0, 0, 0), PATH, sampler_of(PATH, 4))
    assert result == pytest.approx(math.log(4), rel=1e-6)


def test_full_softmax_takes_a_head_with_many_edges_once_per_edge() -> None:
    star = [(0, 1), (0, 2), (0, 3)]
    h = (1.0, 0.5, -2.0, 3.0)
    row = math.log(sum(math.exp(h[0] * z) for z in h))
    expected = sum(row - h[0] * h[u] for _, u in star) / 3
    result = value(FullSoftmax(), scalar_layer(*h), star, sampler_of(star, 4))
    assert result == pytest.approx(expected, rel=1e-6)


# Twins


def random_case(seed: int) -> tuple[Decoder, list[Tensor], Tensor, NegativeSampler]:
    generator = torch.Generator().manual_seed(seed)
    graph = toy_graph(num_nodes=8, num_edges=10, seed=seed)
    layers = [torch.randn(8, 3, generator=generator).requires_grad_() for _ in range(2)]
    order = torch.randperm(graph.edge_index.size(1), generator=generator)
    positives = graph.edge_index[:, order[:9]]
    return decoder_of(CrossCorrelation), layers, positives, NegativeSampler.of(graph)


def equation_three(decoder: Decoder, layers: list[Tensor], positives: Tensor, nodes: int) -> Tensor:
    """The paper's Eq. 3, word for word, over the number of edges."""

    def y(v: int, u: int) -> Tensor:
        return decoder(layers, torch.tensor([[v], [u]]), None)[0]

    total = torch.zeros(())
    for v, u in positives.t().tolist():
        denominator = sum(torch.exp(y(v, z)) for z in range(nodes))
        total = total - torch.log(torch.exp(y(v, u)) / denominator)
    return total / positives.size(1)


def gradients(
    loss: Tensor, decoder: Decoder, layers: list[Tensor]
) -> tuple[float, list[Tensor | None]]:
    for tensor in (*layers, *decoder.parameters()):
        tensor.grad = None
    loss.backward()
    return float(loss.detach()), [tensor.grad for tensor in (*layers, *decoder.parameters())]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("chunk", [1, 20, ALL])
def test_full_softmax_is_equation_three(seed: int, chunk: int) -> None:
    decoder, layers, positives, sampler = random_case(seed)
    ours = computed(FullSoftmax(), decoder, layers, positives, sampler, chunk=chunk)
    theirs = equation_three(decoder, layers, positives, 8)
    (a, ours_grad), (b, theirs_grad) = (gradients(loss, decoder, layers) for loss in (ours, theirs))
    assert a == pytest.approx(b, rel=1e-5)
    for left, right in zip(ours_grad, theirs_grad, strict=True):
        torch.testing.assert_close(left, right, atol=1e-5, rtol=1e-4)


@settings(deadline=None, max_examples=30)
@given(kind=st.sampled_from(LOSSES), seed=st.integers(0, 50), chunk=st.integers(1, 80))
def test_value_and_gradients_do_not_depend_on_the_chunk(
    kind: type[Any], seed: int, chunk: int
) -> None:
    decoder, layers, positives, sampler = random_case(seed)

    def at(size: int) -> tuple[float, list[Tensor | None]]:
        loss = computed(kind(), decoder, layers, positives, sampler, seed, size)
        return gradients(loss, decoder, layers)

    (whole, whole_grad), (split, split_grad) = at(ALL), at(chunk)
    assert split == pytest.approx(whole, rel=1e-5)
    for left, right in zip(whole_grad, split_grad, strict=True):
        torch.testing.assert_close(left, right, atol=1e-5, rtol=1e-4)


def test_bce_equals_torch_on_the_pairs_that_were_drawn() -> None:
    _, layers, positives, sampler = random_case(0)
    spy = Spy()
    result = computed(BCE(3), spy, numbered(layers), positives, sampler).detach()
    logits = spy(numbered(layers), spy.pairs, None).view(-1, 4)
    target = torch.zeros_like(logits)
    target[:, 0] = 1
    entry = nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
    torch.testing.assert_close(result, (entry[:, 0] + entry[:, 1:].mean(dim=1)).mean())


def test_sampled_softmax_equals_cross_entropy_on_the_pairs_that_were_drawn() -> None:
    _, layers, positives, sampler = random_case(0)
    spy = Spy()
    result = computed(SampledSoftmax(3), spy, numbered(layers), positives, sampler).detach()
    logits = spy(numbered(layers), spy.pairs, None).view(-1, 4)
    target = torch.zeros(len(logits), dtype=torch.long)
    torch.testing.assert_close(result, nn.functional.cross_entropy(logits, target))


@pytest.mark.parametrize("kind", LOSSES)
def test_a_loss_can_be_taken_without_gradients(kind: type[Any]) -> None:
    decoder, layers, positives, sampler = random_case(0)
    with_grad = computed(kind(), decoder, layers, positives, sampler, chunk=16)
    with torch.no_grad():
        without = computed(kind(), decoder, layers, positives, sampler, chunk=16)
    assert not without.requires_grad
    torch.testing.assert_close(without, with_grad.detach())


@pytest.mark.parametrize("kind", [BCE, FullSoftmax])
def test_the_order_of_the_masked_edges_does_not_matter(kind: type[Any]) -> None:
    _, layers, positives, _ = random_case(1)
    # One free pair, so that the draws cannot differ: the complete graph less {6, 7}.
    edges = [(u, v) for u in range(8) for v in range(u + 1, 8) if (u, v) != (6, 7)]
    sampler = sampler_of(edges, 8)
    symmetric = decoder_of(PairMLP)
    results = [
        float(computed(kind(), symmetric, layers, order, sampler, chunk=16).detach())
        for order in (positives, positives.flip(1))
    ]
    assert results[0] == pytest.approx(results[1], rel=1e-5)


# Large logits


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_logits_of_a_thousand_are_no_trouble(kind: type[Any], sign: float) -> None:
    layers = [tensor.requires_grad_() for tensor in scalar_layer(1000, 1, -1)]
    pairs = torch.tensor([[0], [1]]) if sign > 0 else torch.tensor([[0], [2]])
    edges = [(0, 1), (1, 2)] if sign > 0 else [(0, 2), (2, 1)]
    loss = computed(kind(), InnerProduct(), layers, pairs, sampler_of(edges, 3))
    loss.backward()
    assert math.isfinite(float(loss.detach()))
    assert bool(layers[0].grad.isfinite().all())


def test_a_confident_mistake_costs_its_logit() -> None:
    # y_02 = -1000 is the edge, y_01 = 1000 the only free pair: 1000 + 1000.
    edges = [(0, 2), (2, 1)]
    result = value(BCE(), scalar_layer(1000, 1, -1), [(0, 2)], sampler_of(edges, 3))
    assert result == pytest.approx(2000)
    loss = SampledSoftmax(num_negatives=1)
    result = value(loss, scalar_layer(1000, 1, -1), [(0, 2)], sampler_of(edges, 3))
    assert result == pytest.approx(2000)


def test_a_confident_success_costs_nothing() -> None:
    # y_01 = 1000 is the edge, y_02 = -1000 the only free pair.
    result = value(BCE(), scalar_layer(1000, 1, -1), [(0, 1)], sampler_of(PATH, 3))
    assert result == pytest.approx(0, abs=1e-6)


# Negatives


@pytest.mark.parametrize("kind", SAMPLED)
@pytest.mark.parametrize("count", [1, 4])
def test_each_masked_edge_has_its_number_of_negatives(kind: type[Any], count: int) -> None:
    _, layers, positives, sampler = random_case(0)
    spy = Spy()
    computed(kind(count), spy, numbered(layers), positives, sampler)
    rows = spy.pairs.view(2, -1, 1 + count)
    assert torch.equal(rows[:, :, 0], positives)
    if kind is SampledSoftmax:
        assert torch.equal(rows[0, :, 1:], positives[0].unsqueeze(1).expand(-1, count))


def test_the_defaults_are_one_negative_for_bce_and_32_for_the_softmax() -> None:
    assert BCE().num_negatives == 1
    assert SampledSoftmax().num_negatives == 32


@pytest.mark.parametrize("kind", SAMPLED)
@pytest.mark.parametrize("directed", [False, True])
def test_negatives_avoid_training_edges_and_may_be_held_out_ones(
    kind: type[Any], directed: bool
) -> None:
    graph = toy_graph(num_nodes=10, num_edges=20, directed=directed)
    split = split_links(graph, 0.2, 0.2, torch.Generator().manual_seed(0))
    layers = [torch.zeros(10, 1)]
    spy = Spy()
    positives = split.message.edge_index
    sampler = NegativeSampler.of(split.message)
    computed(kind(50), spy, numbered(layers), positives, sampler)
    drawn = {tuple(pair) for pair in spy.pairs.view(2, -1, 51)[:, :, 1:].flatten(1).t().tolist()}
    train = {tuple(pair) for pair in split.message.edge_index.t().tolist()}
    held_out = {tuple(pair) for pair in torch.cat([split.val, split.test], dim=1).t().tolist()}
    assert not drawn & train
    assert not any(u == v for u, v in drawn)
    assert drawn & held_out


@pytest.mark.parametrize("kind", SAMPLED)
def test_a_loss_draws_nothing_but_its_negatives(kind: type[Any]) -> None:
    _, layers, positives, sampler = random_case(0)
    generators, state = Generators(0), torch.get_rng_state()
    negatives = kind(2).draw(positives, sampler, generators["negatives"])
    assert negatives.shape == (2, positives.size(1), 2)
    assert not torch.equal(negatives, kind(2).draw(positives, sampler, generators["negatives"]))
    before = generators.state()
    kind(2)(Spy(), numbered(layers), positives, negatives, generators["dropout"], ALL)
    assert all(torch.equal(value, before[name]) for name, value in generators.state().items())
    assert torch.equal(torch.get_rng_state(), state)


def test_the_full_softmax_draws_no_negatives() -> None:
    _, _, positives, sampler = random_case(0)
    generator = torch.Generator().manual_seed(0)
    before = generator.get_state()
    assert FullSoftmax().draw(positives, sampler, generator).shape == (2, positives.size(1), 0)
    assert torch.equal(generator.get_state(), before)


@pytest.mark.parametrize("kind", SAMPLED)
def test_a_loss_scores_the_negatives_that_it_is_given(kind: type[Any]) -> None:
    _, layers, positives, _ = random_case(0)
    spy, generator = Spy(), torch.Generator().manual_seed(0)
    given_pairs = torch.randint(8, (2, positives.size(1), 3), generator=generator)
    kind(3)(spy, numbered(layers), positives, given_pairs, None, ALL)
    assert torch.equal(spy.pairs.view(2, -1, 4)[:, :, 1:], given_pairs)


def test_bce_on_a_complete_graph_is_refused() -> None:
    triangle = [(0, 1), (0, 2), (1, 2)]
    with pytest.raises(GraphError, match="every pair of nodes is an edge"):
        value(BCE(), scalar_layer(1, 2, 3), triangle, sampler_of(triangle, 3))


def test_softmaxes_bear_a_complete_graph() -> None:
    triangle = [(0, 1), (0, 2), (1, 2)]
    layers, sampler = scalar_layer(1, 2, 3), sampler_of(triangle, 3)
    assert value(SampledSoftmax(), layers, triangle, sampler) == pytest.approx(0)
    assert value(FullSoftmax(), layers, triangle, sampler) > 0


# The full softmax's price


def test_a_full_softmax_beyond_max_pairs_is_refused_before_anything_is_decoded() -> None:
    spy = Spy()
    pairs = torch.tensor([[0, 1, 0], [1, 2, 2]])  # two heads against three nodes: six pairs
    loss = FullSoftmax(max_pairs=5)
    with pytest.raises(UnsupportedError, match=r"6 pairs .* loss\.max_pairs is 5.*sampled-softmax"):
        computed(loss, spy, numbered(scalar_layer(1, 2, -1)), pairs, sampler_of(PATH, 3))
    assert spy.asked == []


def test_a_full_softmax_of_just_max_pairs_is_done() -> None:
    spy = Spy()
    pairs = torch.tensor([[0, 1, 0], [1, 2, 2]])
    loss, layers = FullSoftmax(max_pairs=6), numbered(scalar_layer(1, 2, -1))
    computed(loss, spy, layers, pairs, sampler_of(PATH, 3))
    asked = sorted(map(tuple, spy.pairs.t().tolist()))
    assert asked == [(u, v) for u in (0, 1) for v in (0, 1, 2)]


@pytest.mark.parametrize("kind", LOSSES)
def test_no_chunk_is_larger_than_asked(kind: type[Any]) -> None:
    _, layers, positives, sampler = random_case(0)
    spy = Spy()
    computed(kind(), spy, numbered(layers), positives, sampler, chunk=40)
    sizes = [pairs.size(1) for pairs in spy.asked]
    assert max(sizes) <= 40
    assert kind is BCE or len(sizes) > 1
