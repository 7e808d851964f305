from __future__ import annotations

from pathlib import Path
from threading import Event, Thread
from typing import Any

import networkx
import pyarrow.parquet as pq
import pytest
import torch
from starlette.testclient import TestClient

from mgae.cli.app import main
from mgae.core.errors import GraphError, RunDirectoryError, UnsupportedError
from mgae.data.checks import checked
from mgae.runs.config import RunConfig
from mgae.runs.pipeline import evaluate, run
from mgae.runs.rundirectory import RunDirectory
from mgae.serving import Predictor, updates
from mgae.serving.drift import Drift, drifted, surprise
from mgae.serving.joining import Growth, NewEdges
from mgae.serving.nodeindex import NodeIndex
from mgae.serving.service.application import create_app
from mgae.serving.service.reloading import Reloader, Watched
from mgae.serving.service.served import Served
from mgae.serving.updates import update_run
from tests.conftest import QUICK, toy_data
from tests.runs.test_pipeline import Notes, config, data

NEW = [("node 0", "later"), ("node 1", "later"), ("later", "last")]
FEATURES = {"later": [0.1] * 6, "last": [0.2] * 6}


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    run(config(), data(), tmp_path / "run")
    return tmp_path / "run"


def test_an_updated_predictor_is_that_of_the_whole_graph(trained: Path) -> None:
    before = Predictor.load(trained)
    after = before.updated(NEW, FEATURES)
    whole = data()
    whole.x = torch.cat([whole.x, torch.tensor([[0.1] * 6, [0.2] * 6])])
    more = torch.tensor([[0, 1, 40], [40, 40, 41]])
    whole.edge_index = torch.cat([whole.edge_index, more, more.flip(0)], dim=1)
    whole.y = torch.cat([whole.y, torch.tensor([-1, -1])])
    whole.node_ids, whole.num_nodes = [*whole.node_ids, "later", "last"], 42
    same = Predictor(before.method, before.config, checked(whole), before.calibrations)
    assert after.fingerprint == same.fingerprint
    assert (after.embed() == same.embed()).all()
    assert after.growth == Growth(edges=3, nodes=2, known=0, loops=0)
    assert set(after.neighbors("later")) == {"node 0", "node 1", "last"}
    assert before.num_nodes == 40 and not before.knows("later")


def test_a_run_is_replaced_and_remembers(trained: Path, tmp_path: Path) -> None:
    edges = tmp_path / "new.csv"
    edges.write_text("source,target\nnode 0,later\nnode 1,later\nlater,last\nlast,last\n")
    features = tmp_path / "features.csv"
    names = ",".join(f"f{n}" for n in range(6))
    features.write_text(
        f"id,{names}\nlast,{','.join(['0.2'] * 6)}\nlater,{','.join(['0.1'] * 6)}\n"
    )
    old = Predictor.load(trained)
    expected = old.updated(NEW, FEATURES)
    with pytest.raises(SystemExit) as end:
        main(["update", str(trained), str(edges), "--features", str(features), "-q"])
    assert not end.value.code
    new = Predictor.load(trained)
    assert (new.embed() == expected.embed()).all()
    table = pq.read_table(trained / "embeddings.parquet")
    assert table["node_id"].to_pylist()[-2:] == ["later", "last"]
    assert old.recommend("node 3", 3)  # what was loaded goes on
    assert "updated after its training: 3 edges and 2 nodes" in new.notes[0]

    again = update_run(trained, [("node 5", "last")])
    assert (again.drift.new_edges, again.drift.new_nodes) == (4, 2)
    assert again.drift.trained_nodes == 40
    assert len(RunDirectory.open(trained).updates()) == 2
    notes = Notes()
    evaluate(trained, notes)
    assert not any("differ" in note for note in notes.notes)
    assert [path.name for path in trained.parent.iterdir() if path.name.startswith(".")] == []


def test_files_that_join_have_the_header_of_the_runs_own_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{one},{other}" for one, other in networkx.les_miserables_graph().edges]
    (tmp_path / "all.csv").write_text("\n".join(["count of,meets", *rows]))
    (tmp_path / "new.csv").write_text("count of,meets\nNew One,Cosette\n")
    few = {"header": "yes"}
    settings = RunConfig(graph=str(tmp_path / "all.csv"), method="common-neighbors", input=few)
    run(settings, out=tmp_path / "run")
    done = update_run(tmp_path / "run", tmp_path / "new.csv", out=tmp_path / "two")
    assert (done.growth.edges, done.growth.nodes, done.notes) == (1, 1, ())
    with pytest.raises(SystemExit) as end:
        main(["score", str(tmp_path / "two"), str(tmp_path / "new.csv"), "-q"])
    assert not end.value.code
    assert '"New One","Cosette"' in capsys.readouterr().out

    (tmp_path / "odd.csv").write_text("count by,meeting\nNew One,Cosette\n")
    done = update_run(tmp_path / "run", tmp_path / "odd.csv", out=tmp_path / "three")
    assert "row 1 (count by, meeting) taken as an edge" in done.notes[0]


def test_several_seeds_and_the_default_method(tmp_path: Path) -> None:
    settings = config(runs=2, method=QUICK, train={"epochs": 1, "final_fit": True})
    run(settings, data(), tmp_path / "run")
    done = update_run(tmp_path / "run", [("node 0", "new")], {"new": [0.0] * 6}, tmp_path / "two")
    assert done.growth.nodes == 1
    for number in (0, 1):
        assert Predictor.load(tmp_path / "two", number).recommend("new", 2)
        assert not Predictor.load(tmp_path / "run", number).knows("new")


def test_a_failure_leaves_the_run_as_it_was(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sums = (trained / "manifest.json").read_bytes()

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(updates, "_put", fail)
        with pytest.raises(RunDirectoryError, match=r"No space left.*the run is as it was"):
            update_run(trained, NEW, FEATURES)
    assert (trained / "manifest.json").read_bytes() == sums
    monkeypatch.setattr(updates, "_exchange", lambda *_: False)  # as on other systems
    assert update_run(trained, NEW, FEATURES).growth.nodes == 2
    assert Predictor.load(trained).knows("last")


def test_what_cannot_join_is_refused(trained: Path, tmp_path: Path) -> None:
    predictor = Predictor.load(trained)
    with pytest.raises(GraphError, match=r"1 new node without features: new; give --features FILE"):
        predictor.updated([("node 0", "new")])
    with pytest.raises(GraphError, match="nothing new: 1 edge, all known"):
        predictor.updated([("node 0", predictor.neighbors("node 0")[0])])
    with pytest.raises(GraphError, match="all texts, got 7"):
        predictor.updated([("node 0", 7)])
    table = {"hidden_channels": 8, "inputs": "table"}
    run(config(encoder=table), data(), tmp_path / "table")
    learned = Predictor.load(tmp_path / "table")
    with pytest.raises(
        UnsupportedError, match=r"learned an embedding table.*train on a graph with features"
    ):
        learned.updated([("node 0", "new")])
    missing = next(n for n in learned.node_ids[2:] if n not in learned.neighbors("node 0"))
    more = learned.updated([("node 0", missing)])
    assert missing in more.neighbors("node 0")


def test_ids_of_files_are_read_as_the_graphs(tmp_path: Path) -> None:
    file = tmp_path / "new.csv"
    file.write_text("user,item,weight\n1,1,2\n9,1,1\n1,8,1\n9,1,1\n")
    from mgae.data.io.options import InputSettings

    def read(nodes: NodeIndex) -> NewEdges:
        return NewEdges.read(nodes, file, InputSettings(), lambda stage, share: None)

    sides = read(NodeIndex(["user:1", "item:1"], ("user:", "item:")))
    assert sides.pairs.tolist() == [[0, 2, 0, 2], [1, 1, 3, 1]]
    assert (sides.ids, sides.sides.tolist()) == (["user:9", "item:8"], [0, 1])
    plain = read(NodeIndex([1, 2]))
    assert (plain.ids, plain.pairs.tolist()) == ([9, 8], [[0, 2, 0, 2], [0, 0, 3, 0]])
    assert plain.weights is not None and plain.weights.tolist() == [2, 1, 1, 1]


def test_drift_says_when_to_train_again() -> None:
    growth = Growth(edges=30, nodes=1, known=0, loops=0)
    calm = drifted(growth, None, (200, 100), (88.0, 1.0), 90.0)
    assert calm.reasons == [] and "train again at 20% more edges" in calm.text
    far = drifted(growth, calm, (200, 100), (70.0, 1.0), 90.0)
    assert far.reasons == [
        "30% more edges than were trained on",
        "new edges score worse than test edges did by 18.0 points",
    ]
    assert Drift.from_json(vars(far)) == far


def test_surprise_compares_with_pairs_that_are_no_edges() -> None:
    from mgae.core.graph import MessageGraph

    graph = MessageGraph.of(toy_data(num_nodes=40, num_edges=100))
    others = torch.combinations(torch.arange(40), 2).t()
    keys = others[1] * 40 + others[0]
    added = others[:, ~torch.isin(keys, graph.edge_keys)][:, :30]
    wanted = set(map(tuple, added.t().tolist()))

    def oracle(pairs: torch.Tensor) -> Any:
        ends = pairs.sort(dim=0).values.t().tolist()
        return torch.tensor([float(tuple(end) in wanted) for end in ends]).numpy()

    assert surprise(oracle, graph, added) == (100.0, pytest.approx(0.0))
    assert surprise(oracle, graph, added[:, :10]) is None


def test_a_service_takes_an_updated_run_over(trained: Path) -> None:
    watched = Watched(trained, lambda: Served.load(trained))
    app, said = create_app(watched.load()), list[str]()
    reloader = Reloader(app.state.runs, [watched], said.append)
    reloader.look()
    assert said == []

    entered, release = Event(), Event()
    old = app.state.runs[None].predictor
    recommend = old.recommend

    def slowly(*arguments: Any, **options: Any) -> Any:
        entered.set()
        assert release.wait(30)
        return recommend(*arguments, **options)

    old.recommend = slowly
    with TestClient(app, base_url="http://localhost") as client:
        answers: list[Any] = []
        path = "/nodes/node 2/recommendations"
        asking = Thread(target=lambda: answers.append(client.get(path)))
        asking.start()
        assert entered.wait(30)
        update_run(trained, NEW, FEATURES)
        reloader.look()
        assert said == [f"{trained} has changed: now 42 nodes are served"]
        assert client.get("/info").json()["nodes"] == 42
        assert client.get("/nodes/later/recommendations").status_code == 200
        release.set()
        asking.join(30)
        assert answers[0].status_code == 200
        assert {link["node"] for link in answers[0].json()["recommendations"]} <= set(old.node_ids)

        (trained / "model.safetensors").write_bytes(b"broken")
        (trained / "manifest.json").touch()
        reloader.look()
        reloader.look()
        assert len(said) == 2 and "cannot be loaded, so the run before stays" in said[1]
        assert client.get("/info").json()["nodes"] == 42
