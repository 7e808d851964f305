"""Negatives of the user's own, from the file to training and figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from mgae.core.errors import GraphError
from mgae.core.negatives import InformedSampler, NegativeSampler
from mgae.data.io.options import InputSettings
from mgae.data.opening import read_graph
from mgae.data.splits.hard import with_hard_negatives
from mgae.data.splits.known import is_known, with_known_negatives
from mgae.data.splits.links import split_links
from mgae.runs.config import RunConfig
from mgae.runs.pipeline import evaluate, run
from mgae.serving import Predictor
from tests.cli.test_serving import call
from tests.conftest import toy_edges, toy_graph


def known_pairs(count: int = 40, nodes: int = 30) -> torch.Tensor:
    """Pairs of nodes with edges that the toy graph of seed 0 does not have."""
    edges, others = toy_edges(nodes, 200, 0).split([60, 140], dim=1)
    return others[:, torch.isin(others, edges).all(dim=0)][:, :count]


def test_known_negatives_are_divided_as_the_edges_are(generator: torch.Generator) -> None:
    graph, known = toy_graph(num_nodes=30, num_edges=60), known_pairs()
    first = split_links(graph, 0.1, 0.2, generator)
    split = with_known_negatives(first, known, (0.1, 0.2), generator)
    counts = [int(is_known(split.pairs(part)[1], known, 30).sum()) for part in ("val", "test")]
    assert counts == [4, 8]
    assert split.test_negatives.size(1) <= first.test_negatives.size(1)
    trained = split.message.known_negatives
    assert trained is not None and trained.size(1) == 2 * 28  # both orders
    held_out = torch.cat([split.val_negatives, split.test_negatives], dim=1)
    assert not is_known(held_out, trained, 30).any()


def test_known_negatives_of_a_part_are_among_its_hard_ones(generator: torch.Generator) -> None:
    graph, known = toy_graph(num_nodes=30, num_edges=60), known_pairs()
    split = split_links(graph, 0.1, 0.2, generator)
    split = with_known_negatives(split, known, (0.1, 0.2), generator)
    own = split.test_negatives[:, is_known(split.test_negatives, known, 30)]
    tested = split.pairs("test")[0]
    shared = own[:, torch.isin(own, tested).any(dim=0)]
    assert shared.size(1) > 2
    seed = torch.Generator().manual_seed(0)
    with_own = with_hard_negatives(split, 16, seed, known=known).test_hard_negatives
    assert with_own is not None
    listed = with_own.flatten(1)
    assert is_known(shared, listed[:, listed[0] >= 0], 30).all()
    seed = torch.Generator().manual_seed(0)
    without = with_hard_negatives(split, 16, seed).test_hard_negatives
    assert without is not None and not torch.equal(without, with_own)


def test_the_sampler_draws_known_pairs_as_often_as_there_are() -> None:
    graph = toy_graph(num_nodes=30, num_edges=60)
    known = torch.cat([known_pairs(5), known_pairs(5).flip(0)], dim=1)
    sampler = InformedSampler(graph.edge_keys, 30, known=known)
    generator = torch.Generator().manual_seed(0)
    pairs = torch.cat([sampler.sample(50, generator) for _ in range(200)], dim=1)
    share = float(is_known(pairs, known, 30).float().mean())
    by_chance = 5 / (30 * 29 / 2 - 60)
    assert share == pytest.approx(0.2 + 0.8 * by_chance, abs=0.02)
    assert not NegativeSampler.of(graph).is_taken(pairs).any()
    tails = sampler.sample_tails(known[0].repeat(100), 2, generator)
    first = torch.stack([known[0].repeat(100), tails[:, 0]])
    assert 0.45 < float(is_known(first, known, 30).float().mean()) < 0.65


def written(folder: Path, negatives: str) -> InputSettings:
    edges = "\n".join(f"n{u},n{v}" for u, v in toy_edges(30, 60, 0).t().tolist())
    (folder / "edges.csv").write_text(f"source,target\n{edges}\n", encoding="utf-8")
    (folder / "not.csv").write_text(negatives, encoding="utf-8")
    return InputSettings(negatives=str(folder / "not.csv"))


def test_a_run_with_known_negatives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = "\n".join(f"n{u},n{v}" for u, v in known_pairs().t().tolist())
    settings = written(tmp_path, f"person_a,person_b\n{lines}\n")
    config = RunConfig(
        graph=str(tmp_path / "edges.csv"),
        input=settings.model_dump(exclude_none=True),
        method="mgae",
        encoder={"hidden_channels": 8},
        decoder={"hidden_channels": 8},
        split={"test_ratio": 0.2},
        train={"epochs": 3},
        evaluation={"heuristics": ("common-neighbors",)},
    )
    result = run(config, out=tmp_path / "run")
    assert 0 <= result.test["known_auc"].mean <= 100
    assert "known_auc" in result.heuristics["common-neighbors"]
    again = evaluate(tmp_path / "run").test["known_auc"].mean
    assert again == pytest.approx(result.test["known_auc"].mean)
    predictor = Predictor.load(tmp_path / "run")
    for u, v in known_pairs().t().tolist():
        assert f"n{v}" not in {link.node for link in predictor.recommend(f"n{u}", 29)}
    given = ("--negatives", tmp_path / "not.csv", "--json")
    _, out, _ = call(capsys, "inspect", tmp_path / "edges.csv", *given)
    assert "40 pairs known to be no edges" in json.loads(out)["notes"][-1]


WRONG = {
    "nobody": ("n1,nobody\n", "line 1: nobody is no node of the graph"),
    "another way": ("n1,N2\n", r"N2 is no node of the graph \(1 id written .* N2 is n2 there\)"),
}


@pytest.mark.parametrize("case", WRONG)
def test_unknown_ids_are_refused(tmp_path: Path, case: str) -> None:
    content, message = WRONG[case]
    with pytest.raises(GraphError, match=message):
        read_graph(tmp_path / "edges.csv", written(tmp_path, content))


def test_an_edge_is_no_negative(tmp_path: Path) -> None:
    u, v = toy_edges(30, 60, 0)[:, 0].tolist()
    with pytest.raises(GraphError, match=f"n{v} and n{u} are joined by an edge"):
        read_graph(tmp_path / "edges.csv", written(tmp_path, f"n{v},n{u}\n"))
