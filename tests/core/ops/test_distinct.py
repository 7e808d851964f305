from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from mgae.core.ops.distinct import distinct


@given(st.lists(st.integers(-5, 5)))
def test_it_is_what_a_dictionary_keeps(values: list[int]) -> None:
    given_values = torch.tensor(values, dtype=torch.long)
    assert distinct(given_values).tolist() == list(dict.fromkeys(values))
