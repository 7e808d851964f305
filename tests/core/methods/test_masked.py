"""The masked graph autoencoder: what is hidden, what is seen, and how a pair is scored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from mgae.core.errors import ConfigError
from mgae.core.masks import MaskedEdges
from mgae.runs.build import build_method
from mgae.core.methods.base import Encoded
from mgae.core.methods.masked import MaskedGraphAutoencoder, MaskGAE
from mgae.core.seeding import Generators, drawn_from
from mgae.core.training import fit
from mgae.data import MessageGraph
from mgae.registry import MASKS
from mgae.runs.config import RunConfig
from tests.conftest import toy_graph

SMALL = {"encoder": {"hidden_channels": 4}, "decoder": {"hidden_channels": 8}}


def build(graph: MessageGraph, seed: int = 0, **sections: Any) -> MaskedGraphAutoencoder:
    config = RunConfig(**{**SMALL, **sections})
    method = build_method(config, graph, Generators(seed)["init"])
    assert isinstance(method, MaskedGraphAutoencoder)
    return method


class Watched:
    """A method that remembers its masks, what its encoder saw and what its loss was asked."""

    def __init__(self, method: MaskedGraphAutoencoder) -> None:
        self.method = method
        self.masks: list[MaskedEdges] = []
        self.seen: list[MessageGraph] = []
        self.positives: list[Tensor] = []
        self.known: list[Tensor] = []
        mask, loss = method.mask, method.loss
        method.mask = self._mask(mask)  # type: ignore[assignment]
        method.loss = self._loss(loss)  # type: ignore[assignment]
        method.encoder.register_forward_pre_hook(lambda _, given: self.seen.append(given[0]))

    def _mask(self, mask: Callable[..., MaskedEdges]) -> Callable[..., MaskedEdges]:
        def call(graph: MessageGraph, generator: torch.Generator) -> MaskedEdges:
            self.masks.append(mask(graph, generator))
            return self.masks[-1]

        call.ratio = mask.ratio  # type: ignore[attr-defined]
        return call

    def _loss(self, loss: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def call(
            decoder: Any, layers: Any, positives: Tensor, negatives: Any, *rest: Any
        ) -> Tensor:
            self.positives.append(positives)
            self.known.append(negatives.edge_keys)
            return loss(decoder, layers, positives, negatives, *rest)

        return call


def edge_set(edges: Tensor) -> set[tuple[int, int]]:
    return set(map(tuple, edges.t().tolist()))


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
    watched = run_epochs(build(graph), graph, epochs=3)
    hidden = [frozenset(edge_set(mask.masked)) for mask in watched.masks]
    assert len(hidden) == len(set(hidden)) == 3


def test_masks_depend_on_the_mask_stream_alone() -> None:
    graph = toy_graph()
    plain = run_epochs(build(graph), graph, epochs=2)
    other = run_epochs(build(graph, seed=1, loss="sampled-softmax"), graph, epochs=2)
    for left, right in zip(plain.masks, other.masks, strict=True):
        assert torch.equal(left.masked, right.masked)


@pytest.mark.parametrize("directed", [False, True])
def test_the_encoder_sees_no_masked_edge_in_any_direction(directed: bool) -> None:
    graph = toy_graph(directed=directed)
    watched = run_epochs(build(graph), graph, epochs=3)
    assert len(watched.seen) == 3
    for seen, mask in zip(watched.seen, watched.masks, strict=True):
        visible, hidden = edge_set(seen.edge_index), edge_set(mask.masked)
        assert not visible & (hidden | {(v, u) for u, v in hidden})
        back = {(v, u) for u, v in hidden} if graph.undirected else set()
        assert visible | hidden | back == edge_set(graph.edge_index)


def test_the_directed_mask_hides_a_direction_and_may_leave_its_reverse() -> None:
    graph = toy_graph()
    watched = run_epochs(build(graph, mask="directed"), graph, epochs=3)
    for seen, mask in zip(watched.seen, watched.masks, strict=True):
        visible, hidden = edge_set(seen.edge_index), edge_set(mask.masked)
        assert not visible & hidden
        assert visible | hidden == edge_set(graph.edge_index)
        assert {(v, u) for u, v in hidden} & visible


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 100),
    ratio=st.floats(0.05, 0.95),
    kind=st.sampled_from([entry.name for entry in MASKS]),
    step_size=st.integers(1, 40),
)
def test_no_target_is_visible_whatever_the_settings(
    seed: int, ratio: float, kind: str, step_size: int
) -> None:
    graph = toy_graph(num_nodes=10, num_edges=20, seed=seed)
    method = build(
        graph, mask={"kind": kind, "ratio": ratio}, train={"step_size": step_size, "epochs": 1}
    )
    watched = run_epochs(method, graph, epochs=1)
    for seen, positives in zip(watched.seen, watched.positives, strict=True):
        assert not edge_set(seen.edge_index) & edge_set(positives)


@pytest.mark.parametrize("step_size", [1, 5, 27, 28, 29, 1000])
def test_the_steps_cover_every_masked_edge_once(step_size: int) -> None:
    graph = toy_graph()  # 40 edges, 28 of them masked
    watched = run_epochs(build(graph, train={"step_size": step_size}), graph, epochs=1)
    sizes = [positives.size(1) for positives in watched.positives]
    assert sum(sizes) == 28
    assert sizes[:-1] == [step_size] * (len(sizes) - 1)
    assert sizes[-1] <= step_size
    assert torch.equal(torch.cat(watched.positives, dim=1), watched.masks[0].masked)
    assert len(watched.masks) == 1


def test_without_a_step_size_an_epoch_is_one_step() -> None:
    graph = toy_graph()
    watched = run_epochs(build(graph), graph, epochs=1)
    assert [positives.size(1) for positives in watched.positives] == [28]


def test_each_step_encodes_anew_with_the_weights_of_the_last() -> None:
    graph = toy_graph()
    method = build(graph, train={"step_size": 10, "epochs": 1}, encoder={"dropout": 0.0})
    outputs: list[Tensor] = []
    method.encoder.register_forward_hook(lambda _, given, out: outputs.append(out[-1].detach()))
    train(method, graph, method.config.train, Generators(0), lambda: 0.0)
    assert len(outputs) == 3
    assert not torch.equal(outputs[0], outputs[1])


def test_negatives_are_kept_from_all_training_edges_visible_or_not() -> None:
    graph = toy_graph()
    watched = run_epochs(build(graph), graph, epochs=1)
    assert torch.equal(watched.known[0], graph.edge_keys)


@pytest.mark.parametrize("kind", [entry.name for entry in MASKS])
def test_a_ratio_of_zero_is_refused(kind: str) -> None:
    graph = toy_graph()
    method = build(graph, mask={"kind": kind, "ratio": 0.0})
    with pytest.raises(ConfigError, match=r"mask\.ratio 0\.0 hides no edge"):
        next(method.losses(graph, Generators(0)))


@pytest.mark.parametrize("ratio", [1.0, -0.1])
def test_a_ratio_outside_its_range_is_refused(ratio: float) -> None:
    with pytest.raises(ConfigError, match=r"mask\.ratio must be a number in \[0, 1\)"):
        RunConfig(mask={"ratio": ratio})


# Encoding and scoring


def test_encode_and_score_run_in_evaluation_mode() -> None:
    graph = toy_graph()
    method = build(graph, encoder={"hidden_channels": 4, "dropout": 0.9, "norm": "batch"})
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
    method = build(graph)
    encoded = method.encode(graph)
    assert not any(layer.requires_grad for layer in encoded.layers)
    assert not method.score_links(encoded, graph.pairs).requires_grad


def test_the_score_of_an_undirected_pair_is_the_mean_of_both_orders() -> None:
    graph = toy_graph()
    method = build(graph)
    encoded, pairs = method.encode(graph), graph.pairs
    forth, back = (method.decoder(encoded.layers, p, None) for p in (pairs, pairs.flip(0)))
    assert not torch.allclose(forth, back)
    torch.testing.assert_close(method.score_links(encoded, pairs), ((forth + back) / 2).detach())


def test_the_score_of_an_undirected_pair_does_not_know_its_order() -> None:
    graph = toy_graph()
    method = build(graph)
    encoded = method.encode(graph)
    forth = method.score_links(encoded, graph.pairs)
    assert torch.equal(forth, method.score_links(encoded, graph.pairs.flip(0)))


def test_the_score_of_a_directed_pair_is_the_decoder_s() -> None:
    graph = toy_graph(directed=True)
    method = build(graph)
    encoded = method.encode(graph)
    scores = method.score_links(encoded, graph.edge_index)
    expected = method.decoder(encoded.layers, graph.edge_index, None).detach()
    torch.testing.assert_close(scores, expected)
    assert not torch.allclose(scores, method.score_links(encoded, graph.edge_index.flip(0)))


def test_a_symmetric_decoder_is_asked_once() -> None:
    graph = toy_graph()
    method = build(graph, decoder={"hidden_channels": 8, "symmetric": True})
    calls: list[Tensor] = []
    method.decoder.mlp.register_forward_pre_hook(lambda _, given: calls.append(given[0]))
    method.score_links(method.encode(graph), graph.pairs)
    assert len(calls) == 1


@pytest.mark.parametrize("chunk_size", [1, 7, 10**6])
def test_scores_do_not_depend_on_the_chunk(chunk_size: int) -> None:
    graph = toy_graph()
    whole, chunked = build(graph), build(graph, train={"chunk_size": chunk_size})
    expected = whole.score_links(whole.encode(graph), graph.pairs)
    torch.testing.assert_close(chunked.score_links(chunked.encode(graph), graph.pairs), expected)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_embed_is_all_layers_side_by_side(depth: int) -> None:
    graph = toy_graph()
    method = build(graph, encoder={"num_layers": depth, "hidden_channels": 4})
    layers = method.encode(graph).layers
    embedding = method.embed(graph)
    assert embedding.shape == (20, depth * 4)
    for k, layer in enumerate(layers):
        assert torch.equal(embedding[:, 4 * k : 4 * (k + 1)], layer)


def test_encode_uses_all_edges_of_the_graph_it_is_given() -> None:
    graph = toy_graph()
    method = build(graph)
    watched = Watched(method)
    method.encode(graph)
    assert torch.equal(watched.seen[0].edge_index, graph.edge_index)
    assert watched.masks == []


# Training


def test_encoder_and_decoder_are_clipped_apart() -> None:
    method = build(toy_graph())
    assert method.parameter_groups() == {"model": [method.encoder, method.decoder]}
    together = [p for module in method.parameter_groups()["model"] for p in module.parameters()]
    assert {id(p) for p in together} == {id(p) for p in method.parameters()}


def test_every_parameter_gets_a_gradient() -> None:
    graph = toy_graph()
    method = build(graph)
    (loss, _) = next(method.losses(graph, Generators(0)))
    loss.backward()
    assert all(p.grad is not None and float(p.grad.abs().sum()) > 0 for p in method.parameters())


def test_reset_parameters_gives_an_untrained_method() -> None:
    graph = toy_graph()
    method = build(graph)
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
    method = build(graph, train={"epochs": 30}, encoder={"hidden_channels": 16})
    epoch = iter(range(30))  # a validation that always finds the last epoch the best
    fit = train(method, graph, method.config.train, Generators(0), lambda: float(next(epoch)))
    assert fit.history[-1].loss < fit.history[0].loss
    encoded = method.encode(graph)
    scores = [method.score_links(encoded, torch.tensor(pairs).t()) for pairs in (inside, cross)]
    assert float((scores[0].unsqueeze(1) > scores[1]).float().mean()) > 0.95


# SelfTask and MaskGAE


def test_selftask_is_mgae_with_an_mlp_on_the_difference() -> None:
    graph = toy_graph()
    sections = {**SMALL, "decoder": {"kind": "mlp", "combine": "absdiff", "hidden_channels": 8}}
    first = build_method(RunConfig(method="mgae", **sections), graph, Generators(0)["init"])
    given_sections = {**SMALL, "method": "selftask"}
    second = build_method(RunConfig(**given_sections), graph, Generators(0)["init"])
    losses = [
        [float(loss.detach()) for loss, _ in method.losses(graph, Generators(0))]
        for method in (first, second)
    ]
    assert losses[0] == losses[1]


def maskgae(alpha: float, **sections: Any) -> MaskGAE:
    config = RunConfig(method={"kind": "maskgae", "alpha": alpha}, **{**SMALL, **sections})
    method = build_method(config, toy_graph(), Generators(0)["init"])
    assert isinstance(method, MaskGAE)
    return method


def test_maskgae_adds_alpha_times_the_error_of_the_hidden_degrees() -> None:
    graph, method = toy_graph(), maskgae(0.5)
    edges = method.mask(graph, torch.Generator().manual_seed(0))
    for parameter in method.degree.parameters():
        parameter.data.zero_()
    method.degree.last.bias.data.fill_(2.0)
    _, cost = method.represent(edges, Generators(0))
    degrees = [int((edges.masked == node).sum()) for node in range(20)]
    expected = 0.5 * sum((degree - 2) ** 2 for degree in degrees) / 20
    assert cost is not None
    assert cost.item() == pytest.approx(expected)


def test_without_alpha_maskgae_is_a_masked_autoencoder() -> None:
    graph = toy_graph()
    method = maskgae(0.0, encoder={"hidden_channels": 4, "dropout": 0.0})
    edges = method.mask(graph, torch.Generator().manual_seed(0))
    layers, cost = method.represent(edges, Generators(0))
    assert cost is not None
    assert cost.item() == 0
    torch.testing.assert_close(layers[-1], method.encoder(edges.visible, None)[-1])


def test_maskgae_refuses_neighborhoods_by_name() -> None:
    with pytest.raises(ConfigError, match="'maskgae' needs every node's degree"):
        maskgae(0.1, mask="undirected", train={"fanouts": [3, 3]})


def test_the_rows_of_some_nodes_are_the_same_however_they_are_taken() -> None:
    layers = torch.randn(2, 6, 3, generator=torch.Generator().manual_seed(0))
    nodes = torch.tensor([4, 0, 4])
    few, all_of_them = Encoded(tuple(layers), True), Encoded(tuple(layers), True)
    assert torch.equal(few.take(nodes), all_of_them.rows[nodes])
    assert torch.equal(all_of_them.take(nodes), few.rows[nodes])
    assert torch.equal(few.take(torch.arange(6)), few.rows)
