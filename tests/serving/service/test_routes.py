"""What is asked over HTTP is what the predictor says."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from fastapi.testclient import TestClient

from mgae.serving import Predictor
from mgae.serving.service.application import PAGE, create_app
from mgae.serving.service.served import Served
from mgae.serving.service.shapes import MOST_BYTES, MOST_PAIRS
from tests.conftest import toy_data
from tests.serving.service.conftest import ODD_IDS
from tests.serving.test_predictor import fitted


def path(node: Any, rest: str = "", query: str = "") -> str:
    if node in (".", ".."):  # clients take these in a path as steps
        return f"/node{rest}?id={node}&{query}"
    return f"/nodes/{quote(str(node), safe='')}{rest}?{query}"


def test_info(client: TestClient) -> None:
    info = client.get("/info").json()
    assert (info["nodes"], info["edges"], info["features"]) == (60, 150, 6)
    assert info["method"] == "mgae gcn"
    assert info["embedding_width"] == 8
    assert info["test"] == {"auc": 91.5}


def test_nodes_are_found_by_a_part_of_their_id(client: TestClient) -> None:
    assert client.get("/nodes", params={"query": "n1", "limit": 3}).json() == {
        "query": "n1",
        "nodes": ["n11", "n12", "n13"],
        "titles": [None, None, None],
    }
    assert client.get("/nodes", params={"query": "zoë & å"}).json()["nodes"] == ["Zoë & Åse"]
    assert client.get("/nodes", params={"query": "nobody"}).json()["nodes"] == []


@pytest.mark.parametrize("node", [*ODD_IDS, "n20"])
def test_a_node_of_any_name_has_its_three_pages(
    client: TestClient, predictor: Predictor, node: str
) -> None:
    neighbors = predictor.neighbors(node)
    assert client.get(path(node)).json() == {
        "node": node,
        "title": None,
        "attributes": {},
        "degree": len(neighbors),
        "neighbors": neighbors,
        "neighbor_titles": [None] * len(neighbors),
    }
    links = client.get(path(node, "/recommendations", "k=4")).json()
    assert links["node"] == node
    expected = [(link.node, link.score, link.probability) for link in predictor.recommend(node, 4)]
    keys = ("node", "score", "probability")
    assert [tuple(map(link.get, keys)) for link in links["recommendations"]] == expected
    assert not {link["node"] for link in links["recommendations"]} & {node, *neighbors}
    near = client.get(path(node, "/similar", "k=2")).json()["similar"]
    assert [(row["node"], row["cosine"]) for row in near] == predictor.similar(node, 2)


def test_reasons_come_on_demand_and_add_up(client: TestClient) -> None:
    plain = client.get(path("n20", "/recommendations", "k=3")).json()["recommendations"]
    assert [link["why"] for link in plain] == [None] * 3
    asked = client.get(path("n20", "/recommendations", "k=3&why=true")).json()["recommendations"]
    for link in asked:
        total = sum(part["value"] for part in link["why"]["contributions"])
        assert total == pytest.approx(link["score"], abs=1e-4)
        assert link["why"]["sentence"].endswith(".")


def test_only_so_many_neighbors_are_listed(client: TestClient, predictor: Predictor) -> None:
    busiest = max(predictor.node_ids, key=lambda node: len(predictor.neighbors(node)))
    answer = client.get(path(busiest, query="limit=2")).json()
    assert answer["neighbors"] == predictor.neighbors(busiest)[:2]
    assert answer["degree"] == len(predictor.neighbors(busiest)) > 2


def test_integer_ids_stay_integers() -> None:
    data = toy_data()
    data.node_ids = list(range(100, 120))
    client = TestClient(create_app(fitted(data)), base_url="http://localhost")
    assert client.get("/nodes/103").json()["node"] == 103
    scores = client.post("/score", json={"pairs": [[100, "101"]]}).json()["scores"]
    assert scores[0]["source"] == 100
    assert client.get("/nodes/99").status_code == 404


def test_pairs_are_scored_in_their_order(client: TestClient, predictor: Predictor) -> None:
    pairs = [("n20", "a/b"), ("日本", "n30"), ("n20", "a/b")]
    answer = client.post("/score", json={"pairs": pairs}).json()["scores"]
    expected = predictor.score_links(pairs)
    assert [row["score"] for row in answer] == expected.logit.tolist()
    assert [row["balanced_probability"] for row in answer] == expected.balanced_probability.tolist()
    assert client.post("/score", json={"pairs": []}).json() == {"scores": []}


def test_unseen_nodes_are_embedded_and_get_links(client: TestClient, predictor: Predictor) -> None:
    features = {"new": [0.1] * 6, "newer": [0.5] * 6}
    edges = [("new", "n20"), ("newer", "new")]
    asked = {
        "nodes": [{"node": node, "features": row} for node, row in features.items()],
        "edges": edges,
        "k": 3,
    }
    answer = client.post("/embed", json=asked).json()["nodes"]
    assert [node["node"] for node in answer] == ["new", "newer"]
    rows = np.array([node["embedding"] for node in answer], np.float32)
    np.testing.assert_allclose(rows, predictor.embed_new(features, edges), rtol=1e-6)
    links = predictor.recommend_new(features, edges, 3)
    assert [link["node"] for link in answer[1]["recommendations"]] == [
        link.node for link in links["newer"]
    ]


@pytest.mark.parametrize(
    ("method", "address", "body", "status", "detail"),
    [
        ("GET", "/nodes/nobody", None, 404, "unknown node 'nobody'"),
        ("GET", "/nowhere", None, 404, "Not Found"),
        ("DELETE", "/info", None, 405, "Method Not Allowed"),
        ("GET", "/nodes/n20/similar?k=0", None, 422, "query.k: "),
        ("GET", "/nodes/n20/recommendations?k=1001", None, 422, "query.k: "),
        ("GET", "/nodes?limit=many", None, 422, "query.limit: "),
        ("POST", "/score", {"pairs": [["n20", "nobody"]]}, 422, "unknown node 'nobody'"),
        ("POST", "/score", {"pairs": [["n20"]]}, 422, "body.pairs.0"),
        ("POST", "/score", {"pairs": [["n20", "n21"]] * (MOST_PAIRS + 1)}, 422, "body.pairs: "),
        ("POST", "/score", {"pairs": [], "more": 1}, 422, "body.more: "),
        ("POST", "/embed", {"nodes": [{"node": "new", "features": [1]}]}, 422, "features must"),
        ("POST", "/embed", {"nodes": []}, 422, "body.nodes: "),
        (
            "POST",
            "/embed",
            {"nodes": [{"node": "new", "features": [3e38, -3e38] * 3}]},
            422,
            "features are too large",
        ),
        (
            "POST",
            "/embed",
            {"nodes": [{"node": "new", "features": [0] * 6}] * 2},
            422,
            "nodes: two of the new nodes",
        ),
    ],
)
def test_a_problem_is_told_as_rfc_9457_has_it(
    client: TestClient, method: str, address: str, body: Any, status: int, detail: str
) -> None:
    answer = client.request(method, address, json=body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    assert problem["type"] == "about:blank"
    assert detail in problem["detail"]


def test_json_without_its_header_says_which_header(client: TestClient) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}  # as curl -d sends it
    answer = client.post("/score", content='{"pairs": []}', headers=form).json()
    assert "send JSON with the header Content-Type: application/json" in answer["detail"]
    answer = client.post("/embed", json={"nodes": ["new"]}).json()
    assert answer["detail"] == "body.nodes.0: must be a JSON object"


def test_text_that_is_no_json_is_a_problem_and_not_a_crash(client: TestClient) -> None:
    for text in (b'{"pairs": [["\\ud800", "n20"]]}', b"[" * 5000, b"\xff", b"1" * 5000):
        answer = client.post("/score", content=text, headers={"Content-Type": "application/json"})
        assert answer.status_code in (400, 422)
        assert answer.headers["content-type"] == "application/problem+json"


def test_a_body_is_bounded_with_and_without_a_length(client: TestClient) -> None:
    headers = {"Content-Type": "application/json"}
    long = b" " * (MOST_BYTES + 1)
    assert client.post("/score", content=long, headers=headers).status_code == 413
    pieces = (b" " * 2**20 for _ in range(5))
    answer = client.post("/score", content=pieces, headers=headers)
    assert answer.status_code == 413
    assert answer.headers["content-type"] == "application/problem+json"


def test_the_map_has_a_place_for_every_node(client: TestClient, predictor: Predictor) -> None:
    result = client.get("/map").json()
    assert result["nodes"] == list(predictor.node_ids)
    assert result["total"] == 60
    for axis in ("x", "y"):
        assert (min(result[axis]), max(result[axis])) == (0, 65535)
    assert sorted(result["groups"]) == ["class 0", "class 1"]
    names = [result["groups"][group] for group in result["group"]]
    assert names[:3] == ["class 0", "class 1", "class 0"]  # toy labels alternate


def test_a_method_without_embeddings_is_served_without_a_map(tmp_path: Any) -> None:
    from tests.serving.test_predictor import named, ran

    run = ran(tmp_path / "run", named(), method="common-neighbors", encoder=None, decoder=None)
    client = TestClient(create_app(Predictor.load(run)), base_url="http://localhost")
    assert client.get("/info").json()["embedding_width"] is None
    assert client.get("/map").status_code == 404
    assert client.get("/nodes/n3/similar").status_code == 422
    assert len(client.get("/nodes/n3/recommendations?k=2").json()["recommendations"]) == 2


def test_the_page_needs_nobody_else(client: TestClient) -> None:
    for address in ("/", "/docs", "/palette.css"):
        answer = client.get(address)
        assert answer.status_code == 200
        assert "http" not in answer.text.replace("http-equiv", "")
        assert "default-src 'none'" in answer.headers["content-security-policy"]
    scripts = sorted(path.name for path in PAGE.glob("*.js"))
    assert {"main.js", "docs.js"} < set(scripts)
    for name in scripts:
        script = client.get(f"/page/{name}")
        assert script.status_code == 200
        assert "http" not in script.text.replace("http://www.w3.org/2000/svg", "")  # a name


def test_pairs_are_compared_on_demand(client: TestClient, predictor: Predictor) -> None:
    neighbor = predictor.neighbors("n20")[0]
    pairs = [("n20", neighbor), ("n20", "a/b")]
    answer = client.post("/score", json={"pairs": pairs, "why": True}).json()["scores"]
    assert [row["comparison"]["joined"] for row in answer] == [True, predictor.joins("n20", "a/b")]
    for row in answer:
        parts = row["comparison"]["why"]["contributions"]
        assert sum(part["value"] for part in parts) == pytest.approx(row["score"], abs=1e-4)
    (first, other), z = pairs[0], predictor.embed
    both = z([first])[0] @ z([other])[0] / np.linalg.norm(z([first])) / np.linalg.norm(z([other]))
    assert answer[0]["comparison"]["cosine"] == pytest.approx(float(both), abs=1e-5)
    many = client.post("/score", json={"pairs": pairs * 51, "why": True})
    assert (many.status_code, "at most 100 pairs" in many.json()["detail"]) == (422, True)


def test_a_new_node_without_features_is_a_mean_one(
    client: TestClient, predictor: Predictor
) -> None:
    edges = [("new", "n20"), ("new", "n21")]
    answer = client.post("/embed", json={"nodes": [{"node": "new"}], "edges": edges, "k": 2}).json()
    mean = predictor.graph.x.mean(dim=0).tolist()
    expected = predictor.recommend_new({"new": mean}, edges, 2)["new"]
    links = answer["nodes"][0]["recommendations"]
    assert [link["node"] for link in links] == [link.node for link in expected]
    some = [{"node": "new"}, {"node": "newer", "features": mean}]
    assert client.post("/embed", json={"nodes": some}).status_code == 422


def test_figures_stand_beside_the_heuristics(client: TestClient) -> None:
    (figure,) = client.get("/info").json()["figures"]
    assert (figure["heading"], figure["value"]) == ("AUC", 91.5)
    assert figure["heuristics"] == {"common-neighbors": 80.0}
    assert figure["meaning"].startswith("how often an edge scores higher")


def test_several_runs_are_told_apart_and_one_is_replaced(predictor: Predictor) -> None:
    small = fitted(toy_data())
    app = create_app(Served.of(predictor, "large"), Served.of(small, "small"))
    client = TestClient(app, base_url="http://localhost")
    assert [one["run"] for one in client.get("/runs").json()["runs"]] == ["large", "small"]
    assert client.get("/info").json()["nodes"] == 60
    assert client.get("/info?run=small").json()["nodes"] == 20
    assert client.get("/nodes/3?run=small").json()["degree"] == len(small.neighbors(3))
    assert client.get("/nodes/3").status_code == 404
    pairs = {"pairs": [[1, 2]]}
    assert client.post("/score?run=small", json=pairs).status_code == 200
    assert "unknown run 'other'" in client.get("/info?run=other").json()["detail"]
    app.state.runs.replace(Served.of(fitted(toy_data(num_nodes=25)), "small"))
    assert client.get("/info?run=small").json()["nodes"] == 25
    assert 'mgae_nodes{run="small"} 25.0' in client.get("/metrics").text


def test_the_map_is_packed_for_those_who_can_unpack_it(client: TestClient) -> None:
    packed = client.get("/map")
    plain = client.get("/map", headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.json() == plain.json()
