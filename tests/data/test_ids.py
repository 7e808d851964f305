from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgae.core.errors import GraphError
from mgae.data.ids import Ids, Nodes, listed

PROPERTY = settings(deadline=None, max_examples=100)
# What a cell can hold that is an id: no surrogates, and not blank alone.
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).map(str.strip).filter(bool)
integers = st.integers(-(2**63), 2**63 - 1)


def locate(row: int) -> str:
    return f"row {row}"


def ids_of(*columns: object, kind: pa.DataType | None = None) -> Ids:
    return Ids.of([pa.chunked_array([pa.array(column, kind)]) for column in columns], locate)


def decoded(ids: Ids) -> list[list[str]]:
    names = ids.texts.to_pylist()
    return [[names[code] for code in codes] for codes in ids.codes]


def test_columns_share_one_list_of_distinct_ids() -> None:
    ids = ids_of(["b", "a", "b"], ["c", "b", "a"])
    assert ids.texts.to_pylist() == ["b", "a", "c"]
    assert [codes.tolist() for codes in ids.codes] == [[0, 1, 0], [2, 0, 1]]


def test_blanks_around_an_id_do_not_count() -> None:
    assert decoded(ids_of([" a", "a ", "\ta\n", "a b"])) == [["a", "a", "a", "a b"]]


INTEGERS = {
    "text": ids_of(["3", "1"], ["1", "20"]),
    "integers": ids_of([3, 1], [1, 20]),
    "small integers": ids_of([3, 1], [1, 20], kind=pa.uint8()),
    "whole floats, as pandas has them": ids_of([3.0, 1.0], [1.0, 20.0]),
    "dictionary": ids_of(["3", "1"], ["1", "20"], kind=pa.dictionary(pa.int8(), pa.string())),
    "large text": ids_of(["3", "1"], ["1", "20"], kind=pa.large_string()),
    "bytes": ids_of([b"3", b"1"], [b"1", b"20"]),
    "views, as polars has them": ids_of(["3", "1"], ["1", "20"], kind=pa.string_view()),
}


@pytest.mark.parametrize("case", INTEGERS)
def test_the_same_ids_from_every_type(case: str) -> None:
    assert decoded(INTEGERS[case]) == [["3", "1"], ["1", "20"]]
    assert Nodes.of(INTEGERS[case]).ids == [1, 3, 20]


def test_values_of_a_dictionary_that_stand_in_no_row_are_no_nodes() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0, 2, 0]), pa.array(["a", "unused", "b"]))
    assert Nodes.of(Ids.of([pa.chunked_array([column])], locate)).ids == ["a", "b"]


NOT_INTEGERS = ["007", "+1", "-0", "1.0", "1_000", "٣", "1e3", "0x1", "a"]


@pytest.mark.parametrize("text", NOT_INTEGERS)
def test_one_id_that_is_no_plain_integer_makes_all_texts(text: str) -> None:
    assert Nodes.of(ids_of(["10", "9", text])).ids == sorted(["10", "9", text])


def test_nodes_come_from_all_groups_and_are_found_by_their_texts() -> None:
    nodes = Nodes.of(ids_of([10, 9]), ids_of(["-2", "9"]))
    assert nodes.ids == [-2, 9, 10]
    assert nodes.positions(pa.array(["10", "x", "-2"])).tolist() == [2, -1, 0]


def test_texts_are_in_the_order_of_their_code_points() -> None:
    names = ["zebra", "Zebra", "é", "z", "😀", "\uffff", "e\u0301"]
    assert Nodes.of(ids_of(names)).ids == sorted(names)


def test_the_first_place_of_an_id() -> None:
    ids = ids_of(["b", "a", "c"], ["b", "c", "b"])
    assert ids.location_of(ids.texts.to_pylist().index("c")) == "row 1"


def test_rows_whose_id_stands_above_them() -> None:
    assert ids_of(["b", "a", "b", "c", "b"]).repeated_rows().tolist() == [2, 4]


REFUSED = {
    "missing": (["a", None], "row 1: an id is missing"),
    "empty": (["a", "b", " "], "row 2: an id is missing"),
    "a fraction": ([1.0, 2.5], "row 1: an id must be an integer or a text, got 2.5"),
    "not a number": ([1.0, float("nan")], "row 1: an id must be .* got nan"),
    "a list": ([[1], [2]], "row 0: an id must be .* got a list"),
    "bytes that are no text": ([b"a", b"\xff"], r"row 1: an id must be .* got b'\\xff'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_its_row(case: str) -> None:
    column, message = REFUSED[case]
    with pytest.raises(GraphError, match=message):
        ids_of(column)


def test_integers_of_more_than_64_bits_are_refused_unless_there_are_texts() -> None:
    largest = str(2**63 - 1)
    assert Nodes.of(ids_of([largest, "1"])).ids == [1, 2**63 - 1]
    with pytest.raises(GraphError, match=f"row 1: {2**63} does not fit into 64 bits"):
        Nodes.of(ids_of(["1"]), ids_of(["2", str(2**63)]))
    with pytest.raises(GraphError, match="row 0: -1000"):
        Nodes.of(ids_of(["-1" + 900 * "0"]))
    assert Nodes.of(ids_of([str(2**63), "x"])).ids == [str(2**63), "x"]


@PROPERTY
@given(st.lists(texts, min_size=1))
def test_texts_come_back_sorted_and_at_their_places(names: list[str]) -> None:
    ids = ids_of(names)
    nodes = Nodes.of(ids)
    back = np.array(nodes.ids, dtype=object)[nodes.positions(ids.texts)[ids.codes[0]]]
    assert [str(name) for name in back] == names
    assert nodes.ids == sorted(set(nodes.ids))
    assert all(isinstance(node, int) for node in nodes.ids) == all(_is_integer(n) for n in names)


@PROPERTY
@given(st.lists(integers, min_size=1))
def test_integers_come_back_sorted(numbers: list[int]) -> None:
    assert Nodes.of(ids_of(numbers)).ids == sorted(set(numbers))
    assert Nodes.of(ids_of(list(map(str, numbers)))).ids == sorted(set(numbers))


def _is_integer(text: str) -> bool:
    try:
        return str(int(text)) == text
    except ValueError:
        return False


def test_a_long_list_is_cut() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed(list(range(1005))) == "0, 1, 2, 3, 4 and 1,000 more"
