"""Decoders: Eq. 2 multiplied out by hand, then its order, its symmetric form and the others."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from mgae.core.decoders import MLP, CrossCorrelation, Decoder, InnerProduct, PairMLP, stacked
from mgae.core.seeding import drawn_from

H1 = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.0, 1.0]])
H2 = torch.tensor([[2.0, 0.0], [1.0, 1.0], [-1.0, 3.0]])
CLASSES: dict[str, type[Decoder]] = {
    "cross-correlation": CrossCorrelation,
    "mlp": PairMLP,
    "inner-product": InnerProduct,
}
KINDS = list(CLASSES)
MLP_KINDS = ["cross-correlation", "mlp"]


def build(kind: str, depth: int = 2, width: int = 2, seed: int = 0, **options: Any) -> Decoder:
    with drawn_from(torch.Generator().manual_seed(seed)):
        return CLASSES[kind](width, depth, **options)


def random_layers(depth: int, width: int = 3, nodes: int = 6, seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(nodes, width, generator=generator) for _ in range(depth)]


def all_pairs(nodes: int) -> Tensor:
    return torch.cartesian_prod(torch.arange(nodes), torch.arange(nodes)).t()


def set_linear(linear: Any, weight: list[list[float]], bias: list[float]) -> None:
    linear.weight.data, linear.bias.data = torch.tensor(weight), torch.tensor(bias)


def logits_of(decoder: Decoder, layers: list[Tensor], *pairs: tuple[int, int]) -> list[float]:
    return decoder(layers, torch.tensor(pairs).t(), None).tolist()


# Eq. 2 by hand


def by_hand_decoder() -> Decoder:
    decoder = build("cross-correlation", hidden_channels=2)
    set_linear(
        decoder.mlp.hidden[0],
        # (1,1)      (1,2)       (2,1)       (2,2)
        [
            [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0],
            [0.0, 1.0, 1.0, 0.0, -1.0, 0.0, 0.0, 1.0],
        ],
        [0.0, 1.0],
    )
    set_linear(decoder.mlp.last, [[2.0, 5.0]], [-1.0])
    return decoder


def test_the_cross_correlation_of_three_nodes_by_hand() -> None:
    # v=0, u=1: h_v^1⊙h_u^1 = [3, -2]   h_v^1⊙h_u^2 = [1, 2]
    #           h_v^2⊙h_u^1 = [6, 0]    h_v^2⊙h_u^2 = [2, 0]
    # hidden: 3 + 2 + 2 = 7 and -2 + 1 - 6 + 0 + 1 = -6 → ReLU 0; logit: 2·7 + 5·0 - 1 = 13
    # v=1, u=0: [3, -2] [6, 0] [1, 2] [2, 0]
    # hidden: 3 + 0 + 2 = 5 and -2 + 6 - 1 + 0 + 1 = 4; logit: 10 + 20 - 1 = 29
    # v=2, u=1: [0, -1] [0, 1] [-3, -3] [-1, 3]
    # hidden: 0 + 1 - 1 = 0 and -1 + 0 + 3 + 3 + 1 = 6; logit: 0 + 30 - 1 = 29
    # v=2, u=0: [0, 2] [0, 0] [-1, 6] [-2, 0]
    # hidden: 0 + 0 - 2 = -2 → 0 and 2 + 0 + 1 + 0 + 1 = 4; logit: 0 + 20 - 1 = 19
    logits = logits_of(by_hand_decoder(), [H1, H2], (0, 1), (1, 0), (2, 1), (2, 0))
    assert logits == [13.0, 29.0, 29.0, 19.0]


def test_the_symmetric_form_by_hand() -> None:
    decoder = build("cross-correlation", symmetric=True, num_layers=1)
    # Blocks (1,1), (1,2)+(2,1), (2,2) of the pair 0, 1: [3, -2], [1+6, 2+0], [2, 0].
    set_linear(decoder.mlp.last, [[1.0, 10.0, 100.0, 1000.0, 1e4, 1e5]], [0.5])
    expected = 3 - 20 + 700 + 2000 + 20_000 + 0.5
    assert logits_of(decoder, [H1, H2], (0, 1), (1, 0)) == [expected, expected]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_block_k_j_stands_at_its_place(depth: int) -> None:
    width = 3
    layers = random_layers(depth, width)
    pairs = all_pairs(6)
    decoder = build("cross-correlation", depth, width, num_layers=1)
    decoder.mlp.last.bias.data.zero_()
    for k, j, channel in product(range(depth), range(depth), range(width)):
        weight = torch.zeros(1, depth * depth * width)
        weight[0, (k * depth + j) * width + channel] = 1.0
        decoder.mlp.last.weight.data = weight
        expected = layers[k][pairs[0], channel] * layers[j][pairs[1], channel]
        torch.testing.assert_close(decoder(layers, pairs, None), expected)


# The symmetric form


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_symmetric_scores_do_not_know_the_order(depth: int, num_layers: int) -> None:
    decoder = build("cross-correlation", depth, 3, symmetric=True, num_layers=num_layers)
    layers, pairs = random_layers(depth), all_pairs(6)
    forth, back = decoder(layers, pairs, None), decoder(layers, pairs.flip(0), None)
    torch.testing.assert_close(forth, back, atol=1e-6, rtol=1e-5)
    assert decoder.symmetric


def tied_twin(decoder: Decoder, depth: int, width: int, num_layers: int) -> Decoder:
    """The plain decoder whose W_kj and W_jk are both the symmetric decoder's."""
    twin = build("cross-correlation", depth, width, num_layers=num_layers)
    state = decoder.state_dict()
    first = "mlp.last.weight" if num_layers == 1 else "mlp.hidden.0.weight"
    blocks = iter(state[first].split(width, dim=1))
    tied: dict[tuple[int, int], Tensor] = {}
    for k in range(depth):
        for j in range(k, depth):
            tied[k, j] = tied[j, k] = next(blocks)
    state[first] = torch.cat([tied[k, j] for k in range(depth) for j in range(depth)], dim=1)
    twin.load_state_dict(state)
    return twin


@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("num_layers", [1, 2])
def test_the_symmetric_form_is_the_plain_one_with_tied_weights(depth: int, num_layers: int) -> None:
    width = 3
    decoder = build("cross-correlation", depth, width, symmetric=True, num_layers=num_layers)
    twin = tied_twin(decoder, depth, width, num_layers)
    assert not twin.symmetric
    layers, pairs = random_layers(depth, width), all_pairs(6)
    torch.testing.assert_close(
        decoder(layers, pairs, None), twin(layers, pairs, None), atol=1e-5, rtol=1e-5
    )


def test_the_plain_form_knows_the_order() -> None:
    decoder = build("cross-correlation", 2, 3)
    layers, pairs = random_layers(2), torch.tensor([[0], [1]])
    assert not torch.equal(decoder(layers, pairs, None), decoder(layers, pairs.flip(0), None))
    assert not decoder.symmetric


@pytest.mark.parametrize(("symmetric", "blocks"), [(False, 9), (True, 6)])
def test_the_symmetric_form_has_fewer_blocks(symmetric: bool, blocks: int) -> None:
    decoder = build("cross-correlation", depth=3, width=4, symmetric=symmetric)
    assert decoder.mlp.hidden[0].in_features == blocks * 4


# The other decoders by hand


@pytest.mark.parametrize(
    ("combine", "weight", "expected"),
    [
        # Last layers: node 0 has [2, 0], node 1 [1, 1], node 2 [-1, 3].
        ("hadamard", [[10.0, 1.0]], [20.5, -6.5]),  # [2, 0] and [-1, 3]
        ("concat", [[1.0, 10.0, 100.0, 1000.0]], [1102.5, 2911.5]),  # [2, 0, 1, 1], [1, 1, -1, 3]
        ("absdiff", [[10.0, 1.0]], [11.5, 22.5]),  # [1, 1] and [2, 2]
    ],
)
def test_the_pair_mlp_by_hand(
    combine: str, weight: list[list[float]], expected: list[float]
) -> None:
    decoder = build("mlp", combine=combine, num_layers=1)
    set_linear(decoder.mlp.last, weight, [0.5])
    assert logits_of(decoder, [H1, H2], (0, 1), (1, 2)) == expected


def test_the_pair_mlp_with_a_hidden_layer_by_hand() -> None:
    decoder = build("mlp", combine="absdiff", num_layers=2, hidden_channels=2)
    set_linear(decoder.mlp.hidden[0], [[1.0, 2.0], [-1.0, 0.0]], [0.0, 1.0])
    set_linear(decoder.mlp.last, [[3.0, 4.0]], [-2.0])
    # |h_0 - h_2| = [3, 3]: hidden 9 and -2 → 0; logit 3·9 - 2.
    # |h_0 - h_0| = [0, 0]: hidden 0 and 1; logit 4·1 - 2.
    assert logits_of(decoder, [H1, H2], (0, 2), (0, 0)) == [25.0, 2.0]


def test_the_inner_product_by_hand() -> None:
    decoder = build("inner-product")
    # The last layers: [2, 0]·[1, 1] = 2, [1, 1]·[-1, 3] = 2, [-1, 3]·[-1, 3] = 10, [2, 0]·[-1, 3]
    assert logits_of(decoder, [H1, H2], (0, 1), (1, 2), (2, 2), (0, 2)) == [2.0, 2.0, 10.0, -2.0]


def test_the_inner_product_has_nothing_to_learn() -> None:
    assert list(build("inner-product").parameters()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_decoder_reads_of_the_layers_scores_as_all_of_them(kind: str) -> None:
    decoder, layers = build(kind, 2, 3), random_layers(2)
    pairs, last = all_pairs(6), layers[-1].requires_grad_()
    every, read = stacked(layers), decoder.rows(layers)
    assert torch.equal(
        decoder.score_all(every[:2], every, None), decoder.score_all(read[:2], read, None)
    )
    by_all, by_read = (
        decoder.score(rows[pairs[0]], rows[pairs[1]], None) for rows in (every, read)
    )
    assert torch.equal(by_all, by_read)
    gradients = [torch.autograd.grad(logits.sum(), last)[0] for logits in (by_all, by_read)]
    assert torch.equal(*gradients)


@pytest.mark.parametrize("kind", KINDS)
def test_who_reads_the_last_layer_only_does_not_see_the_others(kind: str) -> None:
    decoder, pairs = build(kind), all_pairs(3)
    here, there = (stacked([first, H2]) for first in (H1, H1 + 1))
    logits = [decoder.score(rows[pairs[0]], rows[pairs[1]], None) for rows in (here, there)]
    assert torch.equal(*logits) is decoder.reads_last_only is (kind != "cross-correlation")


@settings(deadline=None, max_examples=30)
@given(
    which=st.sampled_from(
        [("mlp", {"combine": "hadamard"}), ("mlp", {"combine": "absdiff"}), ("inner-product", {})]
    ),
    depth=st.integers(1, 3),
    seed=st.integers(0, 1000),
)
def test_what_calls_itself_symmetric_is(
    which: tuple[str, dict[str, Any]], depth: int, seed: int
) -> None:
    decoder = build(which[0], depth, 3, seed=seed, **which[1])
    layers, pairs = random_layers(depth, seed=seed), all_pairs(6)
    assert decoder.symmetric
    assert torch.equal(decoder(layers, pairs, None), decoder(layers, pairs.flip(0), None))


def test_concat_is_not_symmetric_and_says_so() -> None:
    decoder = build("mlp", combine="concat")
    assert not decoder.symmetric
    forth, back = logits_of(decoder, [H1, H2], (0, 1), (1, 0))
    assert forth != back


# All decoders


@pytest.mark.parametrize("kind", MLP_KINDS)
@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_the_mlp_has_as_many_linear_layers_as_asked(kind: str, num_layers: int) -> None:
    decoder = build(kind, num_layers=num_layers, hidden_channels=7)
    linear = [*decoder.mlp.hidden, decoder.mlp.last]
    assert len(linear) == num_layers
    assert [layer.out_features for layer in linear] == [7] * (num_layers - 1) + [1]
    assert decoder([H1, H2], all_pairs(3), None).shape == (9,)


def test_a_three_layer_mlp_is_relu_of_relu() -> None:
    decoder = build("mlp", num_layers=3, hidden_channels=4)
    pairs = all_pairs(3)
    a, b, last = *decoder.mlp.hidden, decoder.mlp.last
    joined = H2[pairs[0]] * H2[pairs[1]]
    expected = last(torch.relu(b(torch.relu(a(joined))))).squeeze(1)
    torch.testing.assert_close(decoder([H1, H2], pairs, None), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_no_probabilities(kind: str) -> None:
    decoder = build(kind)
    logits = decoder([30 * H1, 30 * H2], all_pairs(3), None)
    assert float(logits.detach().abs().max()) > 1
    assert float(logits.detach().min()) < 0


@pytest.mark.parametrize("kind", MLP_KINDS)
def test_dropout_needs_a_generator(kind: str) -> None:
    decoder = build(kind, dropout=0.5, hidden_channels=32)
    pairs = all_pairs(3)
    plain = decoder([H1, H2], pairs, None)
    assert torch.equal(plain, decoder([H1, H2], pairs, None))
    dropped = [decoder([H1, H2], pairs, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)]
    assert torch.equal(dropped[0], dropped[1])
    assert not torch.equal(dropped[0], plain)
    assert not torch.equal(dropped[0], dropped[2])


@pytest.mark.parametrize("kind", MLP_KINDS)
def test_a_decoder_without_hidden_layer_drops_nothing(kind: str) -> None:
    decoder = build(kind, dropout=0.5, num_layers=1)
    pairs = all_pairs(3)
    dropped = decoder([H1, H2], pairs, torch.Generator().manual_seed(0))
    assert torch.equal(dropped, decoder([H1, H2], pairs, None))


@pytest.mark.parametrize("kind", MLP_KINDS)
def test_reset_parameters_is_a_new_draw_from_the_generator(kind: str) -> None:
    decoder = build(kind, num_layers=3)

    def reset(seed: int) -> dict[str, Tensor]:
        with drawn_from(torch.Generator().manual_seed(seed)):
            decoder.reset_parameters()
        return {name: value.clone() for name, value in decoder.state_dict().items()}

    first, other, again = reset(1), reset(2), reset(1)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first)


@pytest.mark.parametrize("kind", KINDS)
def test_no_pairs_give_no_logits(kind: str) -> None:
    assert build(kind)([H1, H2], torch.empty(2, 0, dtype=torch.long), None).shape == (0,)


# One head against all nodes


each_decoder = pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("cross-correlation", {}),
        ("cross-correlation", {"symmetric": True}),
        ("mlp", {"combine": "concat"}),
        ("mlp", {"combine": "hadamard"}),
        ("mlp", {"combine": "absdiff"}),
        ("inner-product", {}),
    ],
    ids=["cross", "cross-symmetric", "concat", "hadamard", "absdiff", "inner-product"],
)
of_any_shape = given(depth=st.integers(1, 3), mlp_layers=st.integers(1, 3), seed=st.integers(0, 99))
PROPERTY = settings(deadline=None, max_examples=25)


def shaped(
    kind: str, options: dict[str, Any], depth: int, mlp_layers: int, seed: int
) -> tuple[Decoder, Tensor]:
    """A decoder and the layers of seven nodes [7, depth, 3], in double precision."""
    if kind in MLP_KINDS:
        options = {**options, "num_layers": mlp_layers, "hidden_channels": 5}
    rows = torch.randn(7, depth, 3, generator=torch.Generator().manual_seed(seed))
    return build(kind, depth, 3, seed, **options).double(), rows.double()


@each_decoder
@PROPERTY
@of_any_shape
def test_folding_the_head_gives_the_scores_of_its_pairs(
    kind: str, options: dict[str, Any], depth: int, mlp_layers: int, seed: int
) -> None:
    decoder, rows = shaped(kind, options, depth, mlp_layers, seed)
    rows.requires_grad_()
    heads = torch.tensor([4, 0])
    fast = decoder.score_all(rows[heads], rows, None)
    slow = torch.stack([decoder.score(rows[[int(head)] * 7], rows, None) for head in heads])
    torch.testing.assert_close(fast, slow)
    upstream = torch.randn(fast.shape, generator=torch.Generator().manual_seed(1)).double()
    wanted = [rows, *decoder.parameters()]
    torch.testing.assert_close(
        torch.autograd.grad(fast, wanted, upstream), torch.autograd.grad(slow, wanted, upstream)
    )


@each_decoder
@PROPERTY
@of_any_shape
def test_one_head_against_tails_in_one_order_or_both(
    kind: str, options: dict[str, Any], depth: int, mlp_layers: int, seed: int
) -> None:
    decoder, rows = shaped(kind, options, depth, mlp_layers, seed)
    ends = rows[[4] * 7]
    before, behind = decoder.score(ends, rows, None), decoder.score(rows, ends, None)
    torch.testing.assert_close(decoder.against(rows[4], both=False)(rows), before)
    torch.testing.assert_close(decoder.against(rows[4], both=True)(rows), (before + behind) / 2)


@each_decoder
@PROPERTY
@of_any_shape
def test_both_orders_at_once(
    kind: str, options: dict[str, Any], depth: int, mlp_layers: int, seed: int
) -> None:
    decoder, heads = shaped(kind, options, depth, mlp_layers, seed)
    tails = heads.flip(0) + 0.5
    forth, back = decoder.score(heads, tails, None), decoder.score(tails, heads, None)
    both = decoder.score_both(heads, tails)
    torch.testing.assert_close(both, (forth + back) / 2)
    assert torch.equal(both, decoder.score_both(tails, heads)), "not only nearly the same"


# Precision


@pytest.mark.parametrize("kind", MLP_KINDS)
@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_bfloat16_is_for_training_alone(
    kind: str, num_layers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{MLP.__module__}.multiplies_bfloat16", lambda device: True)
    options: dict[str, Any] = {"num_layers": num_layers, "dropout": 0.0}
    exact, lowered = (build(kind, 2, 3, **options, precision=p) for p in ("float32", "bfloat16"))
    layers, pairs = random_layers(2), all_pairs(6)
    rows, chance = torch.stack(layers, dim=1), torch.Generator()
    assert torch.equal(lowered(layers, pairs, None), exact(layers, pairs, None))
    for train, whole in (
        (lowered(layers, pairs, chance), exact(layers, pairs, chance)),
        (lowered.score_all(rows, rows, chance), exact.score_all(rows, rows, chance)),
    ):
        assert not torch.equal(train, whole)
        torch.testing.assert_close(train, whole, rtol=0.05, atol=0.05)


def test_where_there_are_no_instructions_for_bfloat16_nothing_is_rounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(f"{MLP.__module__}.multiplies_bfloat16", lambda device: False)
    exact, lowered = (build("mlp", dropout=0.0, precision=p) for p in ("float32", "bfloat16"))
    layers, pairs, chance = random_layers(2, 2), all_pairs(6), torch.Generator()
    assert torch.equal(lowered(layers, pairs, chance), exact(layers, pairs, chance))
