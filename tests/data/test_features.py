from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch_geometric.data import Data

from mgae.core.errors import GraphError
from mgae.data.features import KnownFeatures
from mgae.data.io.encoding import Block, encoded, encoded_as
from mgae.data.io.options import InputSettings
from mgae.data.opening import read_graph

# Nodes a, b, c, d in this order.
EDGES = "source,target\na,b\nb,c\nc,d\n"


def block_of(values: list[object], kind: pa.DataType | None = None) -> Block:
    return encoded("f", pa.chunked_array([pa.array(values, kind)]), lambda row: f"row {row + 1}")


def graph_with(folder: Path, **options: object) -> Data:
    """The graph above; ``features`` and ``labels`` are paths, or what these files hold."""
    for name in ("features", "labels"):
        if "\n" in str(options.get(name)):
            path = folder / f"{name}.csv"
            path.write_text(str(options[name]), encoding="utf-8")
            options[name] = str(path)
    (folder / "edges.csv").write_text(EDGES, encoding="utf-8")
    return read_graph(folder / "edges.csv", InputSettings(**options))  # type: ignore[arg-type]


TYPES = {
    "integers": ([1, 2], pa.int8(), [1, 2]),
    "large integers": ([2**62, 0], pa.int64(), [float(2**62), 0]),
    "floats": ([0.5, -1.5], pa.float32(), [0.5, -1.5]),
    "booleans": ([True, False], pa.bool_(), [1, 0]),
    "decimals": ([Decimal("1.25"), Decimal("2.00")], None, [1.25, 2]),
    "dates": ([datetime.date(1970, 1, 2), datetime.date(1969, 12, 31)], None, [1, -1]),
    "times": (
        [datetime.datetime(1970, 1, 1, 12), datetime.datetime(1970, 1, 3)],
        pa.timestamp("ns", "UTC"),
        [0.5, 2],
    ),
}


@pytest.mark.parametrize("case", TYPES)
def test_what_is_a_number_in_some_way_has_one_column(case: str) -> None:
    values, kind, expected = TYPES[case]
    block = block_of(values, kind)
    assert block.names == ("f",)
    assert block.values[:, 0].tolist() == expected
    assert block.values.dtype == np.float32


def test_missing_numbers_are_nan_until_they_are_filled() -> None:
    assert np.isnan(block_of([1, None, 3]).values[:, 0]).tolist() == [False, True, False]
    assert np.isnan(block_of([True, None]).values[:, 0]).tolist() == [False, True]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_few_texts_have_a_column_for_each_value_in_order(kind: pa.DataType) -> None:
    block = block_of(["red", None, " blue", "red", ""], kind)
    assert block.names == ("f=blue", "f=red")
    assert block.values.tolist() == [[0, 1], [0, 0], [1, 0], [0, 1], [0, 0]]
    assert block.note == "text, a column for each of 2 values, 2 missing"


def test_a_hundred_values_are_few_and_one_more_is_many() -> None:
    values = [f"w{number}" for number in range(101)]
    assert block_of(values[:100]).names == tuple(f"f={value}" for value in sorted(values[:100]))
    assert block_of(values).names == tuple(f"f:{value}" for value in sorted(values))


def test_a_categorical_column_has_a_column_for_each_value_also_if_they_are_many() -> None:
    values = [f"w{number}" for number in range(101)]
    assert len(block_of(values, pa.dictionary(pa.int32(), pa.string())).names) == 101
    numbers = block_of([3, 20, 3], pa.dictionary(pa.int32(), pa.int64()))
    assert numbers.names == ("f=20", "f=3")


def test_many_texts_have_a_column_for_each_word() -> None:
    texts = [f"Common, common RARE{number}" for number in range(101)]
    block = block_of([*texts, "Über-común", None])
    assert "f:common" in block.names
    assert "f:über" in block.names
    assert "f:común" in block.names
    assert list(block.names) == sorted(block.names)
    common = block.values[:, block.names.index("f:common")]
    assert common.tolist() == [1] * 101 + [0, 0]
    assert block.values[-1].sum() == 0
    assert block.note == "text, a column for each of 104 words, 1 missing"


def test_only_the_most_frequent_words_count_and_ties_go_by_the_alphabet() -> None:
    # zz in every text; then 600 words once each, of which the first 511 by the alphabet stay.
    texts = [f"zz a{number:03d} b{number:03d}" for number in range(300)]
    block = block_of(texts)
    once = sorted(f"f:{letter}{number:03d}" for letter in "ab" for number in range(300))
    assert block.names == (*once[:511], "f:zz")


def test_texts_without_a_word_have_no_column() -> None:
    assert block_of(["!" * length for length in range(1, 150)]).names == ()


def test_vectors_have_a_column_for_each_entry() -> None:
    block = block_of([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2))
    assert block.names == ("f[0]", "f[1]")
    assert block.values.tolist() == [[1, 2], [3, 4]]


def test_a_column_without_values_is_left_out() -> None:
    assert block_of([None, None]).names == ()
    assert block_of([None, None], pa.float64()).note == "no values, ignored"


REFUSED = {
    "not a number": ([1.0, float("nan")], None, "row 2: column 'f' must hold finite .* got nan"),
    "infinite": ([-float("inf"), 0.0], None, "row 1: column 'f' must hold finite .* got -inf"),
    "too large": ([0.0, 0.0, 1e300], None, r"row 3: column 'f' .* got 1e\+300"),
    "lists": ([[1.0], [1.0, 2.0]], None, "column 'f' holds list.*features must be"),
    "bytes": ([b"a"], None, "column 'f' holds binary"),
    "a vector missing": ([[1.0], None], pa.list_(pa.float32(), 1), "row 2: .*'f' has no vector"),
    "infinite in a vector": (
        [[1.0, 2.0], [float("inf"), 0.0]],
        pa.list_(pa.float32(), 2),
        "row 2: column 'f' must hold finite",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_row_and_column(case: str) -> None:
    values, kind, message = REFUSED[case]
    with pytest.raises(GraphError, match=message):
        block_of(values, kind)


def test_features_follow_the_order_of_the_nodes(tmp_path: Path) -> None:
    graph = graph_with(tmp_path, features="id,f,g\nd,4,0\nb,2,1\na,1,0\nc,3,0\n")
    assert graph.x.tolist() == [[1, 0], [2, 1], [3, 0], [4, 0]]
    assert graph.feature_names == ["f", "g"]
    assert graph.notes == []


def test_a_missing_number_gets_the_mean_of_its_column(tmp_path: Path) -> None:
    graph = graph_with(tmp_path, features="id,f,g\na,1,\nb,NA,2\nc,3,4\nd,5,\n")
    assert graph.x.tolist() == [[1, 3], [3, 2], [3, 4], [5, 3]]
    assert graph.notes == [
        f"{tmp_path / 'features.csv'}: "
        "missing numbers set to the mean of their column: f (1), g (2)"
    ]


def test_an_id_that_no_edge_has_is_kept_and_said(tmp_path: Path) -> None:
    graph = graph_with(tmp_path, features="id,f\na,1\nb,2\nbb,9\nc,3\nd,4\n")
    assert graph.node_ids == ["a", "b", "bb", "c", "d"]
    assert graph.x.flatten().tolist() == [1, 2, 9, 3, 4]
    assert 2 not in graph.edge_index
    assert graph.notes == [
        f"{tmp_path / 'features.csv'}: 1 id without an edge, kept as isolated: bb"
    ]


def test_a_node_without_features_is_refused_or_filled(tmp_path: Path) -> None:
    features = "id,f\na,1\nb,6\n"
    with pytest.raises(GraphError, match=r"no features for 2 nodes: c, d \(input.missing = zero"):
        graph_with(tmp_path, features=features)
    zero = graph_with(tmp_path, features=features, missing="zero")
    assert zero.x.flatten().tolist() == [1, 6, 0, 0]
    mean = graph_with(tmp_path, features=features, missing="mean")
    assert mean.x.flatten().tolist() == [1, 6, 3.5, 3.5]
    assert "2 nodes without features, set to mean: c, d" in mean.notes[0]


def test_the_id_column_is_chosen_or_known_or_the_first(tmp_path: Path) -> None:
    known = graph_with(tmp_path, features="f,Name\n1,a\n2,b\n3,c\n4,d\n")
    chosen = graph_with(tmp_path, features="f,key\n1,a\n2,b\n3,c\n4,d\n", id_column="key")
    numbered = graph_with(tmp_path, features="1,a\n2,b\n3,c\n4,d\n", id_column="2")
    first = graph_with(tmp_path, features="a,1\nb,2\nc,3\nd,4\n")
    for graph in (known, chosen, numbered, first):
        assert graph.x.flatten().tolist() == [1, 2, 3, 4]
    assert first.feature_names == ["column2"]


def test_the_mean_does_not_depend_on_the_order_of_the_rows(tmp_path: Path) -> None:
    values = {"a": 0.1, "b": 1e7, "c": 0.3, "d": None, "e": 1e-3, "f": 123.456}
    lines = [f"{node},{'' if value is None else value}" for node, value in values.items()]
    found = [
        graph_with(tmp_path, features="\n".join(["id,f", *order]) + "\n").x
        for order in (lines, lines[::-1], lines[3:] + lines[:3])
    ]
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_labels_become_classes_in_order(tmp_path: Path) -> None:
    graph = graph_with(tmp_path, labels="node,class\nd,x\na,y\nb,x\nz,y\n")
    assert graph.y.tolist() == [1, 0, -1, 0]
    assert graph.y.dtype == torch.int64
    assert graph.class_names == ["x", "y"]
    path = tmp_path / "labels.csv"
    assert graph.notes == [
        f"{path}: labels of 1 unknown id left out: z",
        f"{path}: 1 node of 4 without a label",
    ]


def test_classes_that_are_integers_are_in_their_order(tmp_path: Path) -> None:
    graph = graph_with(tmp_path, labels="id,label\na,10\nb,9\nc,NA\nd,10\n")
    assert graph.class_names == ["9", "10"]
    assert graph.y.tolist() == [1, 0, -1, 1]


LABELS = {
    "a label that is a known name": ("a,y\nb,n\nc,n\nd,y\n", {}, True),
    "… which comes once, beside an integer": ("0,y\n1,n\n2,n\n3,n\n", {}, True),
    "… beside an integer in a chosen column": ("y,0\nn,1\nn,2\nn,3\n", {"id_column": "2"}, True),
    "a name above integers": ("who,y\n0,a\n1,b\n2,b\n3,b\n", {}, False),
    "a name above texts": ("who,Class\na,x\nb,z\nc,z\nd,z\n", {}, False),
    "no name above the index": (",y\n0,a\n1,b\n2,b\n3,b\n", {}, False),
}


@pytest.mark.parametrize("case", LABELS)
def test_a_label_in_row_one_is_told_from_a_name(tmp_path: Path, case: str) -> None:
    content, options, headless = LABELS[case]
    (tmp_path / "labels.csv").write_text(content, encoding="utf-8")
    ids = "0,1\n1,2\n2,3\n" if "0" in content else "a,b\nb,c\nc,d\n"
    (tmp_path / "edges.csv").write_text(ids, encoding="utf-8")
    settings = InputSettings(labels=str(tmp_path / "labels.csv"), **options)  # type: ignore[arg-type]
    graph = read_graph(tmp_path / "edges.csv", settings)
    assert ("y" in graph.class_names) is headless
    assert (graph.y >= 0).all() and graph.notes == []


def test_the_label_column_is_chosen_or_known_or_the_first_beside_the_id(tmp_path: Path) -> None:
    known = graph_with(tmp_path, labels="id,other,y\na,0,1\nb,0,2\nc,0,1\nd,0,2\n")
    chosen = graph_with(
        tmp_path, labels="id,y,kind\na,0,1\nb,0,2\nc,0,1\nd,0,2\n", label_column="3"
    )
    first = graph_with(tmp_path, labels="1,a,0\n2,b,0\n1,c,0\n2,d,0\n", id_column="2")
    for graph in (known, chosen, first):
        assert graph.y.tolist() == [0, 1, 0, 1]
        assert graph.class_names == ["1", "2"]


def test_labels_in_the_table_of_features_are_not_features(tmp_path: Path) -> None:
    content = "id,f,label\na,1,x\nb,2,y\nc,3,x\nd,4,y\n"
    (tmp_path / "nodes.csv").write_text(content, encoding="utf-8")
    nodes = tmp_path / "nodes.csv"
    twice = graph_with(tmp_path, features=nodes.as_posix(), labels=f"{tmp_path}/./nodes.csv")
    named = graph_with(tmp_path, features=nodes.as_posix(), label_column="label")
    for graph in (twice, named):
        assert graph.feature_names == ["f"]
        assert graph.y.tolist() == [0, 1, 0, 1]


def test_labels_that_only_features_know_are_kept(tmp_path: Path) -> None:
    graph = graph_with(
        tmp_path,
        features="id,f\na,1\nb,2\nc,3\nd,4\ne,5\n",
        labels="id,label\na,x\ne,y\nunknown,x\n",
    )
    assert graph.y.tolist() == [0, -1, -1, -1, 1]


def test_the_index_of_a_pandas_table_holds_the_ids(tmp_path: Path) -> None:
    table = pa.table({"f": [4, 3, 2, 1], "__index_level_0__": ["d", "c", "b", "a"]})
    pq.write_table(table, tmp_path / "nodes.parquet")
    graph = graph_with(tmp_path, features=str(tmp_path / "nodes.parquet"))
    assert graph.x.tolist() == [[1], [2], [3], [4]]


def test_features_from_parquet_keep_their_types(tmp_path: Path) -> None:
    table = pa.table(
        {
            "node_id": ["d", "c", "b", "a"],
            "count": pa.array([4, None, 2, 0], pa.int32()),
            "kind": pa.array(["1", "2", "1", "1"]),
        }
    )
    pq.write_table(table, tmp_path / "nodes.parquet")
    (tmp_path / "edges.csv").write_text(EDGES, encoding="utf-8")
    settings = InputSettings(features=str(tmp_path / "nodes.parquet"))
    graph = read_graph(tmp_path / "edges.csv", settings)
    assert graph.feature_names == ["count", "kind=1", "kind=2"]
    assert graph.x.tolist() == [[0, 1, 0], [2, 1, 0], [2, 0, 1], [4, 1, 0]]


def block_as(known: list[str], values: list[object], kind: pa.DataType | None = None) -> Block:
    column = pa.chunked_array([pa.array(values, kind)])
    return encoded_as("f", column, known, lambda row: f"row {row + 1}")


def test_a_column_comes_in_the_columns_of_an_earlier_one() -> None:
    assert block_as(["f"], [3, 4]).values.tolist() == [[3], [4]]
    colors = block_as(["f=blue", "f=red"], [" red", "green", None, "blue"])
    assert colors.values.tolist() == [[0, 1], [0, 0], [0, 0], [1, 0]]
    words = block_as(["f:a", "f:cat"], ["A cat sat", "dog", None])
    assert words.values.tolist() == [[1, 1], [0, 0], [0, 0]]
    numbers_that_were_texts = block_as(["f=1", "f=2"], [2, 3])
    assert numbers_that_were_texts.values.tolist() == [[0, 1], [0, 0]]
    vectors = block_as(["f[0]", "f[1]"], [[1, 2]], pa.list_(pa.int8(), 2))
    assert vectors.values.tolist() == [[1, 2]]


def test_an_earlier_encoding_gives_the_same_again() -> None:
    for values in (["red", "blue"], [1.5, 2.0], [f"word{i} and more" for i in range(200)]):
        first = block_of(list(values))
        np.testing.assert_array_equal(
            block_as(list(first.names), list(values)).values, first.values
        )


def test_a_column_of_another_kind_is_refused() -> None:
    with pytest.raises(GraphError, match="column 'f' was f in training, and is f=x here"):
        block_as(["f"], ["x", "x"])


def test_features_in_known_columns(tmp_path: Path) -> None:
    known = KnownFeatures(("age", "town=Bern", "town=Ulm"), np.array([7, 0.5, 0.5], np.float32))
    (tmp_path / "edges.csv").write_text(EDGES, encoding="utf-8")
    about = tmp_path / "about.csv"
    about.write_text(
        "id,town,size,age\nb,Ulm,1,3\na,Rom,2,\nc,Bern,1,4\nd,,1,5\n", encoding="utf-8"
    )
    settings = InputSettings(features=str(about))
    graph = read_graph(tmp_path / "edges.csv", settings, known=known)
    assert graph.feature_names == list(known.names)
    assert graph.x.tolist() == [[7, 0, 0], [3, 0, 1], [4, 1, 0], [5, 0, 0]]
    about.write_text("id,age\na,1\nb,1\nc,1\nd,1\n", encoding="utf-8")
    with pytest.raises(GraphError, match="no column for 'town=Bern', which the model was trained"):
        read_graph(tmp_path / "edges.csv", settings, known=known)


def zips(folder: Path, *, odd: bool, known: KnownFeatures | None = None) -> Data:
    """Nodes a to d with a zip code and a flag, of which only ``odd`` ones cannot be numbers."""
    rows = ["a,0102,True,Ulm", "b,0100, False,", f"c,{'K1A' if odd else 'NA'},True,NA"]
    rows.append("d,0100,maybe,1" if odd else "d,0199,False,2")
    (folder / "edges.csv").write_text(EDGES, encoding="utf-8")
    about = folder / "about.csv"
    about.write_text("\n".join(["id,zip,member,town", *rows, ""]), encoding="utf-8")
    return read_graph(folder / "edges.csv", InputSettings(features=str(about)), known=known)


def test_what_was_text_in_training_is_text_again_whatever_it_looks_like(tmp_path: Path) -> None:
    names = zips(tmp_path, odd=True).feature_names
    assert names[:3] == ["zip=0100", "zip=0102", "zip=K1A"]
    assert names[3:] == ["member=False", "member=True", "member=maybe", "town=1", "town=Ulm"]
    again = zips(tmp_path, odd=False, known=KnownFeatures(tuple(names), np.zeros(8, np.float32)))
    assert again.x[:, :3].tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert again.x[:, 3:6].tolist() == [[0, 1, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0]]
    assert again.x[:, 6:].tolist() == [[0, 1], [0, 0], [0, 0], [0, 0]]
    where = tmp_path / "about.csv"
    assert again.notes == [
        f"{where}: column 'zip': 1 of 3 values unknown to the model, set to zero: 0199",
        f"{where}: column 'town': 1 of 2 values unknown to the model, set to zero: 2",
    ]


def test_texts_without_a_known_word_are_counted() -> None:
    note = block_as(["f:a", "f:cat"], ["A cat sat", "two dogs", " ", None]).note
    assert note == "1 of 2 values without a word that is known to the model, set to zero: two dogs"
    assert block_as(["f:a"], ["a", None]).note == ""
