from __future__ import annotations

from pathlib import Path

import torch
from torch_geometric.data import Data

from mgae.data import checked, load_graph
from mgae.data.inspection import degrees, inspect_graph, plot_degrees, suggestion
from tests.conftest import toy_data


def path_and_loner() -> Data:
    """0 - 1 - 2 and 3 by itself."""
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    return checked(Data(edge_index=edges, num_nodes=4, y=torch.tensor([0, 1, -1, 1])))


def test_a_path_and_a_loner_are_counted() -> None:
    result = inspect_graph(path_and_loner())
    assert (result["nodes"], result["edges"], result["isolated"]) == (4, 2, 1)
    assert (result["components"], result["largest_component"]) == (2, 3)
    assert result["degree"] == {"min": 0, "median": 1.0, "mean": 1.0, "max": 2}
    assert (result["directed"], result["weighted"], result["unlabeled"]) == (False, False, 1)
    assert result["split"] is None


def test_in_a_directed_graph_both_ends_count() -> None:
    graph = checked(Data(edge_index=torch.tensor([[0, 0], [1, 2]]), num_nodes=3))
    assert degrees(graph).tolist() == [2, 1, 1]


def test_the_papers_rule_for_the_mask() -> None:
    assert suggestion(toy_data())["mask"] == "directed"
    assert suggestion(toy_data(num_nodes=40, num_edges=500))["mask"] == "undirected"


def test_official_splits_are_counted() -> None:
    assert inspect_graph(load_graph("cora"))["split"] == {
        "train_nodes": 140,
        "val_nodes": 500,
        "test_nodes": 1000,
    }
    graph = path_and_loner()
    graph.val_edges = graph.test_edges = torch.tensor([[0], [2]])
    graph.val_negatives = graph.test_negatives = torch.tensor([[0, 1], [3, 3]])
    assert inspect_graph(graph)["split"] == {
        "train_edges": 2,
        "val_edges": 1,
        "test_edges": 1,
        "val_negatives": 2,
        "test_negatives": 2,
    }


def test_the_plot_is_a_picture(tmp_path: Path) -> None:
    plot_degrees(toy_data(), tmp_path / "degrees.png")
    assert (tmp_path / "degrees.png").read_bytes().startswith(b"\x89PNG")
