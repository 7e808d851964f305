from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgae.core.errors import GraphError
from mgae.serving.nodeindex import NodeIndex

NAMES = NodeIndex(["alice", "bob", "Bobby", "carol", "jim bob"])
NUMBERS = NodeIndex([-3, 7, 70, 700, 17])


def test_the_id_comes_first_then_beginnings_then_the_rest() -> None:
    assert NAMES.find("bob") == ["bob", "Bobby", "jim bob"]
    assert NAMES.find("BOBBY") == ["Bobby"]
    assert NUMBERS.find("7") == [7, 70, 700, 17]
    assert NUMBERS.find("7", limit=2) == [7, 70]
    assert NAMES.find("o", limit=1) == ["bob"]
    assert NAMES.find("zoe") == []
    assert NAMES.find("", limit=2) == ["alice", "bob"]


def test_a_number_may_be_written_as_text_and_the_other_way_round() -> None:
    assert NUMBERS.position("-3") == NUMBERS.position(-3) == 0
    assert NUMBERS.position(np.int64(17)) == 4
    assert NUMBERS.id_of(" 700 ") == 700
    assert NodeIndex(["7", "x"]).position(7) == 0


@pytest.mark.parametrize("odd", [7.0, True, None, [7], "7.0", "seven", "²", "9" * 30])
def test_what_is_no_id_is_not_known(odd: object) -> None:
    assert not NUMBERS.knows(odd)
    with pytest.raises(GraphError, match="unknown node"):
        NUMBERS.position(odd)


def test_an_unknown_id_is_one_line_with_a_near_one() -> None:
    with pytest.raises(GraphError, match=r"unknown node 'alicia': the graph has 5 nodes \(did "):
        NAMES.position("alicia")
    with pytest.raises(GraphError, match=r"unknown node 'caro'.*did you mean carol"):
        NAMES.position("caro")
    with pytest.raises(GraphError) as caught:
        NAMES.position("x" * 10_000)
    assert len(str(caught.value)) < 200


def test_texts_have_their_places() -> None:
    assert NUMBERS.numbers_of(pa.array(["17", "018", "-3"])).tolist() == [4, -1, 0]


def test_ids_must_be_distinct() -> None:
    with pytest.raises(GraphError, match="distinct"):
        NodeIndex(["a", "a"])


def test_other_ids_than_numbers_and_texts_are_texts_in_a_table() -> None:
    assert NodeIndex([("a", 1), 2]).column.to_pylist() == ["('a', 1)", "2"]
    assert NUMBERS.column.type == pa.int64()


@given(st.lists(st.text(min_size=1), unique_by=str.strip, min_size=1))
def test_every_id_is_found_by_itself(ids: list[str]) -> None:
    nodes = NodeIndex(ids)
    assert [nodes.position(node) for node in ids] == list(range(len(ids)))
    assert nodes.numbers_of(nodes.texts).tolist() == list(range(len(ids)))
