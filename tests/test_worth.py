"""The figures of `make bench-worth` by hand, what a method gets to see, and what a rerun skips."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from benchmarks import worthcells, worthgraphs
from benchmarks.worthfigures import (
    EITHER,
    Scores,
    figures,
    official_figures,
    recall_and_ndcg,
    recalls,
)
from benchmarks.worthgraphs import Variant, bipartite, draw, hide_edges
from benchmarks.worthmethods import ROWS, Row, configure, fit
from benchmarks.worthreport import Entry, leads, rank, restore, write_report
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from mgae.core.graph import MessageGraph
from mgae.core.seeding import Generators
from mgae.data import checked
from mgae.data.atomic import write_tensors
from mgae.evaluation.ranking import recall_at


def graph_of(edges: list[tuple[int, int]], num_nodes: int) -> Data:
    index = torch.tensor(edges).t()
    return checked(Data(edge_index=torch.cat([index, index.flip(0)], dim=1), num_nodes=num_nodes))


def random_graph(seed: int, num_nodes: int = 40, chance: float = 0.15) -> Data:
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.rand(num_nodes, num_nodes, generator=generator).triu(1) > 1 - chance
    ring = [(node, (node + 1) % num_nodes) for node in range(num_nodes)]
    return graph_of([*ring, *drawn.nonzero().tolist()], num_nodes)


def pair_set(pairs: Tensor) -> set[tuple[int, ...]]:
    return {tuple(sorted(pair)) for pair in pairs.t().tolist()}


def test_recall_of_either_and_both_ends_by_hand() -> None:
    # Left is 0-1 and 2-3; of node 0 may be offered 2, 3 and 4, of node 4 all others.
    message = MessageGraph.of(graph_of([(0, 1), (2, 3)], 5))
    scores = torch.tensor(
        [
            [9.0, 9.0, 3.0, 2.0, 1.0],  # 0: 2 before 3 before 4
            [0.0, 0.0, 0.0, 0.0, 0.0],
            [1.0, 5.0, 9.0, 9.0, 4.0],  # 2: 1 before 4 before 0
            [0.0, 0.0, 0.0, 0.0, 0.0],
            [7.0, 1.0, 1.0, 7.0, 9.0],  # 4: 0 and 3 are equal
        ]
    )
    edges = torch.tensor([[0, 4], [2, 0]])  # 0-2: 0 finds it; 4-0: 4 does every second time
    either, both = recalls(1, scores.__getitem__, message, edges)
    assert either == pytest.approx((1 + 0.5) / 2)
    assert both == pytest.approx((1 + 0 + 0.5 + 0) / 4)


def test_recall_of_both_ends_is_the_product_s_own() -> None:
    task = draw(random_graph(0), "g", "g", 0)
    scores = fit(configure(ROWS["random-init"], "g", 0), task.graph).scores
    message = MessageGraph.of(task.graph)
    _, both = recalls(3, scores.tails, message, task.hidden)
    own = recall_at(3, scores.predictor.method, scores.encoded, message, task.hidden)
    assert both == pytest.approx(own)


def test_only_the_other_side_of_a_bipartite_graph_is_ranked() -> None:
    graph = bipartite(torch.tensor([[0, 0, 1], [0, 1, 1]]))  # users 0, 1; items 2, 3
    hidden = torch.tensor([[1], [2]])
    either, both = recalls(
        1, lambda heads: torch.zeros(len(heads), 4), MessageGraph.of(graph), hidden, graph.side
    )
    assert either == both == 1.0  # nothing else is left


def test_ndcg_by_hand() -> None:
    hits = np.array([False, True, True, False])
    recall, ndcg = recall_and_ndcg(hits, wanted=3)
    gain = [1 / math.log2(rank + 1) for rank in (1, 2, 3)]
    assert recall == pytest.approx(2 / 3)
    assert ndcg == pytest.approx((gain[1] + gain[2]) / sum(gain))
    assert recall_and_ndcg(np.array([True, True]), wanted=5) == (2 / 5, 1.0)


@pytest.mark.parametrize("listed", [False, True])
def test_official_figures_leave_out_known_items_and_users_without_a_test(listed: bool) -> None:
    known = MessageGraph.of(bipartite(torch.tensor([[0, 1, 1], [0, 0, 1]]), (2, 30)))
    rows = torch.arange(30, 0, -1).float().expand(2, 30)  # item 0 is the best, then 1, ...
    every = torch.cat([torch.zeros(2, 2), rows], dim=1)  # users score too, in a shortlist's row
    scores: Any = SimpleNamespace(
        tails=lambda heads, nodes=slice(None): every[heads][:, nodes], listed=listed
    )
    test = torch.tensor([[0, 0], [2 + 2, 2 + 29]])  # the second of what is left, and the last
    result = official_figures(scores, known, 2, test)
    ideal = 1 + 1 / math.log2(3)
    assert result == {"recall@20": 0.5, "ndcg@20": pytest.approx(1 / math.log2(3) / ideal)}


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_hidden_edges_leave_every_node_an_edge(seed: int) -> None:
    graph = random_graph(seed, num_nodes=25, chance=0.05)
    whole = MessageGraph.of(graph)
    hidden = hide_edges(whole, Generators(seed)["split"])
    left = worthgraphs.remaining(graph, hidden)
    assert hidden.size(1) == whole.pairs.size(1) // 10
    assert not pair_set(left.edge_index) & pair_set(hidden)
    assert pair_set(left.edge_index) | pair_set(hidden) == pair_set(whole.pairs)
    assert torch.bincount(left.edge_index[0], minlength=25).min() >= 1


def test_a_star_has_nothing_to_hide() -> None:
    star = MessageGraph.of(graph_of([(0, leaf) for leaf in range(1, 20)], 20))
    assert hide_edges(star, Generators(0)["split"]).size(1) == 0


@pytest.mark.parametrize("two_sides", [False, True])
def test_no_edge_is_among_the_negatives(two_sides: bool) -> None:
    graph = random_graph(1)
    if two_sides:
        graph = bipartite(
            (torch.rand(30, 40, generator=Generators(0)["split"]) > 0.8).nonzero().t()
        )
    task = draw(graph, "g", "g", 0)
    true = pair_set(graph.edge_index)
    hard = task.hard.flatten(1)
    hard = hard[:, hard[0] >= 0]
    assert task.negatives.size(1) == task.hidden.size(1) == len(pair_set(task.negatives))
    assert hard.numel() and task.hard.shape == (2, task.ranked.size(1), 100)
    for pairs in (task.negatives, hard):
        assert not pair_set(pairs) & true
        assert (pairs[0] != pairs[1]).all()
        if two_sides:
            assert (graph.side[pairs[0]] != graph.side[pairs[1]]).all()


def test_a_method_gets_the_remaining_edges_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    given_edges: list[set[tuple[int, ...]]] = []
    real = MessageGraph.of.__func__  # type: ignore[attr-defined]

    def spy(cls: type[MessageGraph], graph: Data) -> MessageGraph:
        given_edges.append(pair_set(graph.edge_index))
        return real(cls, graph)

    task = draw(random_graph(2), "g", "g", 0)
    monkeypatch.setattr(MessageGraph, "of", classmethod(spy))
    row = ROWS["gae"]
    changes = row.changes | {"train": {"epochs": 2}}
    for one in (ROWS["katz"], Row(row.title, row.kind, changes)):
        given_edges.clear()
        scores = fit(configure(one, "g", 0), task.graph).scores
        assert given_edges and not any(edges & pair_set(task.hidden) for edges in given_edges)
        assert scores.predictor.graph.get("test_edges") is None
        values = figures(scores, task)
        assert all(0 <= value <= 100 for value in values.values())


def test_a_refusal_of_many_heads_is_asked_in_parts() -> None:
    task = draw(random_graph(3), "g", "g", 0)
    scores = fit(configure(ROWS["l3"], "g", 0), task.graph).scores
    pairs = torch.randint(40, (2, 3000), generator=Generators(0)["split"])
    whole = Scores.links(scores, pairs)
    method = scores.predictor.method
    limit = 15 * scores.encoded.nnz * 2
    real = method._require_affordable
    method._require_affordable = lambda products: real(10**12 if products > limit else 0)  # type: ignore[method-assign,operator,assignment]
    assert torch.equal(scores.links(pairs), whole)


def store_whole(folder: Path) -> None:
    """Put a small graph where the benchmark keeps those that it has read."""
    graph = random_graph(5)
    tensors = {"edge_index": graph.edge_index, "num_nodes": torch.tensor(graph.num_nodes)}
    (folder / "inputs").mkdir()
    write_tensors(folder / "inputs" / "power.safetensors", tensors)


def test_a_rerun_skips_the_cells_that_are_there(tmp_path: Path) -> None:
    store_whole(tmp_path)
    cells = [
        worthcells.Cell("power", name, 0, Variant("power")) for name in ("katz", "raw-features")
    ]
    assert worthcells.run_cells(cells, tmp_path, minutes=2) == 2
    first = {cell.method: json.loads(cell.path(tmp_path).read_text()) for cell in cells}
    assert first["katz"]["status"] == "ok" and first["katz"]["settings"]["protocol"] == "strict"
    assert first["katz"]["figures"].keys() >= {"auc", EITHER}
    assert first["raw-features"]["status"] == "refused"
    assert worthcells.run_cells(cells, tmp_path, minutes=2) == 0
    cells[0].path(tmp_path).unlink()
    assert worthcells.run_cells(cells, tmp_path, minutes=2) == 1
    assert json.loads(cells[0].path(tmp_path).read_text())["figures"] == first["katz"]["figures"]


def test_a_cell_that_takes_too_long_says_so(tmp_path: Path) -> None:
    store_whole(tmp_path)
    cell = worthcells.Cell("power", "katz", 0, Variant("power"))
    worthcells.prepare(Variant("power"), 0, tmp_path)
    worthcells.run_cells([cell], tmp_path, minutes=0)
    stored = json.loads(cell.path(tmp_path).read_text())
    assert (stored["status"], stored["reason"]) == ("failed", "took longer than 0 minutes")


def test_ours_is_compared_on_shared_seeds_and_not_ranked_alone() -> None:
    ours = Entry({"auc": {0: 90.0, 1: 96.0}}, [1.0, 1.0])
    katz = Entry({"auc": {1: 94.0}}, [1.0])  # above the mean of ours, 93, yet below it on seed 1
    assert leads({"ours": ours, "katz": katz}, "auc") == {"katz": 2.0}
    assert rank({"ours": ours, "katz": katz}, "auc") == 1
    assert rank({"ours": ours, "evidence": katz}, "auc") is None
    assert leads({"ours": ours, "katz": Entry({"auc": {2: 94.0}}, [1.0])}, "auc") == {}


def test_the_report_of_a_few_cells(tmp_path: Path) -> None:
    def store(method: str, seed: int, auc: float, recall: float) -> None:
        values = {"auc": auc, "ap": 90.0, EITHER: recall, "recall@10 both": 40.0, "hard_mrr": 10.0}
        cell = worthcells.Cell("power", method, seed)
        seconds = {"fit": 1.0, "predict": 0.5}
        path = cell.path(tmp_path)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(cell.record("ok", figures=values, seconds=seconds)))

    for seed, extra in enumerate((0.0, 1.0)):
        store("ours", seed, 94.0 + extra, 50.0 + extra)
        store("evidence", seed, 92.0 + extra, 50.5)
        store("katz", seed, 95.0, 40.0)
    refused = worthcells.Cell("power", "netmf", 0)
    refused.path(tmp_path).write_text(json.dumps(refused.record("refused", reason="too large")))

    paths = write_report(tmp_path, tmp_path / "out")
    assert [path.name for path in paths] == ["worth.json", "worth.md", "worth.png"]
    assert all(path.stat().st_size for path in paths)
    result = json.loads(paths[0].read_text())["summary"]
    against = result["against"]["power"]
    assert (against["auc"]["best"], against["auc"]["within"]) == ("katz", False)
    assert against["auc"]["difference"] == pytest.approx(-0.5)
    assert result["strictly_best_in_recall"] == result["graphs"] == 1
    assert result["mean_rank"] == pytest.approx((2 + 1 + 1) / 3)
    assert result["network_adds"]["power"]["auc"] == {"mean": 2.0, "std": 0.0, "beyond": True}
    text = paths[1].read_text()
    assert "| power | AUC | 94.5 | katz 95.0 | −0.5 | −0.3: **no** |" in text
    assert "| **95.0 ± 0.0** | **90.0 ± 0.0** | 40.0 ± 0.0 |" in text
    assert "refused: too large" in text
    # A report can be gone on from: it has all cells.
    again = tmp_path / "again"
    assert restore(paths[0], again) == 7 and restore(paths[0], again) == 0
    (same, *_) = write_report(again, again / "out")
    assert same.read_text() == paths[0].read_text()
