from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from mgae.core.ops.dropout import dropout, kept, kept_scale, random_words

PROPERTY = settings(deadline=None, max_examples=40)
RATES = [0.05, 0.25, 0.5, 0.7, 0.95]


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def slow_dropout(values: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """One value after the other: dropped if the number that its bits spell is below p's share."""
    share = Fraction(min(round(p * 65536), 65535), 65536)
    bits = next(bits for bits in (1, 2, 4, 8, 16) if 2**bits % share.denominator == 0)
    words = random_words(-(-values.numel() * bits // 32), generator).tolist()
    numbers = [(word >> at) % 2**bits for word in words for at in range(0, 32, bits)]
    flat = [
        0.0 if number < share * 2**bits else value / (1 - float(share))
        for value, number in zip(values.flatten().tolist(), numbers, strict=False)
    ]
    return torch.tensor(flat, dtype=values.dtype).view(values.shape)


def five_sigma(p: float, count: int) -> float:
    return 5 * (p * (1 - p) / count) ** 0.5


def test_without_a_generator_nothing_is_dropped() -> None:
    values = torch.ones(100)
    assert dropout(values, 0.9, None) is values


def test_a_rate_of_zero_drops_nothing_and_draws_nothing() -> None:
    values, generator = torch.ones(100), seeded()
    before = generator.get_state()
    assert dropout(values, 0.0, generator) is values
    assert torch.equal(generator.get_state(), before)


def test_what_is_kept_is_doubled_at_one_half() -> None:
    values = torch.arange(1.0, 101.0)
    dropped = dropout(values, 0.5, seeded())
    assert torch.equal(dropped[dropped != 0], 2 * values[dropped != 0])
    assert 0 < int((dropped == 0).sum()) < 100


def test_the_scale_is_exact_for_the_rounded_rate() -> None:
    # 0.3 · 65,536 = 19,660.8: 19,661 of 65,536 numbers drop, the other 45,875 keep.
    result = dropout(torch.ones(1000, dtype=torch.float64), 0.3, seeded())
    assert set(result.unique().tolist()) == {0.0, 65536 / 45875}


@pytest.mark.parametrize("p", RATES)
def test_the_share_dropped_is_p(p: float) -> None:
    result = dropout(torch.ones(200_001), p, seeded(1))
    assert abs(float((result == 0).double().mean()) - p) < five_sigma(p, 200_001)


@pytest.mark.parametrize("p", RATES)
def test_the_mean_stays(p: float) -> None:
    result = dropout(torch.ones(200_001), p, seeded(2))
    assert abs(float(result.double().mean()) - 1) < five_sigma(p, 200_001) / (1 - p)


@pytest.mark.parametrize(("p", "lanes"), [(0.3, 4), (0.75, 32), (0.5, 64)])
def test_each_part_of_a_64_bit_draw_drops_alike(p: float, lanes: int) -> None:
    zero = (dropout(torch.ones(50_000 * lanes), p, seeded(3)) == 0).view(-1, lanes)
    assert float((zero.double().mean(dim=0) - p).abs().max()) < five_sigma(p, 50_000)


@pytest.mark.parametrize("p", [0.0625, 0.3, 0.5])
def test_what_is_kept_is_one_of_two_numbers(p: float) -> None:
    mask = kept(torch.Size([7, 31]), p, seeded(), torch.float64)
    assert mask.shape == (7, 31)
    assert set(mask.unique().tolist()) == {0.0, 1.0}
    values = torch.ones(7, 31, dtype=torch.float64)
    assert torch.equal(dropout(values, p, seeded()), mask * kept_scale(p))


@pytest.mark.parametrize("distance", [1, 2, 3, 4])
def test_neighbors_are_dropped_independently(distance: int) -> None:
    zero = dropout(torch.ones(200_000), 0.5, seeded(4)) == 0
    both = float((zero[distance:] & zero[:-distance]).double().mean())
    # Neighboring products overlap, which at most triples their variance.
    assert abs(both - 0.25) < 3**0.5 * five_sigma(0.25, 200_000)


def test_the_finest_rate_is_one_in_65536() -> None:
    count = 64 * 65536
    finest = dropout(torch.ones(count), 1 / 65536, seeded(5))
    assert abs(int((finest == 0).sum()) - 64) < 5 * 64**0.5
    assert torch.equal(dropout(torch.ones(count), 0.2 / 65536, seeded(5)), torch.ones(count))


def test_a_rate_just_below_one_still_keeps_some() -> None:
    result = dropout(torch.ones(64 * 65536), 1 - 1e-7, seeded(6))
    assert set(result.unique().tolist()) == {0.0, 65536.0}
    assert abs(int((result != 0).sum()) - 64) < 5 * 64**0.5


def test_the_same_seed_drops_the_same() -> None:
    values = torch.ones(1001)
    assert torch.equal(dropout(values, 0.5, seeded(7)), dropout(values, 0.5, seeded(7)))
    assert not torch.equal(dropout(values, 0.5, seeded(7)), dropout(values, 0.5, seeded(8)))


def test_each_draw_drops_anew() -> None:
    generator, values = seeded(), torch.ones(1001)
    assert not torch.equal(dropout(values, 0.5, generator), dropout(values, 0.5, generator))


def test_the_global_generator_is_left_alone() -> None:
    before = torch.get_rng_state()
    dropout(torch.ones(1001), 0.5, seeded())
    assert torch.equal(torch.get_rng_state(), before)


@PROPERTY
@given(
    shape=st.lists(st.integers(0, 7), min_size=1, max_size=3),
    p=st.floats(0, 1, exclude_min=True, exclude_max=True),
    seed=st.integers(0, 2**20),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_equals_the_slow_twin_at_any_shape(
    shape: list[int], p: float, seed: int, dtype: torch.dtype
) -> None:
    values = torch.randn(shape, generator=seeded(seed), dtype=dtype)
    result = dropout(values, p, seeded(seed))
    assert result.dtype == dtype
    assert result.shape == values.shape
    torch.testing.assert_close(result, slow_dropout(values, p, seeded(seed)))


def test_a_transposed_input_is_dropped_by_its_own_order() -> None:
    values = torch.randn(5, 7, generator=seeded())
    result = dropout(values.t(), 0.5, seeded(1))
    assert torch.equal(result, dropout(values.t().contiguous(), 0.5, seeded(1)))


def test_gradient_is_the_mask_times_the_scale() -> None:
    values = torch.rand(1001, generator=seeded()) + 1
    values.requires_grad_()
    result = dropout(values, 0.75, seeded())
    result.sum().backward()
    assert values.grad is not None
    assert torch.equal(values.grad, 4.0 * (result != 0))


def test_gradcheck() -> None:
    values = torch.randn(3, 5, generator=seeded(), dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda v: dropout(v, 0.4, seeded(9)), (values,))


@PROPERTY
@given(count=st.integers(0, 100))
def test_random_words_come_in_any_number(count: int) -> None:
    words = random_words(count, seeded())
    assert words.dtype == torch.int32
    assert words.shape == (count,)


def test_random_words_have_uniform_digits() -> None:
    words = random_words(160_000, seeded(10))
    for shift in range(0, 32, 4):
        counts = torch.bincount((words >> shift) & 15, minlength=16)
        assert int((counts - 10_000).abs().max()) < 160_000 * five_sigma(1 / 16, 160_000), shift
