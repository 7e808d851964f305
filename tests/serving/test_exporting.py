from __future__ import annotations

import inspect
import shutil
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from mgae.cli.app import main
from mgae.core.errors import ConfigError, RunDirectoryError, UnsupportedError
from mgae.runs.pipeline import run
from mgae.serving import Predictor
from mgae.serving.exporting import hub
from mgae.serving.exporting.forms import FORMS, export
from mgae.serving.exporting.graphfiles import to_networkx
from tests.conftest import QUICK
from tests.runs.test_pipeline import config, data

PAIRS = torch.tensor([[0, 1, 2, 9, 5], [3, 4, 5, 8, 7]])


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the default method."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    run(config(method=QUICK, train={"epochs": 1}), data(), folder)
    return folder


def figures(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """What the programs of torch give, without mgae."""
    encoder, decoder = (torch.export.load(folder / f"{n}.pt2") for n in ("encoder", "decoder"))
    with torch.no_grad():
        z = encoder.module()(torch.from_numpy(np.load(folder / "x.npy")))
        return z.numpy(), decoder.module()(z[PAIRS[0]], z[PAIRS[1]]).numpy()


@pytest.mark.parametrize(
    "changes",
    [
        {"encoder": {"kind": "gcn", "hidden_channels": 8, "inputs": "sketches"}},
        {"encoder": {"kind": "sage", "hidden_channels": 8, "norm": "batch"}},
        {"encoder": {"kind": "gat", "hidden_channels": 8, "act": "prelu"}},
        {
            "encoder": {"kind": "gin", "hidden_channels": 8, "inputs": "table"},
            "decoder": {"hidden_channels": 8, "symmetric": True},
        },
        {"method": "gae", "decoder": {}},
    ],
    ids=["gcn", "sage", "gat", "gin", "gae"],
)
def test_torch_programs_give_the_runs_figures(changes: dict[str, Any], tmp_path: Path) -> None:
    run(config(train={"epochs": 1}, **changes), data(), tmp_path / "run")
    predictor = Predictor.load(tmp_path / "run")
    export(predictor, "torch", tmp_path / "out")
    z, logits = figures(tmp_path / "out")
    np.testing.assert_allclose(z, predictor.embed(), atol=1e-5)
    np.testing.assert_allclose(logits, predictor.score_numbers(PAIRS).logit, atol=1e-5)


def test_onnx_gives_the_runs_figures(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runtime = pytest.importorskip("onnxruntime")
    with pytest.raises(SystemExit) as end:
        main(["export", str(trained), "--to", "onnx", "-o", str(tmp_path / "out"), "-q"])
    assert not end.value.code
    said = capsys.readouterr()
    assert "the logits are the network's alone" in said.err
    names = {"encoder.onnx", "decoder.onnx", "x.npy", "embeddings.parquet"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    predictor = Predictor.load(trained)
    encoder, decoder = (
        runtime.InferenceSession(str(tmp_path / "out" / f"{name}.onnx"))
        for name in ("encoder", "decoder")
    )
    (z,) = encoder.run(["embedding"], {"x": np.load(tmp_path / "out" / "x.npy")})
    np.testing.assert_allclose(z, predictor.embed(), atol=1e-5)
    heads, tails = z[PAIRS[0]], z[PAIRS[1]]
    (logits,) = decoder.run(["logit"], {"heads": heads, "tails": tails})
    network = predictor.method.network  # what the logits are of
    message = predictor.known_edges
    expected = network.score_links(network.encode(message), PAIRS)
    np.testing.assert_allclose(logits, expected, atol=1e-5)


def test_what_has_no_network_is_refused_in_one_line(tmp_path: Path) -> None:
    plain = {"graph": "toy", "method": "adamic-adar", "split": {"seed": "run"}}
    from mgae.runs.config import RunConfig

    run(RunConfig(**plain), data(), tmp_path / "run")
    predictor = Predictor.load(tmp_path / "run")
    with pytest.raises(UnsupportedError, match=r"'adamic-adar' is not.*recommend --all"):
        export(predictor, "onnx", tmp_path / "out")
    with pytest.raises(UnsupportedError, match="has no embeddings to export"):
        export(predictor, "parquet", tmp_path / "out.parquet")
    with pytest.raises(ConfigError, match=r"unknown form 'onx'.*did you mean onnx"):
        export(predictor, "onx", tmp_path / "out")
    with pytest.raises(ConfigError, match=r"must end in \.parquet"):
        export(predictor, "parquet", tmp_path / "out.csv")
    assert not (tmp_path / "out").exists() and not list(tmp_path.glob(".*"))


def test_vectors_name_the_neighbors_that_similar_names(trained: Path, tmp_path: Path) -> None:
    predictor = Predictor.load(trained)
    names = [name for name, _ in predictor.similar("node 3", 4)]
    export(predictor, "parquet", tmp_path / "nodes.parquet")
    table = pq.read_table(tmp_path / "nodes.parquet")
    vectors = np.stack(table["vector"].to_numpy())
    nearest = np.argsort(-(vectors @ vectors[3]))[1:5]
    assert [table["node_id"][int(row)].as_py() for row in nearest] == names

    faiss = pytest.importorskip("faiss")
    export(predictor, "faiss", tmp_path / "faiss")
    index = faiss.read_index(str(tmp_path / "faiss" / "index.faiss"))
    rows = index.search(vectors[3:4], 5)[1][0][1:]
    ids = pq.read_table(tmp_path / "faiss" / "nodes.parquet")["node_id"]
    assert [ids[int(row)].as_py() for row in rows] == names

    lancedb = pytest.importorskip("lancedb")
    export(predictor, "lancedb", tmp_path / "lance")
    nodes = lancedb.connect(tmp_path / "lance").open_table("nodes")
    result = nodes.search(vectors[3]).distance_type("cosine").limit(5).to_list()
    assert [row["node_id"] for row in result][1:] == names


def test_networkx_and_graphml_have_what_is_known_and_learned(trained: Path, tmp_path: Path) -> None:
    predictor = Predictor.load(trained)
    graph = to_networkx(predictor, k=1)
    known = [edge for *edge, about in graph.edges(data=True) if not about["recommended"]]
    assert len(known) == 120
    (best,) = predictor.recommend("node 0", 1)
    link = graph.edges["node 0", best.node]
    assert link["recommended"] and link["score"] == pytest.approx(best.score)
    about = graph.nodes["node 1"]
    assert about["label"] == "1"
    np.testing.assert_array_equal(about["embedding"], predictor.embed(["node 1"])[0])
    export(predictor, "graphml", tmp_path / "graph.graphml")
    again = nx.read_graphml(tmp_path / "graph.graphml")
    assert set(again.nodes["node 1"]) == {"label", "x", "y"}
    assert set(again) == set(predictor.node_ids)


def test_neo4j_gets_nodes_edges_and_links(trained: Path, tmp_path: Path) -> None:
    predictor = Predictor.load(trained)
    export(predictor, "neo4j", tmp_path / "neo4j")
    nodes, edges, links = (
        (tmp_path / "neo4j" / f"{name}.csv").read_text().splitlines()
        for name in ("nodes", "edges", "recommended")
    )
    assert nodes[0] == '"id:ID","label","embedding:float[]"'
    assert len(nodes[1].rsplit(",", 1)[1].split(";")) == predictor.embed().shape[1]
    assert (edges[0], len(edges)) == ('":START_ID",":END_ID"', 121)
    head = '":START_ID","rank:int",":END_ID","score:float","probability:float"'
    assert (links[0], len(links)) == (head, 1 + 40 * 5)
    command = (tmp_path / "neo4j" / "import.sh").read_text()
    assert all(f"{name}.csv" in command for name in ("nodes", "edges", "recommended"))


class LocalHub:
    """What hub uses of huggingface_hub's HfApi, on a folder instead of the network."""

    def __init__(self, root: Path) -> None:
        self.root, self.made = root, list[Any]()

    def create_repo(self, repo: str, *, private: bool, exist_ok: bool) -> None:
        self.made.append((repo, private, exist_ok))
        (self.root / repo).mkdir(parents=True, exist_ok=True)

    def upload_file(self, *, path_or_fileobj: bytes, path_in_repo: str, repo_id: str) -> None:
        (self.root / repo_id / path_in_repo).write_bytes(path_or_fileobj)

    def upload_folder(
        self,
        *,
        repo_id: str,
        folder_path: str,
        allow_patterns: list[str],
        ignore_patterns: list[str],
        commit_message: str,
    ) -> str:
        utils = pytest.importorskip("huggingface_hub.utils")
        names = [
            str(p.relative_to(folder_path)) for p in Path(folder_path).rglob("*") if p.is_file()
        ]
        for name in utils.filter_repo_objects(
            names, allow_patterns=allow_patterns, ignore_patterns=ignore_patterns
        ):
            target = self.root / repo_id / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path(folder_path) / name, target)
        return repo_id

    def snapshot_download(
        self, repo: str, *, local_dir: str, revision: str | None, allow_patterns: list[str]
    ) -> None:
        if not (self.root / repo).is_dir():
            raise OSError(f"404 Client Error: no {repo}\nmore")
        shutil.copytree(self.root / repo, local_dir)


def test_a_run_goes_to_a_hub_and_comes_back(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = pytest.importorskip("huggingface_hub").HfApi
    for name, method in inspect.getmembers(LocalHub, inspect.isfunction):
        if name != "__init__":  # the true one takes the same arguments
            own = set(inspect.signature(method).parameters) - {"self", "repo"}
            assert own <= set(inspect.signature(getattr(api, name)).parameters)
    local = LocalHub(tmp_path / "hub")
    monkeypatch.setattr(hub, "_api", lambda quiet: local)
    hub.push(trained, "ann/run")
    assert local.made == [("ann/run", True, True)]
    stored = {path.name for path in (tmp_path / "hub/ann/run").iterdir()}
    assert "README.md" in stored and "checkpoint" not in stored
    assert "Verdict: " in (tmp_path / "hub/ann/run/README.md").read_text()
    back = hub.pull("ann/run", tmp_path / "back")
    assert Predictor.load(back).fingerprint == Predictor.load(trained).fingerprint

    weights = tmp_path / "hub/ann/run/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    with pytest.raises(RunDirectoryError, match="damaged"):
        hub.pull("ann/run", tmp_path / "again")
    with pytest.raises(ConfigError, match=r"cannot pull ann/none: 404 Client Error: no ann/none$"):
        hub.pull("ann/none", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_every_form_is_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["export", "--help"])
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert all(name in shown for name in FORMS)
