"""A prepared folder from training to answers: the same as from a file, and refused if changed."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from mgae.core.errors import ConfigError, GraphError
from mgae.core.graph import MessageGraph
from mgae.core.ops import blocks
from mgae.data.large import prepare
from mgae.data.opening import open_graph
from mgae.runs.config import RunConfig
from mgae.runs.pipeline import run
from mgae.serving import Predictor

_QUICK = {
    "method": "mgae",
    "encoder": {"hidden_channels": 4, "inputs": "table"},
    "decoder": {"hidden_channels": 4},
    "train": {"epochs": 2, "fanouts": (3, 3), "step_size": 20, "max_steps": 2, "final_fit": False},
    "evaluation": {"heuristics": (), "hard_negatives": 0},
}


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MGAE_CACHE", str(tmp_path / "cache"))
    chance = np.random.default_rng(0)
    rows = [f"n{u},n{v}" for u, v in chance.integers(0, 60, (400, 2))]
    file = tmp_path / "edges.csv"
    file.write_text("\n".join(["source,target", *rows]))
    prepare([file], tmp_path / "graph")
    return file


def test_a_run_on_a_folder_is_that_on_the_file(tmp_path: Path, table: Path) -> None:
    folder, runs = tmp_path / "graph", {}
    for name, graph in (("file", table), ("folder", folder)):
        result = run(RunConfig(graph=str(graph), **_QUICK), out=tmp_path / name)
        runs[name] = result.test["auc"].mean, Predictor.load(tmp_path / name)
    assert runs["folder"][0] == pytest.approx(runs["file"][0], abs=1e-4)
    plain, mapped = (runs[name][1] for name in ("file", "folder"))
    assert mapped.find("n1", 2) == plain.find("n1", 2) and not mapped.knows("n60")
    for node in ("n0", "n59"):
        assert mapped.neighbors(node) == plain.neighbors(node)
        scores = [one.score for one in plain.recommend(node, 3)]
        assert [one.score for one in mapped.recommend(node, 3)] == pytest.approx(scores, abs=1e-5)
    shutil.rmtree(folder)
    table.write_text("source,target\na,b\n")
    prepare([table], folder)
    with pytest.raises(GraphError, match="holds another graph than this run was trained on"):
        Predictor.load(tmp_path / "folder")


def test_a_file_is_damaged_or_an_option_does_not_apply(tmp_path: Path, table: Path) -> None:
    from mgae.data.io.options import InputSettings

    folder = tmp_path / "graph"
    with pytest.raises(ConfigError, match=r"input\.directed is for files"):
        open_graph(folder, InputSettings(directed=True))
    (folder / "pairs.npy").write_bytes(b"")
    with pytest.raises(GraphError, match="damaged"):
        open_graph(folder)


@pytest.mark.parametrize("kind", ["sum_neighbors", "mean_neighbors", "convolve", "smooth"])
def test_blocks_multiply_as_the_whole(tmp_path, table, monkeypatch, kind) -> None:
    monkeypatch.setattr(blocks, "EDGES_AT_ONCE", 7)
    whole, mapped = (MessageGraph.of(open_graph(graph)) for graph in (table, tmp_path / "graph"))
    assert isinstance(mapped.adjacency, blocks.BlockedAdjacency)
    h = torch.randn(whole.num_nodes, 3, generator=torch.Generator().manual_seed(0))
    expected = getattr(whole.adjacency, kind)(h)
    torch.testing.assert_close(getattr(mapped.adjacency, kind)(h), expected)
