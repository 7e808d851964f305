"""Unseen nodes: what is said of them is what would be said, had the graph had them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch_geometric.data import Data

from mgae.core.errors import GraphError, UnsupportedError
from mgae.core.seeding import Generators
from mgae.data import MessageGraph, checked
from mgae.data.io.options import InputSettings
from mgae.data.opening import read_graph
from mgae.runs.build import build_method
from mgae.runs.config import RunConfig
from mgae.serving import Predictor
from tests.conftest import toy_data
from tests.serving.test_predictor import fitted, named


def without_last(data: Data, count: int = 2) -> Data:
    """The graph less its last nodes."""
    kept = int(data.num_nodes) - count
    inside = (data.edge_index < kept).all(dim=0)
    weight = None if data.edge_weight is None else data.edge_weight[inside]
    return checked(
        Data(
            x=data.x[:kept],
            edge_index=data.edge_index[:, inside],
            edge_weight=weight,
            num_nodes=kept,
            node_ids=data.node_ids[:kept],
        )
    )


def edges_of_last(data: Data, count: int = 2) -> list[tuple[Any, Any]]:
    first = int(data.num_nodes) - count
    pairs = data.edge_index[:, data.edge_index[0] >= first].t().tolist()
    return [(data.node_ids[head], data.node_ids[tail]) for head, tail in pairs]


@pytest.mark.parametrize("kind", ["gcn", "sage"])
def test_a_node_that_comes_later_is_embedded_as_if_it_had_been_there(kind: str) -> None:
    whole = named(num_edges=60)
    predictor = fitted(without_last(whole), encoder={"kind": kind, "hidden_channels": 4})
    features = {f"n{row}": whole.x[row].tolist() for row in (18, 19)}
    result = predictor.embed_new(features, edges_of_last(whole))
    np.testing.assert_allclose(result, predictor.embed_graph(whole)[18:], atol=1e-6)


def test_recommendations_of_new_nodes_are_known_ones_and_no_neighbors() -> None:
    whole = named(num_edges=60)
    predictor = fitted(without_last(whole))
    features = {f"n{row}": whole.x[row].numpy() for row in (18, 19)}
    edges = edges_of_last(whole)
    result = predictor.recommend_new(features, edges, k=4)
    assert list(result) == ["n18", "n19"]
    later = predictor.with_new(features, edges)
    for node, recommended in result.items():
        joined = {tail for head, tail in edges if head == node}
        assert len(recommended) == 4
        assert not {r.node for r in recommended} & (joined | {"n18", "n19"})
        scores = later.score_links([(node, r.node) for r in recommended])
        assert [r.score for r in recommended] == pytest.approx(scores.logit, abs=1e-5)
        assert all(0 < r.probability < 1 for r in recommended)


def test_a_matrix_names_its_nodes_by_their_rows() -> None:
    whole = toy_data(num_edges=60)  # whose ids are numbers, too
    predictor = fitted(without_last(whole))
    known = [(head - 18, tail) for head, tail in edges_of_last(whole) if tail < 18]
    by_row = predictor.embed_new(whole.x[18:].numpy(), known)
    names = {"a": whole.x[18], "b": whole.x[19]}
    by_name = predictor.embed_new(names, [("ab"[row], tail) for row, tail in known])
    np.testing.assert_array_equal(by_row, by_name)
    assert list(predictor.recommend_new(whole.x[18:].numpy(), known, k=1)) == [0, 1]


def test_a_node_without_edges_has_its_features_alone() -> None:
    predictor = fitted(named())
    x = predictor.graph.x[:1].numpy()
    assert predictor.embed_new(x).shape == (1, 8)
    assert not np.allclose(predictor.embed_new(x), predictor.embed(["n0"]))


def test_a_directed_or_weighted_graph_takes_new_nodes_too() -> None:
    for options in ({"directed": True}, {"weighted": True}):
        predictor = fitted(named(**options))
        added = predictor.with_new({"new": [1.0] * 6}, [("new", "n3")])
        assert added.neighbors("new") == ["n3"]
        assert ("new" in added.neighbors("n3")) == ("weighted" in options)


def test_ids_alone_are_those_of_mean_nodes_and_an_edge_may_end_at_a_new_one() -> None:
    predictor = fitted(named())
    mean = {"new": predictor.graph.x.mean(dim=0).tolist()}
    expected = predictor.embed_new(mean, [("new", "n3")])
    for given in (["new"], ("new",), "new", {"new": None}):
        np.testing.assert_array_equal(predictor.embed_new(given, [("n3", "new")]), expected)
    with pytest.raises(GraphError, match="for all of the new nodes, or for none"):
        predictor.embed_new({**mean, "other": None})


def test_nobody_new_is_no_answer() -> None:
    predictor = fitted(named())
    assert predictor.recommend_new(np.empty((0, 6))) == {}
    assert predictor.embed_new(np.empty((0, 6))).shape == (0, 8)


def test_the_predictor_itself_stays_as_it_was() -> None:
    predictor = fitted(named())
    before = predictor.embed()
    predictor.embed_new({"new": [9.0] * 6}, [("new", node) for node in predictor.node_ids])
    np.testing.assert_array_equal(predictor.embed(), before)
    assert predictor.num_nodes == 20 and not predictor.knows("new")


@pytest.mark.parametrize("inputs", ["table", "one-hot"])
def test_a_model_with_a_row_for_each_node_says_so(inputs: str) -> None:
    predictor = fitted(named(), encoder={"hidden_channels": 4, "inputs": inputs})
    for call in (
        lambda: predictor.embed_new({"new": [0.0] * 6}),
        lambda: predictor.recommend_new({"new": [0.0] * 6}),
        lambda: predictor.embed_graph(predictor.graph),
    ):
        with pytest.raises(UnsupportedError, match="an embedding table") as caught:
            call()
        assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return fitted(named())


GOOD = {"new": [0.0] * 6}


@pytest.mark.parametrize(
    ("features", "edges", "message"),
    [
        ({"new": [0.0] * 5}, [], r"shape \[m, 6\], got \[1, 5\]"),
        ({"new": [0.0] * 6, "other": [0.0]}, [], "numbers, as many for each"),
        ({"new": ["red"] * 6}, [], "features must be numbers"),
        ({"new": [float("nan")] * 6}, [], "finite"),
        ({"n3": [0.0] * 6}, [], "'n3' is in the graph already"),
        (GOOD, [("n3", "n4")], "must begin at a new node, got 'n3'"),
        (GOOD, [("new", "n99")], "unknown node 'n99'"),
        (GOOD, [("new",)], "an edge must be two ids"),
    ],
)
def test_wrong_newcomers_are_one_line(
    predictor: Predictor, features: Any, edges: Any, message: str
) -> None:
    with pytest.raises(GraphError, match=message):
        predictor.embed_new(features, edges)


def test_another_graph_must_have_the_same_features(predictor: Predictor) -> None:
    with pytest.raises(GraphError, match="knows 6 features, got 3"):
        predictor.embed_graph(toy_data(num_features=3))
    assert torch.from_numpy(predictor.embed_graph(toy_data(seed=4))).isfinite().all()


def test_new_nodes_may_come_as_a_table_in_the_columns_of_the_training() -> None:
    data = named(num_features=3)
    data.feature_names = ["age", "town=Bern", "town=Ulm"]
    predictor = fitted(data)
    table = pa.table({"town": ["Ulm", "Rom"], "age": [3.0, None], "id": ["z", "a"]})
    by_table = predictor.embed_new(table, [("z", "n1")])
    mean = float(data.x[:, 0].mean())
    by_hand = predictor.embed_new({"z": [3, 0, 1], "a": [mean, 0, 0]}, [("z", "n1")])
    np.testing.assert_allclose(by_table, by_hand, atol=1e-6)
    with pytest.raises(GraphError, match="the table of new nodes has no column 'town'"):
        predictor.embed_new(table.drop_columns("town"))


def test_a_heuristic_needs_no_features_of_new_nodes() -> None:
    data, config = named(num_features=None), RunConfig(graph="toy", method="common-neighbors")
    method = build_method(config, MessageGraph.of(data), Generators(0)["init"])
    predictor = Predictor(method, config, data, exact_up_to=3)
    edges = [("new", node) for node in predictor.neighbors("n0")]
    (result,) = predictor.recommend_new({"new": []}, edges, k=1).values()
    assert result[0].node == "n0" and result[0].score == len(edges)
    assert predictor.ranks_all()


def test_new_nodes_may_come_with_the_cells_of_the_training_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    day = [f"2020-{1 + k % 12:02d}-{1 + k % 28:02d}" for k in range(40)]
    lines = [f"n{k},{rng.integers(18, 80)},{'Ulm' if k % 3 else 'Rom'},{day[k]}" for k in range(40)]
    (tmp_path / "people.csv").write_text("\n".join(["id,age,town,since", *lines]), "utf-8")
    edges = [f"n{k},n{(k * 7 + 1) % 40}" for k in range(40)]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *edges]), "utf-8")
    settings = InputSettings(features=str(tmp_path / "people.csv"))
    graph = read_graph(tmp_path / "edges.csv", settings)
    predictor = fitted(graph, method="mgae")
    row = lines[5].split(",")
    cells = {"age": float(row[1]), "town": row[2], "since": row[3]}
    # The same cells give the same numbers, whatever the type of the id.
    by_cells = predictor.embed_new({"7": cells, "b": {**cells, "town": None}}, [("7", "n1")])
    vector = graph.x[graph.node_ids.index("n5")].numpy()
    by_hand = predictor.embed_new({"7": vector, "b": vector}, [("7", "n1")])
    np.testing.assert_allclose(by_cells[0], by_hand[0], atol=1e-5)
    assert not np.allclose(by_cells[1], by_hand[1])
    with pytest.raises(GraphError, match="has no column 'since', which the model was trained on"):
        predictor.embed_new({"new": {"age": 3, "town": "Ulm"}})
    with pytest.raises(GraphError, match="the cells of a column must be of one kind"):
        predictor.embed_new({"one": cells, "two": {**cells, "age": "old"}})
