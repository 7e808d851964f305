from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch_geometric.data import Data

from mgae.core.errors import ConfigError, GraphError
from mgae.data.columns.choices import FeatureSettings
from mgae.data.features import Preparation
from mgae.data.io.options import InputSettings
from mgae.data.opening import as_graph, read_graph
from mgae.data.store import save_graph, stored_graph

# Nodes a, b, c, d in this order.
EDGES = "source,target\na,b\nb,c\nc,d\n"
AS_THEY_ARE = FeatureSettings(scale="none")


def graph_with(
    folder: Path,
    preparing: FeatureSettings | Preparation = AS_THEY_ARE,
    **options: object,
) -> Data:
    """The graph above; ``features`` and ``labels`` are paths, or what these files hold."""
    for name in ("features", "labels"):
        if "\n" in str(options.get(name)):
            path = folder / f"{name}.csv"
            path.write_text(str(options[name]), encoding="utf-8")
            options[name] = str(path)
    (folder / "edges.csv").write_text(EDGES, encoding="utf-8")
    settings = InputSettings(**options)  # type: ignore[arg-type]
    return read_graph(folder / "edges.csv", settings, preparing=preparing)


def test_features_follow_the_order_of_the_nodes(tmp_path: Path) -> None:
    graph = graph_with(tmp_path, features="id,f,g\nd,4,0\nb,2,1\na,1,0\nc,3,0\n")
    assert graph.x.tolist() == [[1, 0], [2, 1], [3, 0], [4, 0]]
    assert graph.feature_names == ["f", "g"]


def test_a_missing_number_is_filled_and_marked(tmp_path: Path) -> None:
    graph = graph_with(tmp_path, features="id,f,g\na,1,\nb,NA,2\nc,3,4\nd,5,\n")
    assert graph.x.tolist() == [[1, 0, 3, 1], [3, 1, 2, 0], [3, 0, 4, 0], [5, 0, 3, 1]]
    assert graph.feature_names == ["f", "f (missing)", "g", "g (missing)"]


def test_an_id_that_no_edge_has_is_kept_and_said(tmp_path: Path) -> None:
    graph = graph_with(tmp_path, features="id,f\na,1\nb,2\nbb,9\nc,3\nd,4\n")
    assert graph.node_ids == ["a", "b", "bb", "c", "d"]
    assert graph.x.flatten().tolist() == [1, 2, 9, 3, 4]
    assert 2 not in graph.edge_index
    where = tmp_path / "features.csv"
    assert graph.notes[0] == f"{where}: 1 id without an edge, kept as isolated: bb"


def test_a_node_without_features_is_refused_or_filled(tmp_path: Path) -> None:
    features = "id,f\na,1\nb,6\n"
    with pytest.raises(GraphError, match=r"no features for 2 nodes: c, d \(input.missing = zero"):
        graph_with(tmp_path, features=features)
    zero = graph_with(tmp_path, features=features, missing="zero")
    assert zero.x.flatten().tolist() == [1, 6, 0, 0]
    mean = graph_with(tmp_path, features=features, missing="mean")
    assert mean.x.flatten().tolist() == [1, 6, 3.5, 3.5]
    assert "2 nodes without features, set to mean: c, d" in mean.notes[-1]


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
    result = [
        graph_with(tmp_path, features="\n".join(["id,f", *order]) + "\n").x
        for order in (lines, lines[::-1], lines[3:] + lines[:3])
    ]
    assert torch.equal(result[0], result[1])
    assert torch.equal(result[0], result[2])


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
    graph = read_graph(
        tmp_path / "edges.csv",
        settings,
        preparing=FeatureSettings(scale="none", columns={"kind": "category"}),
    )
    assert graph.feature_names == ["count", "count (missing)", "kind=1", "kind=2"]
    assert graph.x.tolist() == [[0, 0, 1, 0], [2, 0, 1, 0], [2, 1, 0, 1], [4, 0, 1, 0]]


def test_columns_of_a_run_that_kept_their_names_alone(tmp_path: Path) -> None:
    names = ["age", "town=Bern", "town=Ulm", "note:cat", "note:dog", "v[0]"]
    old = Preparation.of_names(names, np.array([7, 0.5, 0.5, 0, 0, 0], np.float32))
    assert old.names == names
    rows = "id,town,note,age\nb,Ulm,A cat,3\na,Rom,,\nc,Bern,dogs,4\nd,,Dog and cat,5\n"
    known = Preparation(old.encoders[:3])
    graph = graph_with(tmp_path, known, features=rows)
    expected = [[7, 0, 0, 0, 0], [3, 0, 1, 1, 0], [4, 1, 0, 0, 0], [5, 0, 0, 1, 1]]
    assert graph.x.tolist() == expected
    where = tmp_path / "features.csv"
    assert graph.notes == [
        f"{where}: column 'town': 1 of 3 values unknown to the model, set to zero: Rom",
        f"{where}: column 'note': 1 of 3 values without a word that is known to the model, "
        "set to zero: dogs",
    ]
    with pytest.raises(GraphError, match="no column 'town', which the model was trained on"):
        graph_with(tmp_path, known, features="id,age\na,1\nb,1\nc,1\nd,1\n")


def zips(folder: Path, *, odd: bool, known: Preparation | None = None) -> Data:
    """Nodes a to d with a zip code and a flag, of which only ``odd`` ones cannot be numbers."""
    rows = ["a,0102,True,Ulm", "b,0100, False,", f"c,{'K1A' if odd else 'NA'},True,NA"]
    rows.append("d,0100,maybe,1" if odd else "d,0199,False,2")
    content = "\n".join(["id,zip,member,town", *rows, ""])
    return graph_with(folder, known or FeatureSettings(), features=content)


def test_what_was_text_in_training_is_text_again_whatever_it_looks_like(tmp_path: Path) -> None:
    first = zips(tmp_path, odd=True)
    names = first.feature_names
    assert names[:3] == ["zip=0100", "zip=0102", "zip=K1A"]
    assert names[3:6] == ["member=False", "member=True", "member=maybe"]
    assert names[6:] == ["town=1", "town=Ulm", "town (missing)"]
    again = zips(tmp_path, odd=False, known=first.preparation)
    assert again.x[:, :3].tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert again.x[:, 3:6].tolist() == [[0, 1, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0]]
    assert again.x[:, 6:].tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]]
    where = tmp_path / "features.csv"
    assert again.notes == [
        f"{where}: column 'zip': 1 of 3 values unknown to the model, set to zero: 0199",
        f"{where}: column 'town': 1 of 2 values unknown to the model, set to zero: 2",
    ]


def test_a_choice_for_a_column_that_there_is_not_is_refused(tmp_path: Path) -> None:
    wrong = FeatureSettings(columns={"agee": "drop"})
    with pytest.raises(ConfigError, match=r"features.columns.agee: .*did you mean age\?"):
        graph_with(tmp_path, wrong, features="id,age\na,1\nb,2\nc,3\nd,4\n")


def test_ids_with_leading_zeros_in_one_file_alone_are_pointed_out(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\n1,2\n2,3\n", encoding="utf-8")
    about = tmp_path / "about.csv"
    about.write_text("id,f\n001,1\n002,2\n003,5\n", encoding="utf-8")
    with pytest.raises(GraphError, match=r"3 ids written in another way: 1 is 001 there"):
        read_graph(tmp_path / "edges.csv", InputSettings(features=str(about)))


def test_a_label_in_another_column_is_pointed_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60)
    rows = [f"{k},{rng.normal():.3f},{'abc'[y[k]]},{y[k]}" for k in range(60)]
    about = tmp_path / "about.csv"
    about.write_text("\n".join(["id,noise,group,label", *rows]), encoding="utf-8")
    edges = "\n".join(["source,target", *(f"{k},{(k + 1) % 60}" for k in range(60))])
    (tmp_path / "edges.csv").write_text(edges, encoding="utf-8")
    settings = InputSettings(features=str(about), label_column="label")
    leaks = [note for note in read_graph(tmp_path / "edges.csv", settings).notes if "alone" in note]
    assert len(leaks) == 1 and "column 'group' alone tells the label of 100%" in leaks[0]


def test_the_features_of_a_data_are_scaled_on_demand_alone() -> None:
    x = torch.tensor([[1.0, 3e6], [2.0, 1e6], [3.0, 2e6]])
    data = Data(x=x, edge_index=torch.tensor([[0, 1], [1, 2]]))
    plain = as_graph(data)
    assert torch.equal(plain.x, x) and "features.scale=robust scales them" in " ".join(plain.notes)
    scaled = as_graph(data, preparing=FeatureSettings(scale="standard"))
    expected = torch.tensor([[-1.2247, 1.2247], [0, -1.2247], [1.2247, 0]])
    assert torch.allclose(scaled.x, expected, atol=1e-4)


def test_a_preparation_is_stored_without_pickle_and_gives_the_same(tmp_path: Path) -> None:
    graph = zips(tmp_path, odd=True)
    save_graph(graph, tmp_path / "graph")
    stored = stored_graph(tmp_path / "graph")
    assert {path.suffix for path in (tmp_path / "graph").iterdir()} <= {
        ".json", ".safetensors", ".parquet",
    }  # fmt: skip
    again = zips(tmp_path, odd=True, known=stored.preparation)
    assert torch.equal(again.x, graph.x) and stored.preparation.names == graph.feature_names


def test_labels_that_hardly_any_two_nodes_share_are_no_leak(tmp_path: Path) -> None:
    """Cross-validation has no part of such a label for each of its folds."""
    rows = [f"{k},{k / 7},{k // 2}" for k in range(60)]
    about = tmp_path / "about.csv"
    about.write_text("\n".join(["id,noise,label", *rows]), encoding="utf-8")
    edges = "\n".join(["source,target", *(f"{k},{(k + 1) % 60}" for k in range(60))])
    (tmp_path / "edges.csv").write_text(edges, encoding="utf-8")
    settings = InputSettings(features=str(about), label_column="label")
    graph = read_graph(tmp_path / "edges.csv", settings)
    assert not [note for note in graph.notes if "alone" in note]
