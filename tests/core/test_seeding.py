from __future__ import annotations

import torch

from mgae.core.seeding import STREAMS, Generators, drawn_from, stream_seed


def draw(generators: Generators, stream: str) -> list[int]:
    return torch.randint(10**6, (4,), generator=generators[stream]).tolist()


def test_streams_are_apart_and_repeatable() -> None:
    drawn = {stream: draw(Generators(3), stream) for stream in STREAMS}
    assert drawn == {stream: draw(Generators(3), stream) for stream in STREAMS}
    assert len({tuple(values) for values in drawn.values()}) == len(STREAMS)


def test_drawing_from_one_stream_leaves_the_others() -> None:
    generators = Generators(0)
    draw(generators, "negatives")
    assert draw(generators, "mask") == draw(Generators(0), "mask")


def test_neighboring_seeds_share_no_stream() -> None:
    seeds = {stream_seed(seed, stream) for seed in range(100) for stream in STREAMS}
    assert len(seeds) == 100 * len(STREAMS)


def test_state_restores_every_stream() -> None:
    generators = Generators(1)
    state = generators.state()
    first = {stream: draw(generators, stream) for stream in STREAMS}
    generators.restore(state)
    assert {stream: draw(generators, stream) for stream in STREAMS} == first


def test_borrowing_moves_ours_and_leaves_the_global_generator() -> None:
    ours, before = torch.Generator().manual_seed(5), torch.random.get_rng_state()
    with drawn_from(ours):
        first = torch.rand(2)
    with drawn_from(ours):
        second = torch.rand(2)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not torch.equal(first, second)
    assert torch.equal(first, torch.rand(2, generator=torch.Generator().manual_seed(5)))
