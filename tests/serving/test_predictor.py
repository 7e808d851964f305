"""The predictor on toy graphs, held against slow and obvious answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file
from torch_geometric.data import Data

import mgae
from mgae.core.errors import ConfigError, GraphError, RunDirectoryError, UnsupportedError
from mgae.core.seeding import Generators
from mgae.data import MessageGraph
from mgae.registry import METHODS
from mgae.runs.build import build_method
from mgae.runs.config import RunConfig
from mgae.serving import Predictor, resumable
from tests.conftest import QUICK, toy_data

SMALL: dict[str, Any] = {
    "method": "mgae",
    "encoder": {"hidden_channels": 4},
    "decoder": {"hidden_channels": 8},
    "evaluation": {"heuristics": []},
    "train": {"epochs": 2},
}

# The default method of one's own graph.
OWN = {"method": QUICK, "encoder": SMALL["encoder"], "train": SMALL["train"]}


def named(**options: Any) -> Data:
    """A toy graph whose ids are n0, n1, …"""
    data = toy_data(**options)
    data.node_ids = [f"n{number}" for number in range(data.num_nodes)]
    return data


def ran(path: Path, data: Data, **sections: Any) -> Path:
    mgae.run(RunConfig(graph="toy", **{**SMALL, **sections}), data, out=path)
    return path


def fitted(data: Data, **options: Any) -> Predictor:
    parts = {key: SMALL[key] for key in ("method", "encoder", "decoder", "train")}
    return mgae.MGAE(**{**parts, **options}).fit(data).predictor()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ran(tmp_path_factory.mktemp("served") / "run", named())


@pytest.fixture(scope="module")
def predictor(run: Path) -> Predictor:
    return Predictor.load(run)


def test_what_is_known_of_the_graph(predictor: Predictor) -> None:
    assert predictor.num_nodes == 20
    assert predictor.node_ids[3] == "n3"
    assert predictor.config.graph == "toy"
    assert predictor.knows("n19") and not predictor.knows("n20")
    edges = predictor.graph.edge_index
    joined = {f"n{target}" for target in edges[1, edges[0] == 3].tolist()}
    assert set(predictor.neighbors("n3")) == joined
    assert predictor.find("n1", 3) == ["n1", "n10", "n11"]


def test_embeddings_are_those_of_the_run(predictor: Predictor, run: Path) -> None:
    import pyarrow.parquet as pq

    stored = np.stack(pq.read_table(run / "embeddings.parquet")["embedding"].to_numpy())
    np.testing.assert_array_equal(predictor.embed(), stored)
    np.testing.assert_array_equal(predictor.embed(["n5", "n2"]), stored[[5, 2]])


def test_a_caller_cannot_change_what_is_inside(predictor: Predictor) -> None:
    predictor.embed()[:] = 0
    assert predictor.embed().any()


def test_recommendations_are_the_best_scores_of_all_strangers(predictor: Predictor) -> None:
    strangers = set(predictor.node_ids) - {"n4"} - set(predictor.neighbors("n4"))
    scores = predictor.score_links([("n4", node) for node in sorted(strangers)])
    order = np.argsort(-scores.logit)[:5]
    result = predictor.recommend("n4", 5)
    assert [r.node for r in result] == [sorted(strangers)[number] for number in order]
    assert [r.score for r in result] == pytest.approx(scores.logit[order].tolist(), abs=1e-5)
    assert all(0 < r.probability < 1 for r in result)


def test_known_links_and_a_choice_of_nodes(predictor: Predictor) -> None:
    everyone = {r.node for r in predictor.recommend("n4", 50, exclude_known=False)}
    assert everyone == set(predictor.node_ids) - {"n4"}
    some = predictor.recommend("n4", 50, among=["n4", "n1", "n2", "n1"], exclude_known=False)
    assert {r.node for r in some} == {"n1", "n2"}
    assert predictor.recommend("n4", among=predictor.neighbors("n4")) == []


def test_edges_that_the_makers_of_a_graph_hold_out_are_nothing_new() -> None:
    data = named()
    method, config = fitted(data).method, RunConfig(**SMALL)
    (first, second, *_) = (
        link.node for link in Predictor(method, config, data.clone()).recommend("n0", 3)
    )
    number = data.node_ids.index
    holding_out = data.clone()
    holding_out.val_edges = torch.tensor([[0], [number(first)]])
    holding_out.test_edges = torch.tensor([[number(second)], [0]])
    predictor = Predictor(method, config, holding_out)
    assert {first, second} <= set(predictor.neighbors("n0"))
    offered = {link.node for link in predictor.recommend("n0", data.num_nodes)}
    assert not offered & {first, second}


def test_all_recommendations_at_once_are_those_one_by_one(predictor: Predictor) -> None:
    shares: list[float] = []
    table = pa.Table.from_batches(predictor.recommend_all(3, on_share=shares.append))
    assert shares[-1] == 1
    rows = table.to_pylist()
    assert [row["rank"] for row in rows[:3]] == [1, 2, 3]
    for node in predictor.node_ids:
        alone = [r.node for r in predictor.recommend(node, 3)]
        assert [row["recommended_id"] for row in rows if row["node_id"] == node] == alone


def test_candidates_that_are_all_nodes_miss_nothing(run: Path) -> None:
    predictor = Predictor.load(run)
    some, every = (predictor.recommend("n4", 5, exact=exact) for exact in (False, True))
    assert [one.node for one in some] == [one.node for one in every]
    scores = [one.score for one in every]
    assert [one.score for one in some] == pytest.approx(scores, abs=1e-6)
    assert predictor.recall(k=3) == 1
    assert predictor.ranks_all() and not predictor.ranks_all(False)
    predictor.exact_up_to = 3
    assert not predictor.ranks_all()
    result = list(predictor.recommend_all(2))
    assert result[0]["recommended_id"].to_pylist()[:2] == [
        r.node for r in predictor.recommend("n0", 2, exact=True)
    ]


def test_the_order_of_a_pair_does_not_matter_where_edges_have_none(predictor: Predictor) -> None:
    scores = predictor.score_links([("n1", "n2"), ("n2", "n1")])
    assert scores.logit[0] == pytest.approx(scores.logit[1], abs=1e-6)
    assert predictor.score_links([]).balanced_probability.shape == (0,)


def test_similar_nodes_by_the_cosine(predictor: Predictor) -> None:
    z = predictor.embed()
    cosine = z @ z[7] / np.linalg.norm(z, axis=1) / np.linalg.norm(z[7])
    cosine[7] = -2
    result = predictor.similar("n7", 4)
    assert [node for node, _ in result] == [f"n{number}" for number in np.argsort(-cosine)[:4]]
    assert result[0][1] == pytest.approx(cosine.max(), abs=1e-5)


def test_a_directed_link_leads_from_the_node_that_was_asked_about() -> None:
    predictor = fitted(named(directed=True))
    for node in ("n0", "n7"):
        edges = predictor.graph.edge_index
        out = edges[1, edges[0] == int(node[1:])].tolist()
        assert predictor.neighbors(node) == [f"n{target}" for target in out]
        for r in predictor.recommend(node, 4):
            assert r.node not in predictor.neighbors(node)
            assert predictor.score_links([(node, r.node)]).logit == pytest.approx(r.score, abs=1e-5)


def test_the_validation_edges_are_not_seen_when_their_scores_are_calibrated() -> None:
    data, model = (
        named(num_edges=60),
        mgae.MGAE(**{**OWN, "train": {"epochs": 3, "final_fit": False}}),
    )
    predictor = model.fit(data).predictor()
    split = model.split_
    hidden = model.method_.score_links(model.method_.encode(split.message), split.val)
    edges_known = model.method_.score_links(model.encoded_, split.val)
    assert not torch.allclose(hidden, edges_known)
    negative = model.method_.score_links(model.method_.encode(split.message), split.val_negatives)
    from mgae.evaluation.calibration import Calibration

    assert predictor.calibration == Calibration.fit(hidden.numpy(), negative.numpy())


@pytest.fixture(scope="module")
def own() -> Predictor:
    settings = {**OWN, "split__val_ratio": 0.2, "features__use": "always"}
    return mgae.MGAE(**settings).fit(named(num_edges=60)).predictor()


def test_recommendations_come_from_shortlists_and_are_filled_up_from_all_nodes(
    own: Predictor,
) -> None:
    assert not own.ranks_all()
    own.method.evidence.count = 1  # of several scores the best tail each
    encoded = own.method.encode(MessageGraph.of(own.graph))
    listed = own.method.shortlist(encoded, torch.tensor([4]))
    order = torch.argsort(-listed.scores)[:2]
    short = len(listed.tail)
    assert 2 <= short < 8
    result = own.recommend("n4", 2)
    assert [r.node for r in result] == [f"n{tail}" for tail in listed.tail[order].tolist()]
    assert [r.score for r in result] == pytest.approx(listed.scores[order].tolist(), abs=1e-5)
    filled = own.recommend("n4", short + 1)
    assert filled == own.recommend("n4", short + 1, exact=True)
    assert len(filled) == short + 1
    everyone = own.recommend("n4", 20, exclude_known=False)
    assert {r.node for r in everyone} == set(own.node_ids) - {"n4"}


def test_what_ranks_has_a_probability_of_its_own(own: Predictor) -> None:
    assert own.calibrations is not None
    links, ranks = own.calibrations.links, own.calibrations.recommended
    for r in own.recommend("n4", 5):
        assert r.probability == pytest.approx(ranks.probability(np.array([r.score]))[0], abs=1e-6)
    falling = [r.probability for r in own.recommend("n4", 10)]
    assert falling == sorted(falling, reverse=True)
    rows = pa.Table.from_batches(own.recommend_all(3)).to_pylist()
    assert [row["probability"] for row in rows] == pytest.approx(
        ranks.probability(np.array([row["score"] for row in rows])), abs=1e-6
    )
    scored = own.score_links([("n4", "n9"), ("n1", "n2")])
    assert scored.balanced_probability == pytest.approx(links.probability(scored.logit))


@pytest.mark.parametrize("name", [entry.name for entry in METHODS])
def test_every_method_recommends_or_says_why_not(name: str) -> None:
    data, config = named(), RunConfig(graph="toy", method=name)
    method = build_method(config, MessageGraph.of(data), Generators(0)["init"])
    predictor = Predictor(method, config, data)
    encoded, heads, tails = method.encode(MessageGraph.of(data)), *torch.tensor([[2, 5], [9, 3]])
    pairs = torch.cartesian_prod(heads, tails).t()
    torch.testing.assert_close(
        method.score_tails(encoded, heads, tails).flatten(), method.rank_links(encoded, pairs)
    )
    result = predictor.recommend("n3", 4)
    assert len(result) == 4 and all(np.isnan(r.probability) for r in result)
    assert predictor.notes == ["the run has no validation edges: its scores have no probabilities"]
    try:
        assert len(predictor.recommend("n3", 4, exact=False)) == 4
    except UnsupportedError as error:
        assert "has no node embeddings" in str(error)


def test_the_weights_load_into_plain_modules(predictor: Predictor, run: Path) -> None:
    weights = load_file(run / "model.safetensors")
    assert set(weights) == set(predictor.method.state_dict())
    encoder, decoder = predictor.method.encoder, predictor.method.decoder
    assert isinstance(encoder, torch.nn.Module) and isinstance(decoder, torch.nn.Module)
    with torch.no_grad():
        layers = encoder(MessageGraph.of(predictor.graph), None)
        one, other = (decoder(layers, torch.tensor(p), None) for p in ([[0], [9]], [[9], [0]]))
    expected = predictor.score_links([("n0", "n9")]).logit
    assert ((one + other) / 2).numpy() == pytest.approx(expected, abs=1e-6)


def test_of_several_runs_one_is_chosen(tmp_path: Path) -> None:
    path = ran(tmp_path / "two", named(), runs=2, seed=5)
    first, second = Predictor.load(path), Predictor.load(path, run=1)
    assert (first.config.seed, second.config.seed) == (5, 6)
    assert not np.array_equal(first.embed(), second.embed())
    np.testing.assert_array_equal(Predictor.load(path / "seed-6").embed(), second.embed())
    with pytest.raises(RunDirectoryError, match="has the runs 0 to 1, got 2"):
        Predictor.load(path, run=2)


def test_a_run_that_is_not_finished_or_damaged_is_named(tmp_path: Path) -> None:
    path = ran(tmp_path / "run", named())
    with pytest.raises(RunDirectoryError, match=r"no config\.toml"):
        Predictor.load(tmp_path)
    text = (path / "config.toml").read_text()
    (path / "config.toml").write_text(text.replace("hidden_channels = 4", "hidden_channels = 5"))
    with pytest.raises(RunDirectoryError, match=r"config\.toml is damaged"):
        Predictor.load(path)
    (path / "manifest.json").unlink()
    with pytest.raises(RunDirectoryError, match=r"cannot read .*model\.safetensors: ") as caught:
        Predictor.load(path)
    assert "\n" not in str(caught.value)
    (path / "metrics.json").unlink()
    with pytest.raises(RunDirectoryError, match="not finished: go on with mgae train --resume"):
        Predictor.load(path)


def test_wrong_questions_are_one_line(predictor: Predictor) -> None:
    with pytest.raises(GraphError, match=r"unknown node 'n77': .*20 nodes \(did you mean n7"):
        predictor.recommend("n77")
    with pytest.raises(ConfigError, match="k must be an integer ≥ 1, got 0"):
        predictor.recommend("n1", k=0)
    with pytest.raises(ConfigError, match="k must be"):
        list(predictor.recommend_all(k=0))
    with pytest.raises(GraphError, match="a pair must be two ids"):
        predictor.score_links([("n1", "n2", "n3")])  # type: ignore[list-item]


def test_what_was_learned_from_all_edges_is_served_and_the_rest_is_measured(tmp_path: Path) -> None:
    train = {"epochs": 1, "final_fit": True}
    split = {"val_ratio": 0.2, "test_ratio": 0.2}
    mgae.run(
        RunConfig(graph="toy", method=QUICK, train=train, split=split),
        toy_data(40, 120),
        tmp_path / "run",
    )
    final, model = (
        load_file(tmp_path / "run" / f"{name}.safetensors") for name in ("final", "model")
    )
    assert not torch.equal(*(weights["evidence.link.hidden.weight"] for weights in (final, model)))
    # What each source counts was chosen on the split, and stays.
    assert all(torch.equal(final[key], model[key]) for key in ("link_weights", "rank_weights"))
    served = Predictor.load(tmp_path / "run").method.state_dict()
    assert all(torch.equal(served[key], final[key]) for key in final)
    (tmp_path / "run" / "final.safetensors").unlink()
    with pytest.raises(RunDirectoryError, match=r"final\.safetensors"):
        Predictor.load(tmp_path / "run")


def test_recommendations_go_on_after_a_stop(predictor: Predictor, tmp_path: Path) -> None:
    whole = pa.Table.from_batches(predictor.recommend_all(3))
    heads, asked = torch.arange(predictor.num_nodes), list[int]()
    out = tmp_path / "links.parquet"

    def batches(start: int, stop: int | None = None):
        asked.append(start)
        for number in range(start, len(heads)):
            if number == stop:
                raise KeyboardInterrupt
            yield from predictor.recommend_from(number, heads[: number + 1], 3)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resumable, "_HEADS", 4)
        with pytest.raises(KeyboardInterrupt):
            resumable.write_in_parts(out, {"k": 3}, len(heads), lambda start: batches(start, 10))
        assert not out.exists()
        rows, before = resumable.write_in_parts(out, {"k": 3}, len(heads), batches)
        assert (rows, before, asked) == (whole.num_rows, 8, [0, 8])
        assert pq.read_table(out).equals(whole)
        assert [file.name for file in tmp_path.iterdir()] == ["links.parquet"]
        with pytest.raises(KeyboardInterrupt):
            resumable.write_in_parts(out, {"k": 3}, len(heads), lambda start: batches(start, 10))
        assert resumable.write_in_parts(out, {"k": 2}, len(heads), batches)[1] == 0
