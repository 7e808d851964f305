from __future__ import annotations

import gzip
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from scipy import io as scipy_io
from scipy import sparse
from torch_geometric.data import Data

from mgae.core.errors import ConfigError, GraphError
from mgae.data.io.options import InputSettings
from mgae.data.opening import read_graph

DIRECTED = InputSettings(directed=True)


def edges_of(graph: Data) -> dict[tuple[object, object], float]:
    ids = graph.node_ids
    weights = [1.0] * graph.edge_index.size(1)
    if graph.edge_weight is not None:
        weights = graph.edge_weight.tolist()
    pairs = graph.edge_index.t().tolist()
    return {(ids[u], ids[v]): weight for (u, v), weight in zip(pairs, weights, strict=True)}


def both_ways(edges: dict[tuple[object, object], float]) -> dict[tuple[object, object], float]:
    return edges | {(v, u): weight for (u, v), weight in edges.items()}


WRITERS = {
    "graph.graphml": nx.write_graphml,
    "graph.gexf": nx.write_gexf,
    "graph.gml": nx.write_gml,
    "graph.net": nx.write_pajek,
    "graph.graphml.gz": nx.write_graphml,
    "graph.gml.gz": nx.write_gml,
}


@pytest.mark.parametrize("name", WRITERS)
def test_what_networkx_writes_is_read_with_names_and_weights(tmp_path: Path, name: str) -> None:
    graph = nx.Graph()
    graph.add_weighted_edges_from([("b", "a", 0.5), ("b", "c", 2.0)])
    WRITERS[name](graph, tmp_path / name)
    read = read_graph(tmp_path / name)
    assert read.node_ids == ["a", "b", "c"]
    assert edges_of(read) == both_ways({("a", "b"): 0.5, ("b", "c"): 2.0})
    assert read.name == "graph"
    assert read.undirected


@pytest.mark.parametrize("name", WRITERS)
def test_edges_without_weights_have_none_and_isolated_nodes_stay(tmp_path: Path, name: str) -> None:
    graph = nx.Graph([(10, 9), (9, 2)])
    graph.add_node(3)
    WRITERS[name](nx.relabel_nodes(graph, str), tmp_path / name)
    read = read_graph(tmp_path / name)
    assert read.node_ids == [2, 3, 9, 10]
    assert read.edge_weight is None
    assert set(edges_of(read)) == {(2, 9), (9, 2), (9, 10), (10, 9)}


def test_directions_are_kept_on_demand(tmp_path: Path) -> None:
    path = tmp_path / "graph.graphml"
    nx.write_graphml(nx.DiGraph([("a", "b"), ("b", "c")]), path)
    assert set(edges_of(read_graph(path, DIRECTED))) == {("a", "b"), ("b", "c")}
    read = read_graph(path)
    assert set(edges_of(read)) == {("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")}
    assert "directed edges are taken as undirected" in read.notes[0]


def test_an_undirected_file_read_as_directed_has_both_directions(tmp_path: Path) -> None:
    path = tmp_path / "graph.gml"
    nx.write_gml(nx.Graph([("a", "b")]), path)
    read = read_graph(path, DIRECTED)
    assert set(edges_of(read)) == {("a", "b"), ("b", "a")}
    assert read.undirected


def test_attributes_are_named_and_ignored(tmp_path: Path) -> None:
    graph = nx.Graph([("a", "b")])
    graph.nodes["a"]["color"], graph.edges["a", "b"]["since"] = "red", 1999
    nx.write_graphml(graph, tmp_path / "graph.graphml")
    notes = read_graph(tmp_path / "graph.graphml").notes
    assert [note.partition(": ")[2] for note in notes] == [
        "node attributes ignored: color (features come by input.features)",
        "edge attributes ignored: since",
    ]


@pytest.mark.parametrize("name", WRITERS)
def test_the_weight_may_have_another_name(tmp_path: Path, name: str) -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=1.0, kilos="0.5")  # Pajek writes texts alone
    WRITERS[name](graph, tmp_path / name)
    read = read_graph(tmp_path / name, InputSettings(weight_column="kilos"))
    assert edges_of(read) == both_ways({("a", "b"): 0.5})
    assert not any("kilos" in note for note in read.notes)
    with pytest.raises(GraphError) as refusal:
        read_graph(tmp_path / name, InputSettings(weight_column="kilo"))
    assert "has no edge attribute 'kilo' (input.weight_column): edge" in str(refusal.value)
    assert "(did you mean kilos?)" in str(refusal.value)


def test_columns_of_what_is_no_table_are_refused(tmp_path: Path) -> None:
    nx.write_gml(nx.Graph([("a", "b")]), tmp_path / "a.gml")
    sparse.save_npz(tmp_path / "a.npz", sparse.coo_array(MATRIX))
    scipy_io.mmwrite(tmp_path / "a.mtx", sparse.coo_array(MATRIX))
    ends, all_three = ("source", "target"), ("source", "target", "weight")
    for name, columns in (("a.gml", ends), ("a.npz", all_three), ("a.mtx", all_three)):
        for column in columns:
            settings = InputSettings(**{f"{column}_column": "1"})  # type: ignore[arg-type]
            message = rf"input\.{column}_column is for tables, and .*{name}"
            with pytest.raises(ConfigError, match=message):
                read_graph(tmp_path / name, settings)
    with pytest.raises(GraphError, match=r"no edge attribute '1' .*edge attributes are none"):
        read_graph(tmp_path / "a.gml", InputSettings(weight_column="1"))


def test_edges_of_a_multigraph_are_merged(tmp_path: Path) -> None:
    graph = nx.MultiGraph()
    graph.add_weighted_edges_from([("a", "b", 1.0), ("b", "a", 2.5), ("a", "c", 1.0)])
    nx.write_graphml(graph, tmp_path / "graph.graphml")
    read = read_graph(tmp_path / "graph.graphml")
    assert edges_of(read) == both_ways({("a", "b"): 3.5, ("a", "c"): 1.0})
    assert "1 duplicate edge merged" in read.notes[0]


def test_gml_with_ids_alone_goes_by_them(tmp_path: Path) -> None:
    path = tmp_path / "karate.gml"
    nodes = "".join(f"node [ id {node} ] " for node in (1, 2, 5))
    path.write_text(f"graph [ {nodes} edge [ source 5 target 1 ] edge [ source 1 target 2 ] ]")
    assert read_graph(path).node_ids == [1, 2, 5]


MATRIX = np.array([[0, 2, 0, 0], [2, 0, 0.5, 0], [0, 0.5, 0, 0], [0, 0, 0, 0]])


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_npz_numbers_its_nodes_from_zero(tmp_path: Path, form: str) -> None:
    sparse.save_npz(tmp_path / "a.npz", sparse.coo_array(MATRIX).asformat(form))
    read = read_graph(tmp_path / "a.npz")
    assert read.node_ids == [0, 1, 2, 3]
    assert edges_of(read) == both_ways({(0, 1): 2.0, (1, 2): 0.5})
    assert read.notes == []


def test_one_triangle_of_a_symmetric_matrix_is_enough(tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "whole.npz", sparse.csr_matrix(MATRIX))
    sparse.save_npz(tmp_path / "upper.npz", sparse.csr_matrix(np.triu(MATRIX)))
    whole, upper = (read_graph(tmp_path / f"{name}.npz") for name in ("whole", "upper"))
    assert torch.equal(whole.edge_index, upper.edge_index)
    assert torch.equal(whole.edge_weight, upper.edge_weight)


def test_entries_that_are_all_one_are_no_weights(tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(MATRIX > 0))
    read = read_graph(tmp_path / "a.npz")
    assert read.edge_weight is None
    assert read.edge_index.size(1) == 4


def test_stored_zeros_are_no_edges(tmp_path: Path) -> None:
    matrix = sparse.csr_array(MATRIX)
    matrix.data[0] = 0  # (0, 1), but not (1, 0)
    sparse.save_npz(tmp_path / "a.npz", matrix)
    assert set(edges_of(read_graph(tmp_path / "a.npz", DIRECTED))) == {(1, 0), (1, 2), (2, 1)}


def test_matrix_market_numbers_its_nodes_from_one(tmp_path: Path) -> None:
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n4 4 2\n2 1\n3 2\n")
    read = read_graph(path)
    assert read.node_ids == [1, 2, 3, 4]
    assert set(edges_of(read)) == {(1, 2), (2, 1), (2, 3), (3, 2)}
    (tmp_path / "b.mtx.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert torch.equal(read_graph(tmp_path / "b.mtx.gz").edge_index, read.edge_index)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("matrix", [MATRIX, np.triu(MATRIX), (4 * MATRIX).astype(int)])
def test_what_scipy_writes_as_matrix_market_is_read(
    tmp_path: Path, matrix: np.ndarray, directed: bool
) -> None:
    scipy_io.mmwrite(tmp_path / "a.mtx", sparse.coo_array(matrix))
    sparse.save_npz(tmp_path / "a.npz", sparse.coo_array(matrix))
    market, numpy = (
        read_graph(tmp_path / name, InputSettings(directed=directed)) for name in ("a.mtx", "a.npz")
    )
    assert market.node_ids == [1, 2, 3, 4]
    assert torch.equal(market.edge_index, numpy.edge_index)
    assert (market.edge_weight is None) == (numpy.edge_weight is None)
    assert market.edge_weight is None or torch.equal(market.edge_weight, numpy.edge_weight)


def broken_matrix(path: Path) -> None:
    sparse.save_npz(path, sparse.csr_array(MATRIX), compressed=False)
    with np.load(path) as arrays:
        content = dict(arrays)
    content["indices"] = content["indices"] + 100
    np.savez(path, **content)


def write(content: str) -> object:
    return lambda path: path.write_text(content, encoding="utf-8")


REAL = "%%MatrixMarket matrix coordinate real general\n"
REFUSED = {
    "rectangle.npz": (
        lambda path: sparse.save_npz(path, sparse.csr_array(MATRIX[:3])),
        "must be square, got 3 × 4",
    ),
    "negative.npz": (
        lambda path: sparse.save_npz(path, sparse.csr_array(-MATRIX)),
        r"negative.npz, entry \(0, 1\): the weight must be a finite number ≥ 0, got -2.0",
    ),
    "complex.npz": (
        lambda path: sparse.save_npz(path, sparse.csr_array(MATRIX * 1j)),
        "a weight must be a real number, got complex128",
    ),
    "arrays.npz": (lambda path: np.savez(path, x=MATRIX), "is not a valid scipy.sparse file"),
    "pickle.npz": (
        lambda path: np.savez(path, format=np.array([{}], dtype=object)),
        "is not a valid scipy.sparse file: .*allow_pickle=False",
    ),
    "broken.npz": (broken_matrix, "is not a valid scipy.sparse file"),
    "text.npz": (write("a,b\n"), "is not a valid scipy.sparse file"),
    "text.mtx": (write("a,b\n"), "is not a valid Matrix Market file"),
    "dense.mtx": (
        lambda path: scipy_io.mmwrite(path, MATRIX),
        "must be a coordinate matrix, pattern, integer, real, .*got array real symmetric",
    ),
    "size.mtx": (write(f"{REAL}% x\n4 4\n1 2 1\n"), "size.mtx, line 3: expected the numbers of"),
    "few.mtx": (write(f"{REAL}4 4 3\n1 2 1\n"), "must have 3 entries, as it says, got 1"),
    "outside.mtx": (
        write(f"{REAL}4 4 2\n1 2 1\n4 5 1\n"),
        "outside.mtx, line 4: expected a number from 1 to 4, got '5'",
    ),
    "words.mtx": (
        write(f"{REAL}4 4 1\n1 b 1\n"),
        "words.mtx, line 3: expected a number from 1 to 4, got 'b'",
    ),
    "ragged.mtx": (write(f"{REAL}4 4 1\n1 2\n"), "line 3: expected 3 fields as elsewhere, got 2"),
    "negative.mtx": (
        write(f"{REAL}4 4 1\n1 2 -1\n"),
        r"negative.mtx, entry \(1, 2\): the weight must be a finite number ≥ 0, got -1.0",
    ),
    "rectangle.mtx": (write(f"{REAL}4 5 1\n1 2 1\n"), "must be square, got 4 × 5"),
    "packed.mtx": (
        lambda path: path.write_bytes(gzip.compress(REAL.encode() * 99)[:-12]),
        "cannot read .*packed.mtx: Compressed file ended",
    ),
    "empty.mtx": (write(""), "is not a valid Matrix Market file"),
    "text.graphml": (write("a,b\n"), "is not a valid GraphML file"),
    "empty.gexf": (write(""), "is not a valid GEXF file"),
    "text.gml": (write("a,b\n"), "is not a valid GML file"),
    "text.net": (write("*vertices x\n"), "is not a valid Pajek file"),
    "none.gml": (write('graph [ node [ id 1 label "a" ] ]'), "none.gml has no edges"),
    "weight.gml": (
        write(
            'graph [ node [ id 1 label "a" ] node [ id 2 label "b" ] '
            'edge [ source 1 target 2 weight "heavy" ] ]'
        ),
        "weight.gml, edge a – b: the weight must be a finite number ≥ 0, got 'heavy'",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_one_line(tmp_path: Path, name: str) -> None:
    fill, message = REFUSED[name]
    fill(tmp_path / name)
    with pytest.raises(GraphError, match=message) as refusal:
        read_graph(tmp_path / name)
    assert "\n" not in str(refusal.value)
