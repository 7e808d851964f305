"""The masked graph autoencoder: what is hidden, what is visible, and how a pair is scored."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from mgae.core import (
    BCE,
    GCN,
    CrossCorrelation,
    Directed,
    Mask,
    MaskedGraphAutoencoder,
    MaskGAE,
    Path,
    SampledSoftmax,
    Undirected,
    fit,
)
from mgae.core.errors import ConfigError
from mgae.core.graph import MessageGraph
from mgae.core.losses import Loss
from mgae.core.masks import MaskedEdges
from mgae.core.methods.base import Encoded
from mgae.core.negatives import NegativeSampler
from mgae.core.seeding import Generators, drawn_from
from tests.conftest import toy_graph
from tests.core.methods.small import edge_set, fit_to_the_last, masked, seeded

MASKS = [Undirected, Directed, Path]


class Watched:
    """A method that remembers its masks, what its encoder saw and what its loss was asked."""

    def __init__(self, method: MaskedGraphAutoencoder) -> None:
        self.method = method
        self.masks: list[MaskedEdges] = []
        self.visible: list[MessageGraph] = []
        self.positives: list[Tensor] = []
        self.known: list[Tensor] = []
        method.mask = WatchedMask(method.mask, self)
        method.loss = WatchedLoss(method.loss, self)
        method.encoder.register_forward_pre_hook(lambda _, given: self.visible.append(given[0]))


class WatchedMask(Mask):
    def __init__(self, mask: Mask, watched: Watched) -> None:
        super().__init__(mask.ratio)
        self.mask, self.watched = mask, watched

    def __call__(self, graph: MessageGraph, generator: torch.Generator) -> MaskedEdges:
        self.watched.masks.append(self.mask(graph, generator))
        return self.watched.masks[-1]


class WatchedLoss(Loss):
    def __init__(self, loss: Loss, watched: Watched) -> None:
        self.loss, self.watched = loss, watched

    def draw(
        self, positives: Tensor, sampler: NegativeSampler, generator: torch.Generator
    ) -> Tensor:
        self.watched.known.append(sampler.edge_keys)
        return self.loss.draw(positives, sampler, generator)

    def __call__(self, decoder: Any, layers: Any, positives: Tensor, *rest: Any) -> Tensor:
        self.watched.positives.append(positives)
        return self.loss(decoder, layers, positives, *rest)


def run_epochs(method: MaskedGraphAutoencoder, graph: MessageGraph, epochs: int) -> Watched:
    watched = Watched(method)
    generators = Generators(0)
    for _ in range(epochs):
        for loss, group in method.losses(graph, generators):
            assert group == "model"
            assert bool(loss.isfinite())
    return watched


def test_each_epoch_has_a_fresh_mask() -> None:
    graph = toy_graph()
    watched = run_epochs(masked(graph), graph, epochs=3)
    hidden = [frozenset(edge_set(mask.masked)) for mask in watched.masks]
    assert len(hidden) == len(set(hidden)) == 3


def test_masks_depend_on_the_mask_stream_alone() -> None:
    graph = toy_graph()
    plain = run_epochs(masked(graph), graph, epochs=2)
    other = run_epochs(masked(graph, seed=1, loss=SampledSoftmax()), graph, epochs=2)
    for left, right in zip(plain.masks, other.masks, strict=True):
        assert torch.equal(left.masked, right.masked)


@pytest.mark.parametrize("directed", [False, True])
def test_the_encoder_sees_no_masked_edge_in_any_direction(directed: bool) -> None:
    graph = toy_graph(directed=directed)
    watched = run_epochs(masked(graph), graph, epochs=3)
    assert len(watched.visible) == 3
    for visible_graph, mask in zip(watched.visible, watched.masks, strict=True):
        visible, hidden = edge_set(visible_graph.edge_index), edge_set(mask.masked)
        assert not visible & (hidden | {(v, u) for u, v in hidden})
        back = {(v, u) for u, v in hidden} if graph.undirected else set()
        assert visible | hidden | back == edge_set(graph.edge_index)


def test_the_directed_mask_hides_a_direction_and_may_leave_its_reverse() -> None:
    graph = toy_graph()
    watched = run_epochs(masked(graph, mask=Directed(0.7)), graph, epochs=3)
    for visible_graph, mask in zip(watched.visible, watched.masks, strict=True):
        visible, hidden = edge_set(visible_graph.edge_index), edge_set(mask.masked)
        assert not visible & hidden
        assert visible | hidden == edge_set(graph.edge_index)
        assert {(v, u) for u, v in hidden} & visible


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 100),
    ratio=st.floats(0.05, 0.95),
    kind=st.sampled_from(MASKS),
    step_size=st.integers(1, 40),
)
def test_no_target_is_visible_whatever_the_settings(
    seed: int, ratio: float, kind: type[Mask], step_size: int
) -> None:
    graph = toy_graph(num_nodes=10, num_edges=20, seed=seed)
    method = masked(graph, mask=kind(ratio), step_size=step_size)
    watched = run_epochs(method, graph, epochs=1)
    for visible_graph, positives in zip(watched.visible, watched.positives, strict=True):
        assert not edge_set(visible_graph.edge_index) & edge_set(positives)


@pytest.mark.parametrize("step_size", [1, 5, 27, 28, 29, 1000])
def test_the_steps_cover_every_masked_edge_once(step_size: int) -> None:
    graph = toy_graph()  # 40 edges, 28 of them masked
    watched = run_epochs(masked(graph, step_size=step_size), graph, epochs=1)
    sizes = [positives.size(1) for positives in watched.positives]
    assert sum(sizes) == 28
    assert sizes[:-1] == [step_size] * (len(sizes) - 1)
    assert sizes[-1] <= step_size
    assert torch.equal(torch.cat(watched.positives, dim=1), watched.masks[0].masked)
    assert len(watched.masks) == 1


def test_without_a_step_size_an_epoch_is_one_step() -> None:
    graph = toy_graph()
    watched = run_epochs(masked(graph), graph, epochs=1)
    assert [positives.size(1) for positives in watched.positives] == [28]


def test_each_step_encodes_anew_with_the_weights_of_the_last() -> None:
    graph = toy_graph()
    method = masked(graph, step_size=10, encoder={"dropout": 0.0})
    outputs: list[Tensor] = []
    method.encoder.register_forward_hook(lambda _, given, out: outputs.append(out[-1].detach()))
    fit(method, graph, epochs=1)
    assert len(outputs) == 3
    assert not torch.equal(outputs[0], outputs[1])


def test_negatives_are_kept_from_all_training_edges_visible_or_not() -> None:
    graph = toy_graph()
    watched = run_epochs(masked(graph), graph, epochs=1)
    assert torch.equal(watched.known[0], graph.edge_keys)


@pytest.mark.parametrize("kind", MASKS)
def test_a_ratio_of_zero_is_refused(kind: type[Mask]) -> None:
    graph = toy_graph()
    method = masked(graph, mask=kind(0.0))
    with pytest.raises(ConfigError, match=r"mask\.ratio 0\.0 hides no edge"):
        next(method.losses(graph, Generators(0)))


# Encoding and scoring


def test_encode_and_score_run_in_evaluation_mode() -> None:
    graph = toy_graph()
    method = masked(graph, encoder={"hidden_channels": 4, "dropout": 0.9, "norm": "batch"})
    pairs = graph.pairs
    method.train()
    encoded = method.encode(graph)
    assert not method.training
    assert not method.encoder.training
    method.train()
    scores = method.score_links(encoded, pairs)
    assert not method.decoder.training
    method.train()
    assert torch.equal(method.score_links(method.encode(graph), pairs), scores)


def test_encode_and_score_need_no_gradients() -> None:
    graph = toy_graph()
    method = masked(graph)
    encoded = method.encode(graph)
    assert not any(layer.requires_grad for layer in encoded.layers)
    assert not method.score_links(encoded, graph.pairs).requires_grad


def test_the_score_of_an_undirected_pair_is_the_mean_of_both_orders() -> None:
    graph = toy_graph()
    method = masked(graph)
    encoded, pairs = method.encode(graph), graph.pairs
    forth, back = (method.decoder(encoded.layers, p, None) for p in (pairs, pairs.flip(0)))
    assert not torch.allclose(forth, back)
    torch.testing.assert_close(method.score_links(encoded, pairs), ((forth + back) / 2).detach())


def test_the_score_of_an_undirected_pair_does_not_know_its_order() -> None:
    graph = toy_graph()
    method = masked(graph)
    encoded = method.encode(graph)
    forth = method.score_links(encoded, graph.pairs)
    assert torch.equal(forth, method.score_links(encoded, graph.pairs.flip(0)))


def test_the_score_of_a_directed_pair_is_the_decoder_s() -> None:
    graph = toy_graph(directed=True)
    method = masked(graph)
    encoded = method.encode(graph)
    scores = method.score_links(encoded, graph.edge_index)
    expected = method.decoder(encoded.layers, graph.edge_index, None).detach()
    torch.testing.assert_close(scores, expected)
    assert not torch.allclose(scores, method.score_links(encoded, graph.edge_index.flip(0)))


def test_a_symmetric_decoder_is_asked_once() -> None:
    graph = toy_graph()
    method = masked(graph, decoder={"hidden_channels": 8, "symmetric": True})
    calls: list[Tensor] = []
    method.decoder.mlp.register_forward_pre_hook(lambda _, given: calls.append(given[0]))
    method.score_links(method.encode(graph), graph.pairs)
    assert len(calls) == 1


@pytest.mark.parametrize("chunk_size", [1, 7, 10**6])
def test_scores_do_not_depend_on_the_chunk(chunk_size: int) -> None:
    graph = toy_graph()
    whole, chunked = masked(graph), masked(graph, chunk_size=chunk_size)
    expected = whole.score_links(whole.encode(graph), graph.pairs)
    torch.testing.assert_close(chunked.score_links(chunked.encode(graph), graph.pairs), expected)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_embed_is_all_layers_side_by_side(depth: int) -> None:
    graph = toy_graph()
    method = masked(graph, encoder={"num_layers": depth, "hidden_channels": 4})
    layers = method.encode(graph).layers
    embedding = method.embed(graph)
    assert embedding.shape == (20, depth * 4)
    for k, layer in enumerate(layers):
        assert torch.equal(embedding[:, 4 * k : 4 * (k + 1)], layer)


def test_encode_uses_all_edges_of_the_graph_it_is_given() -> None:
    graph = toy_graph()
    method = masked(graph)
    watched = Watched(method)
    method.encode(graph)
    assert torch.equal(watched.visible[0].edge_index, graph.edge_index)
    assert watched.masks == []


# Training


def test_encoder_and_decoder_are_clipped_apart() -> None:
    method = masked(toy_graph())
    assert method.parameter_groups() == {"model": [method.encoder, method.decoder]}
    together = [p for module in method.parameter_groups()["model"] for p in module.parameters()]
    assert {id(p) for p in together} == {id(p) for p in method.parameters()}


def test_every_parameter_gets_a_gradient() -> None:
    graph = toy_graph()
    method = masked(graph)
    (loss, _) = next(method.losses(graph, Generators(0)))
    loss.backward()
    assert all(p.grad is not None and float(p.grad.abs().sum()) > 0 for p in method.parameters())


def test_reset_parameters_gives_an_untrained_method() -> None:
    graph = toy_graph()
    method = masked(graph)
    before = {name: value.clone() for name, value in method.state_dict().items()}
    with drawn_from(torch.Generator().manual_seed(0)):
        method.reset_parameters()
    weights = [name for name in before if name.endswith("weight")]
    assert not any(torch.equal(method.state_dict()[name], before[name]) for name in weights)


def test_training_learns_two_cliques() -> None:
    # Two cliques of eight: a decoder that learned anything sets inside pairs above cross pairs.
    inside = [(u, v) for c in (0, 8) for u in range(c, c + 8) for v in range(u + 1, c + 8)]
    cross = [(u, v) for u in range(8) for v in range(8, 16)]
    edge_index = torch.tensor(inside).t()
    edge_index = torch.cat([edge_index, edge_index.flip(0)], dim=1)
    edge_index = edge_index[:, torch.argsort(edge_index[1] * 16 + edge_index[0])]
    graph = MessageGraph(edge_index, 16)
    method = masked(graph, encoder={"hidden_channels": 16})
    history = fit_to_the_last(method, graph, 30).history
    assert history[-1].loss < history[0].loss
    encoded = method.encode(graph)
    scores = [method.score_links(encoded, torch.tensor(pairs).t()) for pairs in (inside, cross)]
    assert float((scores[0].unsqueeze(1) > scores[1]).float().mean()) > 0.95


# MaskGAE


def maskgae(graph: MessageGraph, alpha: float, **options: Any) -> MaskGAE:
    method = masked(graph, mask=Path(0.7), kind=MaskGAE, alpha=alpha, **options)
    assert isinstance(method, MaskGAE)
    return method


def test_maskgae_adds_alpha_times_the_error_of_the_hidden_degrees() -> None:
    graph = toy_graph()
    method = maskgae(graph, 0.5)
    edges = method.mask(graph, seeded())
    for parameter in method.degree.parameters():
        parameter.data.zero_()
    method.degree.last.bias.data.fill_(2.0)
    cost = method.extra_loss(method.encoder(edges.visible, None), edges, Generators(0))
    degrees = [int((edges.masked == node).sum()) for node in range(20)]
    expected = 0.5 * sum((degree - 2) ** 2 for degree in degrees) / 20
    assert cost is not None
    assert cost.item() == pytest.approx(expected)


def test_the_degree_loss_is_part_of_the_loss() -> None:
    graph = toy_graph()
    sure = {"encoder": {"dropout": 0.0}, "decoder": {"dropout": 0.0}, "degree_dropout": 0.0}
    (light, _), (heavy, _) = (
        next(maskgae(graph, alpha, **sure).losses(graph, Generators(0))) for alpha in (0.0, 2.0)
    )
    method = maskgae(graph, 2.0, **sure)
    edges = method.mask(graph, Generators(0)["mask"])
    cost = method.extra_loss(method.encoder(edges.visible, None), edges, Generators(0))
    assert cost is not None
    assert heavy.item() - light.item() == pytest.approx(cost.item(), rel=1e-4)


def test_without_alpha_maskgae_is_a_masked_autoencoder() -> None:
    graph = toy_graph()
    options: dict[str, Any] = {"mask": Path(0.7), "encoder": {"dropout": 0.0}}
    plain = masked(graph, **options)
    method = masked(graph, kind=MaskGAE, alpha=0.0, degree_dropout=0.0, **options)
    values = [float(next(one.losses(graph, Generators(0)))[0].detach()) for one in (plain, method)]
    assert values[1] == values[0]


def test_the_rows_of_some_nodes_are_the_same_however_they_are_taken() -> None:
    layers = torch.randn(2, 6, 3, generator=torch.Generator().manual_seed(0))
    nodes = torch.tensor([4, 0, 4])
    few, all_of_them = Encoded(tuple(layers), True), Encoded(tuple(layers), True)
    assert torch.equal(few.take(nodes), all_of_them.rows[nodes])
    assert torch.equal(all_of_them.take(nodes), few.rows[nodes])
    assert torch.equal(few.take(torch.arange(6)), few.rows)


def test_features_may_be_a_second_target() -> None:
    graph = toy_graph()

    def first_loss(weight: float) -> float:
        torch.manual_seed(0)
        method = MaskedGraphAutoencoder(
            Undirected(0.5), GCN(6, 4, dropout=0.0), CrossCorrelation(4, dropout=0.0), BCE(),
            feature_weight=weight, num_features=6,
        )  # fmt: skip
        loss, _ = next(iter(method.losses(graph, Generators(0))))
        if not weight:
            return float(loss.detach())
        # By hand: the error of the features that the encoder reads, from its last layer.
        edges_of_step = method.mask(graph, Generators(0)["mask"])
        layers = method.encoder(edges_of_step.visible, None)
        cosine = torch.cosine_similarity(method.features(layers[-1]), graph.x.to_dense(), dim=1)
        error = (1 - cosine).clamp(min=0).pow(3).mean()
        return float((loss - weight * error).detach())

    assert first_loss(2.0) == pytest.approx(first_loss(0.0), rel=1e-5)


def test_features_that_are_not_there_are_no_target() -> None:
    def built(**options: Any) -> MaskedGraphAutoencoder:
        encoder = GCN(6, 4)
        parts = Undirected(0.5), encoder, CrossCorrelation(4), BCE()
        return MaskedGraphAutoencoder(*parts, feature_weight=1.0, **options)

    with pytest.raises(ConfigError, match="rebuilds node features, and the encoder reads none"):
        built()
    with pytest.raises(ConfigError, match=r"train\.fanouts do not go together"):
        built(num_features=6, fanouts=[2, 2])
