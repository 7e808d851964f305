"""Features of edges in the messages: by hand, and that they carry a signal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from mgae.core.encoders import GAT, GCN, SAGE
from mgae.core.errors import ConfigError, GraphError
from mgae.core.graph import MessageGraph
from mgae.data import checked
from mgae.data.io.options import InputSettings
from mgae.data.mapped import in_files
from mgae.data.opening import read_graph
from mgae.data.splits.links import joined
from mgae.runs.config import RunConfig
from mgae.runs.pipeline import Observer, run

# 0 – 1 with feature 2, 1 – 2 with feature 4.
EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
FEATURES = torch.tensor([[2.0], [2.0], [4.0], [4.0]])


def small() -> MessageGraph:
    data = Data(x=torch.eye(3), edge_index=EDGES, edge_attr=FEATURES, num_nodes=3)
    return MessageGraph.of(checked(data))


def test_the_mean_of_the_edges_into_a_node_by_hand() -> None:
    graph = small()
    assert graph.edge_means.tolist() == [[2.0], [3.0], [4.0]]
    kept = graph.only(graph.edge_index.amax(dim=0) < 2)
    assert kept.edge_means.tolist() == [[2.0], [2.0], [0.0]]
    more = joined(graph, torch.tensor([[0], [2]]))  # an edge that nothing is known of: 3
    assert more.edge_means.tolist() == [[2.5], [3.0], [3.5]]
    assert in_files(graph).edge_means.equal(graph.edge_means)


@pytest.mark.parametrize("kind", [GCN, SAGE, GAT])
def test_an_encoder_adds_a_map_of_them_to_every_layer(kind: type) -> None:
    graph, options = small(), {"num_layers": 2, "dropout": 0.0, "act": "none"}
    encoder = kind(3, 4, **options, edge_channels=1)
    plain = kind(3, 4, **options)
    plain.load_state_dict({k: v for k, v in encoder.state_dict().items() if "edge_maps" not in k})
    added = encoder.edge_maps[0](graph.edge_means)
    assert torch.allclose(encoder(graph, None)[0], plain(graph, None)[0] + added, atol=1e-6)
    assert not encoder.samplable and plain.samplable


def test_columns_are_read_standardized_and_shared_by_both_directions(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("source,target,km,kg\na,b,1,5\nb,c,3,5\n")
    graph = read_graph(path, InputSettings(edge_features=("km", "kg")))
    assert graph.edge_attr.tolist() == [[-1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]
    assert graph.edge_feature_names == ["km", "kg"]
    path.write_text("source,target,km\na,b,1\nb,c,far\n")
    with pytest.raises(GraphError, match=r"line 3: the edge feature 'km' must be a finite number"):
        read_graph(path, InputSettings(edge_features=("km",)))


class Notes(Observer):
    def __init__(self) -> None:
        self.texts: list[str] = []

    def on_note(self, text: str) -> None:
        self.texts.append(text)


def test_a_method_that_does_not_read_them_says_so_and_sampling_refuses() -> None:
    random = np.random.default_rng(0)
    edges = np.unique(random.integers(0, 20, (60, 2)), axis=0)
    edges = torch.from_numpy(edges[edges[:, 0] < edges[:, 1]]).t()
    both = torch.cat([edges, edges.flip(0)], dim=1)
    data = Data(edge_index=both, edge_attr=torch.ones(both.size(1), 2), num_nodes=20)
    observer = Notes()
    quick = {"evaluation": {"heuristics": [], "hard_negatives": 0}, "train": {"epochs": 1}}
    run(RunConfig(graph="g", method="jaccard", **quick), graph=data, observer=observer)
    assert any(
        "2 features of the edges are not read by method 'jaccard'" in n for n in observer.texts
    )
    quick["train"] = {"epochs": 1, "fanouts": [3, 3]}
    with pytest.raises(ConfigError, match="this encoder needs the whole graph"):
        run(RunConfig(graph="g", **quick), graph=data)
