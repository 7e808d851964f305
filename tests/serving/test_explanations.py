"""Reasons and names: sentences worked out by hand, shares that add up, titles to the very end."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pyarrow.parquet as pq
import pytest
import torch

import mgae
from mgae.core.errors import ConfigError, GraphError
from mgae.core.evidence.attribution import START, shares
from mgae.data.io.options import InputSettings
from mgae.data.opening import open_graph
from mgae.data.store import save_graph, stored_graph
from mgae.serving import Predictor
from mgae.serving.explanations import Named, Why, sentence_of
from tests.cli.test_serving import call
from tests.conftest import toy_data
from tests.serving.test_predictor import fitted

EDGES = "source,target\na,b\na,c\nb,d\nc,d\nd,e\ne,f\nb,x\nb,y\ng,h\n"
NODES = (
    "id,called,kind,size\na,Ann,person,3\nb,Bob,person,4\nc,Café,place,\nd,Dora,person,3\n"
    "e,,place,1\nzz,Nobody,person,9\n"
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("named")
    (folder / "edges.csv").write_text(EDGES, encoding="utf-8")
    (folder / "nodes.csv").write_text(NODES, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def named(files: Path) -> Predictor:
    return mgae.instant(
        files / "edges.csv",
        nodes=str(files / "nodes.csv"),
        title_column="called",
        attributes=("kind",),
    )


def test_the_sentence_says_what_a_person_would_count(named: Predictor) -> None:
    near, far, apart = named.why("a", ["d", "f", "g"])
    # a-b-d and a-c-d; c has two neighbors and b has four.
    assert [node.node for node in near.common] == ["c", "b"]
    assert (near.num_common, near.paths, near.distance) == (2, 0, 2)
    start = "2 neighbors in common (Café, Bob), the same kind (person)"
    assert near.sentence.startswith(start)
    assert far.distance == 4 and far.sentence.startswith("No neighbor in common, 4 steps apart")
    assert apart.distance is None and apart.sentence.startswith("No path between the two")
    (third,) = named.why("a", ["e"])  # a-b-d-e and a-c-d-e
    assert (third.paths, third.distance) == (2, 3)
    assert third.sentence.startswith("No neighbor in common, 2 paths of length 3")


def test_the_sentence_names_the_neighbor_that_it_is_most_like() -> None:
    common = [Named("b", "Bob"), Named("c")]
    why = Why("", common, 5, 7, 2, {}, "word", Named("c", None, 0.934))
    assert sentence_of(why, "Ann") == (
        "5 neighbors in common (the rarest Bob, c), 7 paths of length 3, a feature in common "
        "(word); among the neighbors of Ann it is most like c (cosine 0.93)."
    )
    assert sentence_of(why, "Ann", two_sided=True).startswith(
        "7 paths of length 3 by way of 5 neighbors (the rarest Bob, c)"
    )


def test_shares_of_a_product_are_those_of_its_definition() -> None:
    x = torch.tensor([[2.0, 3.0, 5.0]])
    names = ("katz", "degrees", "l3")
    result = shares(lambda x: 7 + x[:, 0] * x[:, 1] + x[:, 2], x, names)
    assert {name: share.item() for name, share in result.items()} == {
        START: 7,
        "longer walks": 3,
        "degrees": 3,
        "paths of length 3": 5,
    }


def add_up(predictor: Predictor, count: int = 60) -> None:
    generator = torch.Generator().manual_seed(0)
    pairs = torch.randint(predictor.num_nodes, (2, count), generator=generator)
    for ranking in (True, False):
        ask = predictor._asked.rank_links if ranking else predictor._asked.score_links
        whole = ask(predictor._ranking.encoded, pairs)
        parts = predictor.score_parts(pairs, ranking)
        assert torch.allclose(sum(parts.values()).double(), whole.double(), atol=1e-4)  # type: ignore[union-attr]
    node = predictor.node_ids[0]
    links = predictor.recommend(node, 5)
    for link, why in zip(links, predictor.why(node, [x.node for x in links]), strict=True):
        assert sum(part.value for part in why.contributions) == pytest.approx(link.score, abs=1e-4)


def test_contributions_add_up_to_the_score() -> None:
    add_up(mgae.instant(nx.connected_caveman_graph(12, 8)))
    data = toy_data(num_nodes=60, num_edges=200)
    combined = fitted(data, method={"kind": "combined", "evidence_epochs": 2})
    add_up(combined)
    # Every source counts: both outputs, the network and a column.
    for weights in (combined.method.rank_weights, combined.method.link_weights):
        weights[:4] = torch.tensor([0.5, -1.0, 2.0, 0.25])
    add_up(combined)
    sources = {source for source, _ in combined.score_parts(torch.tensor([[0], [1]]))}
    assert sources == {"link", "rank", "network", "column"}
    add_up(fitted(data))


def test_titles_are_found_kept_and_shown(named: Predictor, tmp_path: Path) -> None:
    assert named.find("caf") == ["c"] and named.find("or") == ["d"]
    assert named.title("e") is None and named.attributes("e") == {"kind": "place"}
    assert any("1 unknown id left out: zz" in note for note in named.notes)
    save_graph(named.graph, tmp_path)
    again = stored_graph(tmp_path).texts
    assert again.titles.to_pylist() == named.graph.texts.titles.to_pylist()
    assert again.of_node(0) == {"kind": "person"}
    with pytest.raises(GraphError, match=r"unknown node 'Dora'.*did you mean d, Dora"):
        named.recommend("Dora")


def test_the_command_line_prints_titles_and_reasons(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = [str(files / "edges.csv"), "--nodes", str(files / "nodes.csv"), "--title-column", "2"]
    _, shown, _ = call(capsys, "recommend", *graph, "--node", "a", "-k", "2", "--why", "-q")
    assert "Dora" in shown and "neighbors in common (Café, Bob)" in shown
    asked = ["--node", "a", "-k", "2", "--why", "--json", "--attribute", "kind"]
    answer = json.loads(call(capsys, "recommend", *graph, *asked)[1])
    assert (answer["title"], answer["attributes"]) == ("Ann", {"kind": "person"})
    for link in answer["recommendations"]:
        total = sum(part["value"] for part in link["why"]["contributions"])
        assert total == pytest.approx(link["score"], abs=1e-4)
    out = files / "all.parquet"
    call(capsys, "recommend", *graph, "--all", "-k", "2", "-o", str(out), "-q")
    rows = pq.read_table(out).to_pylist()
    titles = {"a": "Ann", "b": "Bob", "c": "Café", "d": "Dora"}
    assert all(row["recommended_title"] == titles.get(row["recommended_id"]) for row in rows)


def test_titles_stand_beside_scores_and_in_what_is_inspected(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["--nodes", str(files / "nodes.csv"), "--title-column", "2"]
    (files / "pairs.csv").write_text("source,target\na,b\na,nobody\n")
    pairs = [str(files / "pairs.csv"), "--unknown", "nan", "-q"]
    edges = str(files / "edges.csv")
    head, first, second = call(capsys, "score", edges, *pairs, *names)[1].splitlines()
    assert head.endswith('"source_title","target_title"')
    assert first.endswith('"Ann","Bob"') and second.endswith('"Ann",')
    titles = json.loads(call(capsys, "inspect", edges, *names, "--json")[1])["titles"]
    assert titles["nodes"] >= 3 and titles["attributes"] == "none"


def test_settings_that_name_no_column_are_refused(files: Path) -> None:
    nodes = str(files / "nodes.csv")
    with pytest.raises(GraphError, match=r"input\.title_column"):
        open_graph(files / "edges.csv", InputSettings(nodes=nodes))
    with pytest.raises(GraphError, match="no column 'age'"):
        open_graph(files / "edges.csv", InputSettings(nodes=nodes, attributes=("age",)))
    with pytest.raises(ConfigError, match=r"input\.title_column needs input\.nodes"):
        open_graph(files / "edges.csv", InputSettings(title_column="called"))
