"""Users and items through the real command line: pairs of one side are never asked about."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest
import torch

from mgae.core.graph import MessageGraph
from mgae.evaluation.metrics import auc
from mgae.runs.config import RunConfig
from mgae.runs.pipeline import run
from mgae.runs.rundirectory import RunDirectory
from mgae.serving import Predictor
from tests.cli.test_serving import call
from tests.cli.test_train import SMALL, mgae

GROUPS, USERS, ITEMS = 3, 60, 45


def purchases(seed: int = 0) -> list[tuple[int, int]]:
    """Users mostly choose among the items of their group; both are numbered from 0."""
    random = np.random.default_rng(seed)
    chance = np.where(np.arange(USERS)[:, None] % GROUPS == np.arange(ITEMS) % GROUPS, 0.35, 0.03)
    return [(int(u), int(i)) for u, i in np.argwhere(random.random((USERS, ITEMS)) < chance)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on users and items that have the same numbers."""
    folder = tmp_path_factory.mktemp("twosides")
    rows = "".join(f"{user},{item}\n" for user, item in purchases())
    (folder / "edges.csv").write_text("source,target\n" + rows)
    wanted = [
        *SMALL,
        "--set",
        "train.epochs=30",
        "--set",
        'evaluation.heuristics=["l3", "adamic-adar"]',
    ]
    done = mgae(
        "train",
        "edges.csv",
        "--bipartite",
        "--method",
        "mgae",
        *wanted,
        "--out",
        "run",
        "--json",
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    (folder / "result.json").write_text(done.stdout)
    return folder


def test_the_printed_auc_is_that_of_pairs_across_the_sides(folder: Path) -> None:
    result = json.loads((folder / "result.json").read_text())
    home = RunDirectory.open(folder / "run").run()
    graph = home.graph()
    assert graph.num_nodes == USERS + ITEMS  # no user became an item
    split, predictor = home.split(graph, MessageGraph.of(graph)), Predictor.load(folder / "run")
    method, encoded = predictor.method, predictor.method.encode(split.message)
    users, items = ((graph.side == number).nonzero().squeeze(1) for number in (0, 1))
    everyone = torch.cartesian_prod(users, items).t()
    known = set(map(tuple, graph.edge_index.t().tolist()))
    free = torch.tensor([pair for pair in everyone.t().tolist() if tuple(pair) not in known]).t()
    positive = method.score_links(encoded, split.test)
    printed = result["test"]["auc"]["mean"]
    drawn = method.score_links(encoded, split.test_negatives)
    assert abs(printed - 100 * auc(positive, drawn)) < 0.1
    # The same among all free user–item pairs, but for the chance of the draw.
    assert abs(printed - 100 * auc(positive, method.score_links(encoded, free))) < 6
    assert bool((graph.side[split.test_negatives].sum(dim=0) == 1).all())


def test_figures_per_user_are_printed_and_no_common_neighbors(folder: Path) -> None:
    result = json.loads((folder / "result.json").read_text())
    assert {"recall@20", "ndcg@20"} <= result["test"].keys()
    assert set(result["heuristics"]) == {"l3", "preferential-attachment"}
    assert result["heuristics"]["l3"]["auc"]["mean"] > 60


@pytest.mark.parametrize("way", ["--exact", "--fast"])
def test_every_recommendation_is_on_the_other_side(
    folder: Path, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = folder / f"{way}.csv"
    call(capsys, "recommend", folder / "run", "--all", "-k", "5", way, "-o", out, "-q")
    rows = pyarrow.csv.read_csv(out)
    kinds = [
        [text.split(":")[0] for text in rows[name].to_pylist()] for name in rows.column_names[:3:2]
    ]
    assert len(rows) == 5 * (USERS + ITEMS)
    assert all({one, other} == {"source", "target"} for one, other in zip(*kinds, strict=True))


def test_pairs_are_scored_by_their_bare_numbers_and_an_unclear_node_is_asked_about(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "pairs.csv").write_text("source,target\n3,3\nsource:4,target:5\n")
    run, out = folder / "run", folder / "scores.csv"
    assert call(capsys, "score", run, folder / "pairs.csv", "-o", out, "-q")[0] == 0
    assert (folder / "scores.csv").read_text().splitlines()[1].startswith('"source:3","target:3"')
    code, _, errors = call(capsys, "recommend", run, "--node", "3")
    assert code == 2 and "did you mean source:3 or target:3?" in errors


def test_movielens_ranks_items_for_users(tmp_path: Path, shared_data: Path) -> None:
    config = RunConfig(
        graph=str(shared_data / "graphs/movielens-1m/valid.csv.gz"),
        method="l3",
        evaluation={"heuristics": [], "hard_negatives": 0, "max_users": 100},
    )
    result = run(config, out=tmp_path / "run")
    predictor = Predictor.load(tmp_path / "run")
    graph, side = predictor.graph, predictor.graph.side
    assert {text[0] for text in np.array(graph.node_ids)[side == 0]} == {"u"}
    split = RunDirectory.open(tmp_path / "run").run().split(graph, MessageGraph.of(graph))
    encoded = predictor.method.encode(split.message)
    scores = [predictor.method.score_links(encoded, pairs) for pairs in split.pairs("test")]
    assert abs(result.test["auc"].mean - 100 * auc(*scores)) < 0.1
    assert bool((side[split.test_negatives].sum(dim=0) == 1).all())
    links = predictor.recommend("u0", 20)
    assert len(links) == 20 and {link.node[0] for link in links} == {"i"}
