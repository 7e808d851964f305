from __future__ import annotations

import gzip
from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather
from scipy import sparse
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from mgae.core.errors import GraphError
from mgae.data.columns.choices import FeatureSettings
from mgae.data.io.options import InputSettings
from mgae.data.opening import as_graph, open_graph, read_graph

PROPERTY = settings(deadline=None, max_examples=50)
Weighted = dict[tuple[object, object], float]


AS_THEY_ARE = FeatureSettings(scale="none")


def read(folder: Path, content: str, **options: object) -> Data:
    path = folder / "edges.csv"
    path.write_text(content, encoding="utf-8")
    return read_graph(path, InputSettings(**options))  # type: ignore[arg-type]


def edges_of(graph: Data) -> Weighted:
    ids, pairs = graph.node_ids, graph.edge_index.t().tolist()
    weights = [1.0] * len(pairs) if graph.edge_weight is None else graph.edge_weight.tolist()
    return {(ids[u], ids[v]): weight for (u, v), weight in zip(pairs, weights, strict=True)}


def notes_of(graph: Data) -> list[str]:
    return [note.partition(": ")[2] for note in graph.notes]


def test_a_small_graph_by_hand(tmp_path: Path) -> None:
    graph = read(tmp_path, "source,target\ncarol,alice\nbob,carol\n")
    assert graph.node_ids == ["alice", "bob", "carol"]
    assert graph.edge_index.tolist() == [[2, 2, 0, 1], [0, 1, 2, 2]]
    assert graph.edge_weight is None
    assert graph.x is None
    assert graph.y is None
    assert graph.undirected is True
    assert graph.num_nodes == 3
    assert graph.name == "edges"
    assert graph.notes == []


def test_directions_are_kept_on_demand(tmp_path: Path) -> None:
    graph = read(tmp_path, "source,target\n3,1\n1,2\n", directed=True)
    assert set(edges_of(graph)) == {(3, 1), (1, 2)}
    assert graph.undirected is False


def test_self_loops_and_duplicates_are_said(tmp_path: Path) -> None:
    graph = read(tmp_path, "a b\na b\nb b\nc c\nb a\na b\nb c\n")
    assert set(edges_of(graph)) == {("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")}
    assert notes_of(graph) == [
        "2 self-loops dropped",
        "2 duplicate edges merged",
        "1 edge listed both ways, counted once",
    ]


def test_a_node_with_a_self_loop_alone_is_kept(tmp_path: Path) -> None:
    assert read(tmp_path, "a b\nc c\n").node_ids == ["a", "b", "c"]


def test_a_file_that_lists_all_edges_both_ways_needs_no_remark(tmp_path: Path) -> None:
    assert read(tmp_path, "a b\nb a\nb c\nc b\n").notes == []


WEIGHTS = "source,target,weight\na,b,1\na,b,2\nb,a,5\nb,c,0.5\nc,d,0\n"


def test_weights_of_duplicates_add_up_and_of_directions_have_their_mean(tmp_path: Path) -> None:
    # a – b: (1 + 2) one way, 5 the other way.
    graph = read(tmp_path, WEIGHTS)
    expected: Weighted = {("a", "b"): 4.0, ("b", "c"): 0.5, ("c", "d"): 0.0}
    assert edges_of(graph) == expected | {(v, u): w for (u, v), w in expected.items()}
    assert graph.edge_weight.dtype == torch.float32
    directed = read(tmp_path, WEIGHTS, directed=True)
    assert edges_of(directed) == {
        ("a", "b"): 3.0,
        ("b", "a"): 5.0,
        ("b", "c"): 0.5,
        ("c", "d"): 0.0,
    }


def test_only_a_named_weight_is_one(tmp_path: Path) -> None:
    numbers = read(tmp_path, "a,b,7\nb,c,8\n")
    assert numbers.edge_weight is None
    assert notes_of(numbers) == ["columns ignored: column3"]
    chosen = read(tmp_path, "a,b,7\nb,c,8\n", weight_column="3")
    assert chosen.edge_weight.tolist() == [7, 7, 8, 8]
    assert chosen.notes == []
    other = read(tmp_path, "source,target,cost,W\na,b,7,1\nb,c,8,2\n")
    assert other.edge_weight.tolist() == [1, 1, 2, 2]
    assert notes_of(other) == ["columns ignored: cost"]


def test_a_first_row_that_may_be_a_header_is_named(tmp_path: Path) -> None:
    follows = "folgt,wem\nann,bob\nbob,cid\ncid,ann\ndan,ann\n"
    graph = read(tmp_path, follows)
    assert "folgt" in graph.node_ids
    assert notes_of(graph) == [
        "row 1 (folgt, wem) taken as an edge, though no other has its ids; "
        "if it names the columns, give --source-column and --target-column"
    ]
    assert read(tmp_path, follows, header="no").notes == []
    named = read(tmp_path, follows, header="yes")
    assert (named.node_ids, named.notes) == (["ann", "bob", "cid", "dan"], [])


@pytest.mark.parametrize(
    "content", ["1,2\n3,4\nx,3\n", "ann,bob\nbob,cid\n", "ann,bob\ncid,ann\n", "ann,bob\n"]
)
def test_a_first_row_like_others_needs_no_remark(tmp_path: Path, content: str) -> None:
    assert read(tmp_path, content).notes == []


COLUMNS = {
    "the first two": ("x,y\n1,2\n", {}),
    "known names": ("day,Target,SRC\n5,2,1\n", {}),
    "by name": ("day,to,whom,who\n5,9,2,1\n", {"source_column": "who", "target_column": "whom"}),
    "by number": ("9,2,1\n", {"source_column": "3", "target_column": "2"}),
    "source by name, target the first other": ("b,a,c\n2,1,9\n", {"source_column": "a"}),
    "without a weight before them": ("weight,a,b\n3,1,2\n", {}),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_columns_are_chosen_known_or_the_first(tmp_path: Path, case: str) -> None:
    content, options = COLUMNS[case]
    assert set(edges_of(read(tmp_path, content, directed=True, **options))) == {(1, 2)}


def test_integers_are_integers_only_if_all_are(tmp_path: Path) -> None:
    assert read(tmp_path, "1,10\n10,9\n").node_ids == [1, 9, 10]
    assert read(tmp_path, "1,10\n10,09\n").node_ids == ["09", "1", "10"]
    features = tmp_path / "features.csv"
    features.write_text("id,f\n1,0\n9,1\n10,0\nx,0\n", encoding="utf-8")
    graph = read(tmp_path, "1,10\n10,9\n", features=str(features))
    assert graph.node_ids == ["1", "10", "9", "x"]


def same(one: Data, other: Data) -> bool:
    assert one.node_ids == other.node_ids
    assert torch.equal(one.edge_index, other.edge_index)
    assert one.undirected == other.undirected
    for field in ("edge_weight", "x", "y"):
        first, second = one.get(field), other.get(field)
        assert (first is None) == (second is None)
        assert first is None or torch.equal(first, second)
    return True


def test_the_same_graph_from_every_format(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pairs = np.argwhere(np.triu(rng.random((12, 12)) < 0.4, 1))
    shuffled = np.where(rng.random(len(pairs))[:, None] < 0.5, pairs, pairs[:, ::-1])
    shuffled = rng.permutation(shuffled)
    assert set(pairs.flatten()) == set(range(12))
    x = rng.random((12, 3)).astype(np.float32)
    table = pa.table({"source": shuffled[:, 0], "target": shuffled[:, 1]})
    nodes = pa.table({"id": np.arange(12), **{f"f{k}": x[:, k] for k in range(3)}})
    pq.write_table(nodes.take(pa.array(rng.permutation(12))), tmp_path / "nodes.parquet")
    rows = "\n".join(",".join(map(str, row)) for row in zip(range(12), *x.T.tolist(), strict=True))
    (tmp_path / "nodes.csv").write_text(f"id,f0,f1,f2\n{rows}\n", encoding="utf-8")
    lines = [f"{u},{v}" for u, v in shuffled]
    (tmp_path / "edges.csv").write_text("\n".join(["u,v", *lines]), encoding="utf-8")
    (tmp_path / "bare.tsv.gz").write_bytes(
        gzip.compress("\n".join(lines[::-1]).replace(",", "\t").encode())
    )
    pq.write_table(table, tmp_path / "edges.parquet")
    feather.write_feather(table, tmp_path / "edges.feather")
    graph = nx.Graph(shuffled.tolist())
    nx.write_graphml(graph, tmp_path / "edges.graphml")
    nx.write_gml(graph, tmp_path / "edges.gml")
    matrix = sparse.coo_array((np.ones(len(pairs)), pairs.T), shape=(12, 12))
    sparse.save_npz(tmp_path / "edges.npz", matrix)

    edge_index = to_undirected(torch.from_numpy(pairs.T.copy()))
    expected = as_graph(Data(x=torch.from_numpy(x), edge_index=edge_index))
    assert expected.node_ids == list(range(12))
    names = ("csv", "parquet", "feather", "graphml", "gml", "npz")
    paths = [tmp_path / f"edges.{name}" for name in names] + [tmp_path / "bare.tsv.gz"]
    for features in ("nodes.parquet", "nodes.csv"):
        options = InputSettings(features=str(tmp_path / features))
        for path in paths:
            assert same(read_graph(path, options, preparing=AS_THEY_ARE), expected), path
        for obj in (graph, matrix, table):
            assert same(as_graph(obj, options, AS_THEY_ARE), expected), type(obj)


node = st.integers(0, 6)
listed_edges = st.lists(
    st.tuples(node, node, st.floats(0, 1e6, width=32)), min_size=1, max_size=20
).filter(lambda edges: any(u != v for u, v, _ in edges))


@PROPERTY
@given(edges=listed_edges, order=st.randoms(use_true_random=False), directed=st.booleans())
def test_the_order_of_rows_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory,
    edges: list[tuple[int, int, float]],
    order: object,
    directed: bool,
) -> None:
    folder = tmp_path_factory.mktemp("order")
    shuffled = list(edges)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    graphs = [
        read(
            folder,
            "source,target,weight\n" + "".join(f"{u},{v},{w!r}\n" for u, v, w in rows),
            directed=directed,
        )
        for rows in (edges, shuffled)
    ]
    assert same(*graphs)


@PROPERTY
@given(edges=listed_edges, directed=st.booleans())
def test_merging_agrees_with_the_obvious_code(
    tmp_path_factory: pytest.TempPathFactory, edges: list[tuple[int, int, float]], directed: bool
) -> None:
    whole = [(u, v, float(round(w))) for u, v, w in edges]  # sums without rounding
    content = "source,target,weight\n" + "".join(f"{u},{v},{w}\n" for u, v, w in whole)
    graph = read(tmp_path_factory.mktemp("merge"), content, directed=directed)
    sums: Weighted = {}
    for u, v, weight in whole:
        if u != v:
            sums[u, v] = sums.get((u, v), 0.0) + weight
    if not directed:
        ways = {(u, v): [sums[w] for w in ((u, v), (v, u)) if w in sums] for u, v in sums}
        ways |= {(v, u): values for (u, v), values in ways.items()}
        sums = {edge: sum(values) / len(values) for edge, values in ways.items()}
    assert edges_of(graph) == {edge: np.float32(weight) for edge, weight in sums.items()}


def test_paths_with_blanks_and_letters_and_links_work(tmp_path: Path) -> None:
    folder = tmp_path / "größere Daten"
    folder.mkdir()
    path = folder / "Kanten – 1.csv"
    path.write_text("ä,ö\nö,ü\n", encoding="utf-8")
    link = tmp_path / "link"
    link.symlink_to(path)
    for name in (path, str(path), link):
        assert read_graph(name).node_ids == ["ä", "ö", "ü"]
    assert read_graph(path).name == "Kanten – 1"


def test_the_home_folder_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "edges.csv").write_text("a,b\n", encoding="utf-8")
    (tmp_path / "nodes.csv").write_text("id,f\na,1\nb,0\n", encoding="utf-8")
    for read_it in (read_graph, open_graph):
        graph = read_it("~/edges.csv", InputSettings(features="~/nodes.csv"))
        assert graph.x.tolist() == [[1], [0]]


def test_a_tilde_that_is_nobodys_home_belongs_to_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "~edges.csv").write_text("a,b\n", encoding="utf-8")
    assert open_graph("~edges.csv").node_ids == ["a", "b"]
    with pytest.raises(GraphError, match=r"there is no file ~nosuch-user/edges\.csv"):
        open_graph("~nosuch-user/edges.csv")


def test_the_input_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("a,b\nb,b\na,b\n", encoding="utf-8")
    path.chmod(0o444)
    before = path.read_bytes(), path.stat().st_mtime_ns
    read_graph(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert list(tmp_path.iterdir()) == [path]


def test_progress_names_the_stages(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("id,f\na,1\nb,0\n", encoding="utf-8")
    (tmp_path / "edges.csv").write_text("a,b\n", encoding="utf-8")
    steps: list[tuple[str, float]] = []
    settings = InputSettings(features=str(tmp_path / "nodes.csv"))
    read_graph(tmp_path / "edges.csv", settings, lambda stage, share: steps.append((stage, share)))
    assert list(dict.fromkeys(stage for stage, _ in steps)) == [
        "reading edges.csv",
        "reading nodes.csv",
        "ordering the nodes",
        "merging the edges",
        "checking the graph",
    ]
    assert all(0 <= share <= 1 for _, share in steps)


def test_what_progress_raises_comes_out(tmp_path: Path) -> None:
    def stop(stage: str, share: float) -> None:
        raise KeyboardInterrupt

    (tmp_path / "edges.csv").write_text("a,b\n", encoding="utf-8")
    with pytest.raises(KeyboardInterrupt):
        read_graph(tmp_path / "edges.csv", on_progress=stop)


def test_an_ogb_edge_file_is_read(shared_data: Path) -> None:
    graph = read_graph(shared_data / "ogb" / "ogbl_ddi" / "raw" / "edge.csv.gz")
    assert graph.num_nodes == 4267
    assert graph.edge_index.size(1) == 2 * 1_067_911
    assert graph.node_ids == list(range(4267))
