"""The strongest links of graphs small enough to see them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from mgae.data import checked
from mgae.reporting.stronglinks import strong_links
from mgae.serving import Predictor
from tests.serving.test_predictor import named, ran


def common_neighbors(
    path: Path, edges: list[tuple[int, int]], nodes: int, **more: Any
) -> Predictor:
    """A predictor whose score is the number of common neighbors."""
    pairs = torch.tensor(edges).t()
    both = pairs if more.get("directed") else torch.cat([pairs, pairs.flip(0)], dim=1)
    data = checked(Data(edge_index=both, num_nodes=nodes))
    data.node_ids = [f"n{number}" for number in range(nodes)]
    split = {"val_ratio": 0.0, "test_ratio": 0.2}
    parts = {"encoder": None, "decoder": None}
    run = ran(path / "run", data, method="common-neighbors", split=split, **parts)
    return Predictor.load(run)


def test_the_pair_with_the_most_common_neighbors_comes_first(tmp_path: Path) -> None:
    # 0 and 1 share 2, 3 and 4; of these, 2 has one more neighbor, 5.
    edges = [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (2, 5)]
    result = strong_links(common_neighbors(tmp_path, edges, 6))
    first = result.links[0]
    assert {first.source, first.target} == {"n0", "n1"}
    assert first.score == 3
    assert first.shared == ["n3", "n4", "n2"]  # the rarest neighbor says most
    assert first.num_shared == 3
    # Two steps apart: 0–1, 2–3, 2–4, 3–4, 0–5, 1–5.
    assert result.num_scored == result.num_candidates == 6
    assert all(link.shared for link in result.links)


def test_a_node_stands_in_two_links_at_most(tmp_path: Path) -> None:
    star = [(0, leaf) for leaf in range(1, 8)]
    result = strong_links(common_neighbors(tmp_path, star, 8))
    ends = [end for link in result.links for end in (link.source, link.target)]
    assert result.num_candidates == 21
    assert max(ends.count(end) for end in set(ends)) == 2
    assert len(result.links) == 7


def test_no_link_is_an_edge_already(tmp_path: Path) -> None:
    predictor = Predictor.load(ran(tmp_path / "run", named(num_nodes=30, num_edges=80)))
    links = strong_links(predictor).links
    assert len(links) == 20
    for link in links:
        assert link.target not in predictor.neighbors(link.source)
        assert set(link.shared) <= set(predictor.neighbors(link.source))
        assert set(link.shared) <= set(predictor.neighbors(link.target))
    scores = [link.score for link in links]
    assert scores == sorted(scores, reverse=True)


def test_a_graph_with_too_many_paths_is_sampled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    predictor = Predictor.load(ran(tmp_path / "run", named(num_nodes=40, num_edges=150)))
    everything = strong_links(predictor)
    monkeypatch.setattr("mgae.reporting.stronglinks._MOST_PATHS", 500)
    monkeypatch.setattr("mgae.reporting.stronglinks._MOST_SCORED", 20)
    some = strong_links(predictor)
    assert some.num_scored == 20
    assert some.num_heads < everything.num_heads == 40
    assert 20 < some.num_candidates < everything.num_candidates
    monkeypatch.setattr("mgae.reporting.stronglinks._MOST_SCORED", 10**6)
    every = strong_links(predictor, 10**6)
    pairs = [frozenset((link.source, link.target)) for link in every.links]
    assert len(pairs) == len(set(pairs))


def test_a_graph_without_two_steps_has_no_links(tmp_path: Path) -> None:
    result = strong_links(common_neighbors(tmp_path, [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)], 10))
    assert result.links == []


def test_held_out_edges_of_an_official_split_are_no_news(tmp_path: Path) -> None:
    predictor = Predictor.load(ran(tmp_path / "run", named()))
    before = strong_links(predictor).links
    numbers = {node: number for number, node in enumerate(predictor.node_ids)}
    ends = [(numbers[link.source], numbers[link.target]) for link in before[:4]]
    predictor.fields.val_edges = torch.tensor(ends[:2]).t()
    predictor.fields.test_edges = torch.tensor(ends[2:]).t().flip(0)
    after = {frozenset((link.source, link.target)) for link in strong_links(predictor).links}
    assert not after & {frozenset((link.source, link.target)) for link in before[:4]}
