"""A graph from three plain tables."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from mgae.core.errors import GraphError
from mgae.data.datasets.plaintables import read_tables


def write(folder: Path, sources: list[str]) -> None:
    targets = ["b", "c"][: len(sources)]
    with pa.CompressedOutputStream(str(folder / "edges.csv.gz"), "gzip") as stream:
        csv.write_csv(pa.table({"source": sources, "target": targets}), stream)
    features = pa.table({"id": ["c", "a", "b"], "f0": [1.0, 0.0, 0.0], "f1": [0.0, 2.0, 0.0]})
    pq.write_table(features, folder / "features.parquet")
    csv.write_csv(pa.table({"id": ["a", "b"], "label": [6, 2]}), folder / "labels.csv")


def test_by_hand_nodes_are_in_the_order_of_their_features(tmp_path: Path) -> None:
    write(tmp_path, ["a", "b"])
    graph = read_tables(tmp_path)
    assert graph.node_ids == ["c", "a", "b"]
    assert graph.edge_index.tolist() == [[1, 2, 2, 0], [2, 0, 1, 2]]
    assert graph.x.tolist() == [[1, 0], [0, 2], [0, 0]]
    assert graph.y.tolist() == [-1, 1, 0], "the second class is 6, and c has none"


def test_an_id_without_features_is_refused(tmp_path: Path) -> None:
    write(tmp_path, ["a", "x"])
    with pytest.raises(GraphError, match="an id has no features"):
        read_tables(tmp_path)
