"""Edges of several types: messages by hand, negatives of their type, and what types are worth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
import torch
from torch_geometric.data import Data, HeteroData

from mgae.core.errors import ConfigError, UnknownName
from mgae.core.evidence.folds import Contests
from mgae.core.graph import MessageGraph
from mgae.core.methods.combinedrelational import CombinedRelationalModel, _repeated
from mgae.core.methods.relational import RelationalAutoencoder, RelationalLayer, TypedMessages
from mgae.core.negatives import TypedSampler
from mgae.data import checked
from mgae.data.hetero import to_hetero
from mgae.data.opening import as_graph
from mgae.data.splits.links import split_links
from mgae.data.splits.typed import with_types
from mgae.data.store import save_graph, stored_graph
from mgae.runs.config import RunConfig
from mgae.runs.pipeline import run
from mgae.serving import Predictor
from tests.cli.test_serving import call

QUICK = {"evaluation": {"heuristics": [], "hard_negatives": 0}}


def typed_table(seed: int = 0, size: int = 120, groups: int = 4) -> pa.Table:
    """Type r leads from a group to the r-th next one: the types together join every two groups."""
    random = np.random.default_rng(seed)
    group, rows = random.permutation(size) % groups, []
    for kind in range(3):
        near = (group[None, :] - group[:, None] - kind) % groups == 0
        chance = np.where(near, 0.15, 0.01)
        np.fill_diagonal(chance, 0)
        pairs = np.argwhere(random.random((size, size)) < chance)
        rows += [(f"n{u}", f"n{v}", f"to{kind}") for u, v in pairs]
    return pa.table(dict(zip(("source", "target", "kind"), zip(*rows, strict=True), strict=True)))


def shop() -> HeteroData:
    hetero = HeteroData()
    hetero["user"].x, hetero["item"].x = torch.ones(3, 2), torch.eye(2)
    hetero["user", "buys", "item"].edge_index = torch.tensor([[0, 1, 2], [0, 1, 1]])
    hetero["user", "views", "item"].edge_index = torch.tensor([[0, 2], [0, 0]])
    return hetero


def test_a_layer_by_hand() -> None:
    # 0 → 2 and 1 → 2 of type 0, 2 → 0 of type 1; against its direction a type is another.
    triples = torch.tensor([[0, 1, 2], [2, 2, 0], [0, 0, 1]])
    messages = TypedMessages.of(triples, 3, 2)
    layer = RelationalLayer(1, 1, 4, 1)
    with torch.no_grad():
        layer.own.fill_(0.0)
        layer.bases.fill_(1.0)
        layer.mix.copy_(torch.tensor([[1.0], [10.0], [100.0], [1000.0]]))
    result = layer(torch.tensor([[2.0], [4.0], [6.0]]), messages)
    # 0: 10 · 6 along type 1, 100 · 6 against type 0. 1: 100 · 6. 2: mean(2, 4), and 1000 · 2.
    assert result.squeeze(1).tolist() == [660.0, 600.0, 2003.0]


def test_a_pair_without_a_type_takes_the_likeliest_and_a_target_is_asked_about_as_such() -> None:
    graph = MessageGraph.of(as_graph(shop()))
    model = RelationalAutoencoder(graph.num_nodes, graph.num_features, graph.num_types)
    encoded = model.encode(graph)
    pair = torch.tensor([[0], [4]])
    kinds = [torch.tensor([[0], [4], [kind]]) for kind in (0, 1)]
    turned = [torch.tensor([[4], [0], [kind]]) for kind in (0, 1)]
    every = [float(model.score_links(encoded, triple)) for triple in (*kinds, *turned)]
    assert float(model.score_links(encoded, pair)) == pytest.approx(max(every))
    asked = model.score_typed_tails(encoded, torch.tensor([4]), torch.tensor([0]), 0)
    assert float(asked) == pytest.approx(every[0], abs=1e-5)  # item 4 is only ever bought


def test_each_question_gets_the_rows_of_its_head() -> None:
    head, wanted = torch.tensor([0, 0, 2, 2, 2, 3]), torch.tensor([2, 0, 1, 2])
    question, row = _repeated(head, wanted)
    assert question.tolist() == [0, 0, 0, 1, 1, 3, 3, 3]
    assert row.tolist() == [2, 3, 4, 0, 1, 2, 3, 4]


def test_weights_of_a_type_are_chosen_on_hidden_edges_from_both_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = MessageGraph.of(as_graph(typed_table(), RunConfig(input={"type_column": "kind"}).input))
    generator = torch.Generator().manual_seed(0)
    split = with_types(split_links(graph, 0.2, 0.1, generator), graph, generator)
    model = CombinedRelationalModel(graph.num_nodes, num_types=3)
    asked: list[Any] = []
    sources = model._sources

    def spy(encoded: Any, pairs: torch.Tensor, values: torch.Tensor | None = None) -> torch.Tensor:
        asked.append(pairs)
        return sources(encoded, pairs, values)

    def choose(contests: Contests, values: torch.Tensor, columns: list[int]) -> torch.Tensor:
        asked[-1] = asked[-1], contests.edge
        return torch.zeros(values.size(1))

    monkeypatch.setattr(model, "_sources", spy)
    monkeypatch.setattr("mgae.core.methods.combinedrelational.choose_rank", choose)
    triples, _ = split.asked("val", typed=True)
    model._choose_typed(split.message, triples)
    drawn, edge = asked[-1]
    # An edge that is listed by both of its ends is asked about twice: as (source, target, type).
    listed = list(map(tuple, drawn[:, edge].t().tolist()))
    assert set(listed) <= set(map(tuple, triples.t().tolist()))
    assert len(set(listed)) > triples.size(1) / 3 and len(listed) > 1.5 * len(set(listed))


def test_negatives_keep_the_type_of_the_edge_and_of_its_ends() -> None:
    data = as_graph(shop())
    graph, generator = MessageGraph.of(data), torch.Generator().manual_seed(0)
    drawn = TypedSampler.of(graph).sample(graph.typed_edges, 20, generator)
    assert bool((drawn[0] < 3).all()) and bool((drawn[1] >= 3).all())
    known = set(map(tuple, graph.typed_edges.t().tolist()))
    assert not known & set(map(tuple, drawn.t().tolist()))
    # "views" between a pair that only "buys" joins is a negative, and the other way round.
    assert (2, 4, 1) in set(map(tuple, drawn.t().tolist()))


def test_a_split_hides_a_pair_with_all_its_types() -> None:
    graph = MessageGraph.of(as_graph(typed_table(), RunConfig(input={"type_column": "kind"}).input))
    generator = torch.Generator().manual_seed(0)
    split = with_types(split_links(graph, 0.1, 0.2, generator), graph, generator)
    visible = {frozenset(pair) for pair in split.message.typed_edges[:2].t().tolist()}
    held_out = torch.cat([split.val, split.test], dim=1)
    assert not visible & {frozenset(pair) for pair in held_out.t().tolist()}
    every = split.message.typed_edges.size(1) + held_out.size(1)
    assert graph.triples is not None and every == graph.triples.size(1)
    edges, others = split.asked("test", typed=True)
    assert set(map(tuple, edges.t().tolist())) <= set(map(tuple, graph.triples.t().tolist()))
    assert others.size(0) == 3 and set(others[2].tolist()) == {0, 1, 2}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("typed")
    pyarrow.csv.write_csv(typed_table(), folder / "edges.csv")
    config = RunConfig(
        graph=str(folder / "edges.csv"),
        input={"type_column": "kind"},
        method={"evidence_epochs": 10},
        train={"epochs": 120, "final_fit": False},
        **QUICK,
    )
    assert config.method.kind == "combined-relational"
    run(config, out=folder / "run")
    return folder


def test_types_are_worth_more_than_five_points(trained: Path) -> None:
    typed = json.loads((trained / "run/metrics.json").read_text())["test"]["auc"]["mean"]
    others = [
        run(RunConfig(
            graph=str(trained / "edges.csv"), input={"type_column": "kind"}, method=method,
            train=train, **QUICK,
        )).test["auc"].mean
        for method, train in (("l3", None), ("mgae", {"epochs": 40}))
    ]  # fmt: skip
    assert typed > max(others) + 5


def test_beside_the_evidence_the_network_says_what_the_type_asks_for(trained: Path) -> None:
    predictor = Predictor.load(trained / "run")
    method, graph = predictor.method, MessageGraph.of(predictor.graph)
    assert isinstance(method, CombinedRelationalModel) and method.choice["typed"]["network"] > 0
    encoded, tails = method.encode(graph), torch.arange(graph.num_nodes)
    for kind in (0, 1):
        row = method.score_typed_tails(encoded, torch.tensor([5]), tails, kind)[0]
        triples = torch.stack([torch.full_like(tails, 5), tails, torch.full_like(tails, kind)])
        torch.testing.assert_close(row, method.rank_links(encoded, triples), atol=1e-4, rtol=1e-4)


def test_recommendations_of_a_type_through_the_command_line(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = []
    for kind in ("to0", "to1"):
        code, out, _ = call(
            capsys,
            "recommend",
            trained / "run",
            "--node",
            "n3",
            "--type",
            kind,
            "--json",
            "-k",
            "5",
        )
        assert code == 0
        answers.append([row["node"] for row in json.loads(out)["recommendations"]])
    assert len(answers[0]) == 5 and answers[0] != answers[1]
    predictor = Predictor.load(trained / "run")
    with pytest.raises(UnknownName, match="to0"):
        predictor.recommend("n3", edge_type="to7")
    with pytest.raises(ConfigError, match="--type goes with --node"):
        raise ConfigError(call(capsys, "recommend", trained / "run", "--all", "-o", "x.csv", "--type", "to0")[2])  # fmt: skip # noqa: E501


def test_hetero_data_round_trip(tmp_path: Path) -> None:
    hetero = shop()
    graph = as_graph(hetero)
    assert graph.node_ids == ["user:0", "user:1", "user:2", "item:0", "item:1"]
    assert graph.side.tolist() == [0, 0, 0, 1, 1] and graph.side_names == ["user", "item"]
    save_graph(graph, tmp_path / "graph")
    again = to_hetero(stored_graph(tmp_path / "graph"))
    assert again.metadata() == hetero.metadata()
    for name in hetero.node_types:
        assert again[name].x.equal(hetero[name].x)
    for kind in hetero.edge_types:
        edges = [set(map(tuple, h[kind].edge_index.t().tolist())) for h in (hetero, again)]
        assert edges[0] == edges[1]
    one_name = HeteroData()
    one_name["a"].num_nodes, one_name["b"].num_nodes = 2, 2
    one_name["a", "to", "b"].edge_index = one_name["a", "to", "a"].edge_index = torch.tensor(
        [[0], [1]]
    )
    assert to_hetero(as_graph(one_name)).edge_types == [("a", "to", "a"), ("a", "to", "b")]


def test_untyped_graphs_become_one_type() -> None:
    data = checked(Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3))
    assert to_hetero(data).edge_types == [("node", "to", "node")]
