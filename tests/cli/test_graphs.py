"""The user's own graph, through the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

import mgae
from mgae.cli.app import main
from tests.conftest import toy_edges

SETTINGS: dict[str, Any] = {
    "method": {"kind": "combined", "evidence_epochs": 1},
    "encoder": {"hidden_channels": 8},
    "decoder": {"hidden_channels": 8},
    "train": {"epochs": 2},
    "split": {"val_ratio": 0.2, "test_ratio": 0.2},
}
SMALL = [
    text
    for section, table in SETTINGS.items()
    for key, value in table.items()
    for text in ("--set", f"{section}.{key}={value}")
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MGAE_CACHE", str(tmp_path / "cache"))


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    return int(stop.value.code or 0)


def write_csv(path: Path, pairs: list[tuple[Any, Any]]) -> None:
    lines = ["source,target", *(f"{u},{v}" for u, v in pairs)]
    path.write_text("\n".join(lines) + "\n")


PAIRS = [tuple(pair) for pair in toy_edges(30, 80, seed=0).t().tolist()]


def test_string_ids_go_in_and_come_out(capsys: pytest.CaptureFixture[str]) -> None:
    write_csv(Path("friends.csv"), [(f"person {u}", f"person {v}") for u, v in PAIRS])
    assert call("train", "friends.csv", "--out", "run", "--json", *SMALL) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["dataset"], result["protocol"]) == ("friends.csv", "strict")
    assert json.loads(Path("run/metrics.json").read_text())["method"] == "combined"
    ids = pq.read_table("run/embeddings.parquet")["node_id"].to_pylist()
    assert ids == sorted(f"person {node}" for node in range(30))


def test_features_and_labels_come_from_tables(capsys: pytest.CaptureFixture[str]) -> None:
    write_csv(Path("edges.csv"), PAIRS)
    rows = [f"{node},{node % 5},{'red' if node % 2 else 'blue'}" for node in range(30)]
    Path("nodes.csv").write_text("\n".join(["id,size,color", *rows]))
    labels = [f"{node},{'even' if node % 2 == 0 else 'odd'}" for node in range(30)]
    Path("labels.csv").write_text("\n".join(["id,label", *labels]))
    tables = ["--features", "nodes.csv", "--labels", "labels.csv"]
    assert call("train", "edges.csv", "--task", "nodes", *tables, "--json", *SMALL) == 0
    result = json.loads(capsys.readouterr().out)
    # The color tells the label; three nodes to learn from are enough for that.
    assert result["heuristics"]["raw-features"]["accuracy"]["mean"] == 100
    assert call("inspect", "edges.csv", *tables, "--json") == 0
    outcome = json.loads(capsys.readouterr().out)
    assert (outcome["features"], outcome["classes"], outcome["nodes"]) == (3, 2, 30)


def test_a_run_goes_on_without_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    write_csv(Path("edges.csv"), PAIRS)
    assert call("train", "edges.csv", "--out", "run", "--json", *SMALL) == 0
    first = json.loads(capsys.readouterr().out)
    Path("edges.csv").unlink()
    assert call("evaluate", "run", "--json") == 0
    assert json.loads(capsys.readouterr().out)["test"] == first["test"]


def test_the_same_graph_in_any_form_gives_the_same_figures() -> None:
    order = np.random.default_rng(0).permutation(len(PAIRS))
    source, target = np.array(PAIRS)[order].T
    graph = nx.Graph()
    graph.add_edges_from(PAIRS)
    write_csv(Path("edges.csv"), [(v, u) for u, v in PAIRS])
    pq.write_table(pa.table({"source": source, "target": target}), "edges.parquet")
    nx.write_graphml(graph, "edges.graphml")
    matrix = sp.coo_array((np.ones(80), (source, target)), shape=(30, 30)).tocsr()
    sp.save_npz("edges.npz", matrix)
    both = torch.tensor(PAIRS + [(v, u) for u, v in PAIRS]).t()
    forms: list[Any] = ["edges.csv", "edges.parquet", "edges.graphml", "edges.npz"]
    forms += [graph, Data(edge_index=both, num_nodes=30), matrix]
    figures = [
        mgae.run(mgae.RunConfig(graph="edges", **SETTINGS), graph=form).metrics() for form in forms
    ]
    assert all(figure == figures[0] for figure in figures[1:])


def test_inspection_says_what_was_understood(capsys: pytest.CaptureFixture[str]) -> None:
    write_csv(Path("edges.csv"), [*PAIRS, PAIRS[0], (3, 3)])
    assert call("inspect", "edges.csv", "--plot", "degrees.png") == 0
    shown = capsys.readouterr().out
    assert "30" in shown
    assert "80" in shown
    assert "self-loop" in shown
    assert Path("degrees.png").read_bytes().startswith(b"\x89PNG")
    refusals = {"x.csv": "--plot must end in .png", "no/x.png": "there is no folder"}
    for wrong, message in refusals.items():
        assert call("inspect", "edges.csv", "--plot", wrong) == 2
        assert message in capsys.readouterr().err


def test_brackets_in_a_name_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    rows = "\n".join(f"{u},{v},1" for u, v in PAIRS)
    Path("[red]").mkdir()
    Path("[red]/edges.csv").write_text(f"source,target,rate [/s]\n{rows}\n")
    settings = ["--set", "train.epochs=1", "--set", "evaluation.heuristics=[]"]
    assert call("train", "[red]/edges.csv", "--out", "[red]/run", *settings) == 0
    printed = capsys.readouterr()
    assert "run directory: [red]/run" in printed.out
    assert "columns ignored: rate [/s]" in printed.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("train absent.csv", "there is no file absent.csv"),
        ("inspect folder/absent", "there is no file folder/absent"),
        ("inspect nosuch", "unknown dataset 'nosuch'"),
        ("inspect edges.csv --features=", "input.features is empty: name a file, or leave"),
        ("train edges.csv --labels=", "input.labels is empty: name a file, or leave it out"),
        ("train edges.csv --missing zero", "input.missing needs input.features"),
        ("train cora --features x.csv", "input.features is for files, and cora is a dataset"),
        ("datasets get cora nosuch", "unknown dataset 'nosuch'"),
        ("train edges.csv --missing some", "input.missing must be one of refuse, zero, mean"),
    ],
)
def test_what_cannot_be_opened_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: str, message: str
) -> None:
    write_csv(Path("edges.csv"), PAIRS)
    assert call(*arguments.split()) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert len(printed.err.splitlines()) == 1


def test_getting_an_embedded_dataset_checks_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("datasets", "get", "cora") == 0
    assert capsys.readouterr().out == "cora: embedded, verified\n"


def test_the_mirror_serves_real_data(capsys: pytest.CaptureFixture[str], shared_data: Path) -> None:
    assert call("datasets", "get", "citeseer", "pubmed") == 0
    assert capsys.readouterr().out == "citeseer: mirror, verified\npubmed: mirror, verified\n"
    assert call("inspect", "ogbl-ddi", "--json") == 0
    assert json.loads(capsys.readouterr().out)["split"] == {
        "train_edges": 1067911,
        "val_edges": 133489,
        "test_edges": 133489,
        "val_negatives": 101882,
        "test_negatives": 95599,
    }


def test_inspect_takes_settings_of_the_input_and_refuses_those_of_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("user,item,when\nann,bob,1\nbob,cy,2\n", encoding="utf-8")
    nodes = {}
    for header in ("auto", "no"):
        with pytest.raises(SystemExit, match="0"):
            main(["inspect", str(path), "--set", f"input.header={header}", "--json"])
        inspected = json.loads(capsys.readouterr().out)
        nodes[header] = inspected["nodes"]
        hinted = any("--time-column when would read" in note for note in inspected["notes"])
        assert hinted is (header == "auto")
    assert nodes == {"auto": 3, "no": 5}
    with pytest.raises(SystemExit, match="2"):
        main(["inspect", str(path), "--set", "train.epochs=3"])
    assert "--set train is for training" in capsys.readouterr().err
