from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch

from mgae.core.ops.decoding import scratch


def place(name: str, *shape: int, dtype: torch.dtype = torch.float32) -> int:
    return scratch(name, shape, dtype).data_ptr()


def test_the_same_name_gets_the_same_memory_again() -> None:
    first = place("a", 10, 3)
    assert place("a", 10, 3) == first
    assert place("a", 5, 4) == first
    assert scratch("a", (5, 4), torch.float32).shape == (5, 4)


def test_other_names_types_and_threads_have_their_own() -> None:
    mine = place("b", 100)
    assert place("c", 100) != mine
    assert place("b", 100, dtype=torch.float64) != mine
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(place, "b", 100).result() != mine


def test_what_is_far_too_large_is_given_back() -> None:
    place("d", 1_000_000)
    assert scratch("d", (10,), torch.float32).untyped_storage().nbytes() == 40
