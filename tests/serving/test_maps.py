"""Places and groups, worked out by hand where that can be done."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from mgae.core.errors import UnsupportedError
from mgae.data import checked
from mgae.serving.maps import MOST_GROUPS, draw_map, spread
from mgae.serving.templates import palette
from tests.conftest import toy_data


def two_triangles(**more: object) -> Data:
    """0–1–2 and 3–4–5, joined by 2–3; node 6 is alone."""
    edges = torch.tensor([[0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3]])
    return checked(Data(edge_index=torch.cat([edges, edges.flip(0)], 1), num_nodes=7, **more))


def test_the_first_axis_is_the_direction_of_the_largest_variance() -> None:
    # On the unit circle at -40°, 0°, 40°: much across, little along.
    angles = np.deg2rad([-40.0, 0.0, 40.0])
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    data = Data(edge_index=torch.empty(2, 0).long(), y=torch.tensor([0, 0, 1]), num_nodes=3)
    result = draw_map(5.0 * rows, data, 10, seed=0)
    np.testing.assert_allclose(result.xy[:, 0], [0, 0.5, 1], atol=1e-12)
    np.testing.assert_allclose(result.xy[:, 1], [0, 1, 0], atol=1e-12)


def test_only_the_direction_of_an_embedding_counts() -> None:
    data, rows = toy_data(), np.random.default_rng(0).normal(size=(20, 5))
    longer = rows * np.linspace(1, 100, 20)[:, None]
    one, other = (draw_map(values, data, 50, seed=0).xy for values in (rows, longer))
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_an_embedding_of_one_number_and_one_of_zeros_have_a_map() -> None:
    data = toy_data()
    for rows in (np.ones((20, 1)), np.zeros((20, 4))):
        result = draw_map(rows, data, 50, seed=0)
        assert result.xy.shape == (20, 2)
        assert np.isfinite(result.xy).all()


def test_classes_are_numbered_by_size_and_a_node_without_one_has_no_group() -> None:
    graph = two_triangles(y=torch.tensor([4, 2, 2, 2, 4, -1, 9]), class_names=None)
    result = draw_map(np.eye(7), graph, 50, seed=0)
    assert result.grouping == "class"
    assert result.names == ["class 2", "class 4", "class 9"]
    assert result.groups.tolist() == [1, 0, 0, 0, 1, -1, 2]


def test_classes_are_called_by_their_names() -> None:
    graph = two_triangles(y=torch.tensor([0, 1, 1, 1, 0, 1, 1]))
    graph.class_names = ["fish", "fowl"]
    assert draw_map(np.eye(7), graph, 50, seed=0).names == ["fowl", "fish"]


def test_without_classes_communities_are_found() -> None:
    result = draw_map(np.eye(7), two_triangles(), 50, seed=0)
    assert result.grouping == "community"
    assert result.groups.tolist() == [0, 0, 0, 1, 1, 1, -1]


def test_a_large_graph_is_sampled_and_clustered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mgae.serving.maps._LOUVAIN_EDGES", 10)
    data = toy_data(num_nodes=100, num_edges=200)
    data.y = None
    rows = np.random.default_rng(0).normal(size=(100, 5))
    result = draw_map(rows, data, 30, seed=0)
    assert result.grouping == "cluster"
    assert len(result.nodes) == len(result.xy) == len(result.groups) == 30
    assert (result.nodes == spread(100, 30)).all()


def test_of_many_groups_the_largest_have_a_color() -> None:
    many = Data(edge_index=torch.empty(2, 0).long(), y=torch.arange(30) // 2, num_nodes=30)
    result = draw_map(np.eye(30), many, 50, seed=0)
    assert len(result.names) == MOST_GROUPS
    assert (result.groups == -1).sum() == 30 - 2 * MOST_GROUPS


def test_every_group_has_a_color_in_both_schemes() -> None:
    text = palette()
    for group in range(MOST_GROUPS + 1):
        assert text.count(f"--g{group}:") == 2


@pytest.mark.skipif(importlib.util.find_spec("umap") is not None, reason="umap is installed")
def test_umap_that_is_missing_is_named() -> None:
    with pytest.raises(UnsupportedError, match="pip install umap-learn"):
        draw_map(np.eye(60), toy_data(num_nodes=60), 60, seed=0, projection="umap")


def test_a_handful_of_nodes_is_placed_by_pca() -> None:
    result = draw_map(np.eye(7), two_triangles(), 50, seed=0, projection="umap")
    assert result.projection == "pca"
