"""Answers without training: the shipped weights, and the commands that use them."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import torch

import mgae
from mgae.core import EvidenceModel, InstantModel
from mgae.core.evidence.shipped import FILE, read_weights
from mgae.core.evidence.structure import column_names
from tests.cli.test_serving import acquaintances, call, neighbors, write

ALLOWED = {"cora", "citeseer", "pubmed"}
DRAWN = {"community", "words", "power", "duplication", "geometric", "cliques", "grid", "small"}


def test_the_shipped_file_fits_the_columns_and_is_small() -> None:
    weights, about = read_weights(FILE)
    names = column_names(True)
    assert tuple(json.loads(about["columns"])) == names
    assert {key: value.shape for key, value in weights.items()} == {
        key: value.shape for key, value in EvidenceModel(num_features=1).state_dict().items()
    }
    assert {"graphs", "settings", "version", "licences"} <= set(about)
    assert FILE.stat().st_size < 50_000


def test_only_graphs_that_may_be_shipped_with_were_learned_from() -> None:
    graphs = json.loads(read_weights(FILE)[1]["graphs"])
    real = {name.removesuffix("+features") for name in graphs} & ALLOWED
    assert real == ALLOWED
    assert {name.partition("-")[0] for name in graphs if "-" in name} == DRAWN | {"bipartite"}
    assert all("-" in name or name.removesuffix("+features") in ALLOWED for name in graphs)


def test_unknown_features_count_for_nothing() -> None:
    plain, full = InstantModel(0), InstantModel(5)
    values = torch.rand(7, len(plain.names))
    unknown = torch.full((7, len(full.names) - len(plain.names)), torch.nan)
    both = zip(plain.outputs(values), full.outputs(torch.cat([values, unknown], 1)), strict=True)
    assert all(torch.allclose(one, other, atol=1e-5) for one, other in both)


def test_a_training_may_start_from_the_shipped_weights_and_goes_back_to_them() -> None:
    model = EvidenceModel(start="shipped")
    before = {key: value.clone() for key, value in model.state_dict().items()}
    torch.nn.init.zeros_(model.link.linear.weight)
    model.reset_parameters()
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())


def test_scores_are_symmetric_and_a_hidden_edge_comes_first() -> None:
    graph = nx.connected_caveman_graph(8, 8)
    graph.remove_edge(27, 29)
    predictor = mgae.instant(graph)
    scores = predictor.score_links([(27, 29), (29, 27), (27, 60)]).logit
    assert abs(scores[0] - scores[1]) < 1e-4
    assert scores[0] > scores[2]
    assert predictor.recommend(27, 1)[0].node == 29


def test_recommendations_and_scores_of_a_file(tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    edges, pairs = tmp_path / "edges.csv", tmp_path / "pairs.csv"
    write(edges, [("from", "to"), *acquaintances()])
    code, out, _ = call(capsys, "recommend", edges, "--node", "C of Graz", "-k", "3", "--json")
    answer = json.loads(out)
    listed = [row["node"] for row in answer["recommendations"]]
    assert code == 0 and len(listed) == 3
    assert not set(listed) & neighbors("C of Graz")
    assert listed[0].endswith("Graz")
    assert any("mgae train" in note for note in answer["notes"])
    code, out, _ = call(capsys, "recommend", edges, "--node", "C of Graz", "-k", "3")
    assert code == 0 and out.split()[:2] == ["node", "score"] and "probability" not in out
    write(pairs, [("a", "b"), ("C of Graz", "G of Graz"), ("C of Graz", "F of Ulm")])
    code, out, err = call(capsys, "score", edges, pairs, "-q")
    near, far = (float(line.split(",")[2]) for line in out.splitlines()[1:])
    assert code == 0 and near > far
    assert err.count("mgae train") == 1


def test_an_option_for_a_graph_is_refused_for_a_run(tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    code, _, err = call(capsys, "recommend", tmp_path, "--node", "a", "--features", "x.csv")
    assert code == 2 and "--features is for a graph" in err
