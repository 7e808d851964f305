from __future__ import annotations

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from mgae.core.ops.permutation import Permutation

LARGE = [2**20, 2**20 + 1, 30_326_273, 2**33 + 7, 10**10]


def drawn(size: int, seed: int = 0) -> Permutation:
    return Permutation.draw(size, torch.Generator().manual_seed(seed))


@settings(deadline=None, max_examples=100)
@given(size=st.integers(1, 400), seed=st.integers(0, 2**20))
@example(size=1, seed=0)
@example(size=2, seed=0)
@example(size=16, seed=0)  # a square: no position too many
@example(size=17, seed=0)  # the row after it: most positions too many
def test_every_thing_has_one_position(size: int, seed: int) -> None:
    order = drawn(size, seed)
    things = order(torch.arange(size))
    assert sorted(things.tolist()) == list(range(size))
    assert torch.equal(order.inverse(things), torch.arange(size))


def test_every_thing_has_one_position_beyond_one_chunk() -> None:
    things = drawn(100_003)(torch.arange(100_003))
    assert torch.equal(things.sort().values, torch.arange(100_003))


@settings(deadline=None, max_examples=60)
@given(size=st.one_of(st.integers(1, 10**6), st.sampled_from(LARGE)), data=st.data())
def test_the_inverse_undoes_the_order_from_both_sides(size: int, data: st.DataObject) -> None:
    order = drawn(size, data.draw(st.integers(0, 100)))
    numbers = torch.tensor(data.draw(st.lists(st.integers(0, size - 1), max_size=20)))
    for there, back in ((order, order.inverse), (order.inverse, order)):
        image = there(numbers.long())
        assert bool(((image >= 0) & (image < size)).all())
        assert torch.equal(back(image), numbers.long())


def test_the_state_follows_the_root_of_the_size() -> None:
    numbers = sum(shift.numel() for shift in drawn(30_326_273).shifts)
    assert numbers < 60_000


def test_the_same_generator_gives_the_same_order_and_another_gives_another() -> None:
    indices = torch.arange(1000)
    assert torch.equal(drawn(1000, 1)(indices), drawn(1000, 1)(indices))
    assert not torch.equal(drawn(1000, 1)(indices), drawn(1000, 2)(indices))


@pytest.mark.parametrize("size", [4, 5, 7])
def test_two_things_stand_anywhere_equally_often(size: int) -> None:
    generator = torch.Generator().manual_seed(3)
    ends = torch.tensor([0, size - 1])
    counts = torch.zeros(size, size)
    for _ in range(100 * size * (size - 1)):
        first, last = Permutation.draw(size, generator)(ends).tolist()
        counts[first, last] += 1
    assert bool((counts.diagonal() == 0).all())
    apart = counts[~torch.eye(size, dtype=torch.bool)]
    assert chisquare(apart.numpy()).pvalue > 0.001


def test_the_first_half_of_a_long_order_is_spread_as_a_random_half_is() -> None:
    size, length = 100_000, 50
    first = drawn(size).inverse(torch.arange(size)) < size // 2
    blocks = first.view(-1, length).sum(1).double()
    # A random half puts length / 2 into each block, with the variance of a coin's tosses.
    assert int(first.sum()) == size // 2
    assert float(blocks.var()) == pytest.approx(length / 4, rel=0.1)
