from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file
from torch_geometric.data import Data

from mgae.cli.printing import print_result
from mgae.core.errors import ConfigError, GraphError, MGAEError, RunDirectoryError, TrainingError
from mgae.core.graph import MessageGraph
from mgae.core.training.state import EpochRecord
from mgae.data.store import save_graph
from mgae.evaluation.measured import Measured
from mgae.reporting import write_report
from mgae.runs.comparison import compare
from mgae.runs.config import RunConfig
from mgae.runs.pipeline import Observer, evaluate, resume, run
from mgae.runs.results import Summary
from mgae.runs.rundirectory import RunDirectory
from mgae.runs.trial import Trial
from tests.conftest import QUICK, toy_data


def config(**changes: Any) -> RunConfig:
    small: dict[str, Any] = {
        "graph": "toy",
        "method": "mgae",
        "encoder": {"hidden_channels": 8},
        "decoder": {"hidden_channels": 8},
        "train": {"epochs": 3},
        "split": {"val_ratio": 0.2, "test_ratio": 0.2, "seed": "run"},
    }
    return RunConfig(**{**small, **changes})


def data() -> Data:
    graph = toy_data(num_nodes=40, num_edges=120)
    graph.node_ids = [f"node {number}" for number in range(40)]
    return graph


class Notes(Observer):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def on_note(self, text: str) -> None:
        self.notes.append(text)


def test_the_run_directory_has_every_file(tmp_path: Path) -> None:
    result = run(config(), data(), tmp_path / "run")
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {
        "config.toml",
        "graph",
        "split.safetensors",
        "calibration.json",
        "history.jsonl",
        "metrics.json",
        "model.safetensors",
        "checkpoint",
        "embeddings.parquet",
        "environment.json",
        "manifest.json",
    }
    assert result.directory == tmp_path / "run"
    assert json.loads((tmp_path / "run" / "metrics.json").read_text()) == result.metrics()
    history = [
        json.loads(line) for line in (tmp_path / "run/history.jsonl").read_text().splitlines()
    ]
    assert [record["epoch"] for record in history] == [1, 2, 3]


def test_embeddings_are_keyed_by_the_users_ids(tmp_path: Path) -> None:
    run(config(), data(), tmp_path / "run")
    table = pq.read_table(tmp_path / "run" / "embeddings.parquet")
    assert table["node_id"].to_pylist() == data().node_ids
    assert len(table["embedding"][0]) == 2 * 8


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        run(config(runs=2), data(), tmp_path / name)
    for file in ("metrics.json", "seed-0/metrics.json", "seed-1/model.safetensors"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    assert "seconds" not in (tmp_path / "a" / "metrics.json").read_text()


def test_each_run_is_the_run_of_its_own_seed() -> None:
    both = run(config(runs=2, seed=4), data())
    alone = run(config(seed=5), data())
    assert [seed.seed for seed in both.seeds] == [4, 5]
    assert both.seeds[1] == alone.seeds[0]
    assert both.seeds[0].test != both.seeds[1].test


def test_strict_keeps_one_split_over_the_runs(tmp_path: Path) -> None:
    fixed = config(runs=2, split={"seed": 0}, evaluation={"heuristics": ["common-neighbors"]})
    result = run(fixed, data(), tmp_path / "run")
    splits = [load_file(tmp_path / f"run/seed-{seed}/split.safetensors") for seed in (0, 1)]
    assert all(torch.equal(splits[0][name], splits[1][name]) for name in splits[0])
    assert result.seeds[0].heuristics == result.seeds[1].heuristics


def test_hard_negatives_are_kept_with_the_run_and_measured_again(tmp_path: Path) -> None:
    strict = config(protocol="strict", evaluation={"heuristics": ["common-neighbors"]})
    result = run(strict, data(), tmp_path / "run")
    assert {"auc", "hard_mrr", "hard_hits@10"} <= result.test.keys() & set(result.shown)
    assert "hard_mrr" in result.heuristics["common-neighbors"]
    assert "hard_mrr" not in result.val
    assert load_file(tmp_path / "run/split.safetensors")["test_hard_negatives"].size(2) == 100
    assert evaluate(tmp_path / "run").test == result.test
    without = run(config(protocol="strict", evaluation={"hard_negatives": 0}), data())
    assert "hard_mrr" not in without.test


def test_the_epoch_can_be_picked_by_hard_negatives_of_the_validation_edges(tmp_path: Path) -> None:
    hard = config(protocol="strict", train={"epochs": 4, "monitor": "hard_mrr"})
    result = run(hard, data(), tmp_path / "run")
    kept = load_file(tmp_path / "run/split.safetensors")
    assert kept["val_hard_negatives"].shape == (2, kept["val"].size(1), 100)
    history = (tmp_path / "run/history.jsonl").read_text().splitlines()
    scores = [json.loads(line)["score"] for line in history]
    assert result.val["hard_mrr"].mean == pytest.approx(max(scores))
    assert evaluate(tmp_path / "run").val == result.val


def test_without_test_edges_hard_negatives_pick_the_epoch_all_the_same() -> None:
    split = {"val_ratio": 0.2, "test_ratio": 0.0}
    hard = config(task="nodes", split=split, evaluation={"hard_negatives": 5})
    result = run(hard.changed(train={"monitor": "hard_mrr"}), data())
    assert 0 < result.val["hard_mrr"].mean <= 100


def test_a_finished_run_can_be_measured_among_more_hard_negatives(tmp_path: Path) -> None:
    plain, few = (
        config(protocol="strict", evaluation={"hard_negatives": count}) for count in (0, 5)
    )
    for name, one in {"plain": plain, "few": few}.items():
        run(one, data(), tmp_path / name)
        asked = one.changed(evaluation={"hard_negatives": 20}).evaluation
        outcome = evaluate(tmp_path / name, settings=asked)
        assert outcome.test == run(one.changed(evaluation={"hard_negatives": 20}), data()).test


def test_hits_among_too_few_negatives_cannot_pick_an_epoch() -> None:
    few = config(evaluation={"hits": (1000,)}, train={"monitor": "hits@1000"})
    with pytest.raises(ConfigError, match=r"hits@1000 and there are \d+ negatives .* monitor auc"):
        run(few, data())


def test_a_monitor_of_hard_negatives_needs_some() -> None:
    with pytest.raises(ConfigError, match=r"hard_mrr and there are no hard negatives: raise"):
        run(config(protocol="paper", train={"monitor": "hard_mrr"}), data())


def test_hard_negatives_that_cost_too_much_are_left_out_with_a_note(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mgae.data.splits.hard._MOST_PRODUCTS", 100)
    notes = Notes()
    result = run(config(protocol="strict", evaluation={"heuristics": ()}), data(), observer=notes)
    assert "no hard negatives: to rank the candidates of" in notes.notes[-1]
    assert "hard_mrr" not in result.test


def test_a_run_without_a_directory_writes_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(config(), data()).directory is None
    assert list(tmp_path.iterdir()) == []


class StopAt(Observer):
    """Ctrl-C in a certain epoch of a certain run."""

    def __init__(self, run_index: int, epoch: int) -> None:
        self.at, self.index = (run_index, epoch), 0

    def on_run(self, index: int, config: RunConfig) -> None:
        self.index = index

    def on_epoch(self, record: EpochRecord) -> None:
        if (self.index, record.epoch) == self.at:
            raise KeyboardInterrupt


@pytest.mark.parametrize("moment", [(0, 1), (0, 3), (1, 2)])
def test_a_broken_run_goes_on_to_the_same_result(tmp_path: Path, moment: tuple[int, int]) -> None:
    whole = run(config(runs=2), data(), tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(config(runs=2), data(), tmp_path / "broken", StopAt(*moment))
    assert not (tmp_path / "broken" / "metrics.json").exists()
    resumed = resume(tmp_path / "broken")
    assert resumed.metrics() == whole.metrics()
    for file in ("seed-0/model.safetensors", "seed-1/history.jsonl", "metrics.json"):
        assert (tmp_path / "broken" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


@pytest.mark.parametrize("features", [6, None])
def test_a_broken_run_of_one_s_own_graph_goes_on_to_the_same_bits(
    tmp_path: Path, features: int | None
) -> None:
    """The evidence model is trained again, the network goes on, and the weights are settled."""
    own = config(
        method=QUICK,
        runs=2,
        train={"epochs": 6, "eval_every": 2},
        evaluation={"heuristics": (), "recall": (5,)},
    )
    graph = toy_data(num_nodes=40, num_edges=120, num_features=features)
    whole = run(own, graph, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(own, graph, tmp_path / "broken", StopAt(1, 4))
    assert resume(tmp_path / "broken").metrics() == whole.metrics()
    for file in ("model.safetensors", "embeddings.parquet", "metrics.json", "history.jsonl"):
        one, other = (tmp_path / name / "seed-1" / file for name in ("broken", "whole"))
        assert one.read_bytes() == other.read_bytes()
    assert evaluate(tmp_path / "whole").metrics() == whole.metrics()
    assert {"recall@5", "recall_either@5", "hard_mrr"} <= whole.test.keys()
    weights = load_file(tmp_path / "whole/seed-0/model.safetensors")
    assert bool(weights["knows_evidence"])
    assert bool(weights["link_weights"].any())


def test_resuming_a_finished_run_changes_nothing(tmp_path: Path) -> None:
    first = run(config(), data(), tmp_path / "run")
    before = (tmp_path / "run" / "metrics.json").stat().st_mtime_ns
    assert resume(tmp_path / "run").metrics() == first.metrics()
    assert (tmp_path / "run" / "metrics.json").stat().st_mtime_ns >= before


@pytest.mark.parametrize("changes", [{}, {"runs": 2}, {"task": "nodes"}, {"method": "adamic-adar"}])
def test_evaluating_again_gives_the_same_figures(tmp_path: Path, changes: dict[str, Any]) -> None:
    chosen = RunConfig(graph="toy", **changes) if changes.get("method") else config(**changes)
    first = run(chosen, data(), tmp_path / "run")
    assert evaluate(tmp_path / "run").metrics() == first.metrics()


def test_an_official_split_is_measured_again_with_edges_that_are_held_out_as_well(
    tmp_path: Path,
) -> None:
    graph = data()
    for name in ("val_edges", "test_edges"):
        graph[name] = graph.edge_index[:, :40:2]
        graph[name.replace("edges", "negatives")] = graph.edge_index[:, :40:2].roll(1, dims=1)
    result = run(config(), graph, tmp_path / "run")
    assert evaluate(tmp_path / "run").test == result.test


def test_node_classification_embeds_from_all_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = data()
    trial = Trial(config(task="nodes", protocol="paper"), graph, MessageGraph.of(graph))
    embeddings: list[torch.Tensor] = []

    def spy(vectors: Sequence[torch.Tensor], *rest: Any, **options: Any) -> Measured:
        embeddings.extend(vectors)
        return Measured({})

    monkeypatch.setattr("mgae.evaluation.nodes.measure_nodes", spy)
    trial.test_figures(trial.method)
    assert torch.equal(embeddings[0], trial.method.embed(MessageGraph.of(graph)))
    assert not torch.equal(embeddings[0], trial.method.embed(trial.split.message))


def test_node_classification_has_its_own_figures_and_heuristics() -> None:
    result = run(config(task="nodes", protocol="paper"), data())
    assert set(result.test) == {"accuracy", "macro_f1", "micro_f1"}
    assert set(result.heuristics) == {"raw-features", "random-init"}


def test_heuristics_that_need_what_is_not_there_are_left_out() -> None:
    graph = toy_data(num_nodes=40, num_edges=120, num_features=None)
    assert "raw-features" not in run(config(), graph).heuristics


def test_a_directory_in_use_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(RunDirectoryError, match="is not empty"):
        run(config(), data(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"mask": {"ratio": 0.0}}, ConfigError),
        ({"train": {"monitor": "luck"}}, ConfigError),
        ({"split": {"val_ratio": 0.5, "test_ratio": 0.5}}, GraphError),
    ],
)
def test_what_only_the_graph_proves_wrong_leaves_no_trace(
    tmp_path: Path, changes: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        run(config(**changes), data(), tmp_path / "new" / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_loss_that_is_not_finite_keeps_the_directory(tmp_path: Path) -> None:
    graph = data()
    graph.x = torch.full_like(graph.x, 1e38)
    with pytest.raises(TrainingError):
        run(config(), graph, tmp_path / "run")
    assert (tmp_path / "run" / "config.toml").exists()


def test_a_run_directory_is_recognized_by_its_configuration(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match=r"has no config\.toml"):
        RunDirectory.open(tmp_path)


def test_evaluating_an_unfinished_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(config(), data(), tmp_path / "run", StopAt(0, 2))
    with pytest.raises(RunDirectoryError, match=r"is not finished: go on with mgae train --resume"):
        evaluate(tmp_path / "run")
    with pytest.raises(KeyboardInterrupt):
        run(config(runs=3), data(), tmp_path / "three", StopAt(1, 2))
    with pytest.raises(RunDirectoryError, match="is not finished"):
        evaluate(tmp_path / "three")
    assert not (tmp_path / "three/seed-2").exists()


def test_a_full_disk_leaves_the_finished_runs(tmp_path: Path, monkeypatch: Any) -> None:
    def full(graph: Data, folder: Path) -> None:
        if "seed-1" in str(folder):
            raise OSError(28, "No space left on device")
        save_graph(graph, folder)

    monkeypatch.setattr("mgae.runs.rundirectory.save_graph", full)
    with pytest.raises(RunDirectoryError, match="No space left"):
        run(config(runs=3), data(), tmp_path / "run")
    assert (tmp_path / "run/seed-0/metrics.json").exists()


@pytest.mark.parametrize("labels", [None, torch.zeros(40, dtype=torch.long)])
def test_classification_without_labels_is_refused_before_it_trains(
    tmp_path: Path, labels: Any
) -> None:
    graph = data()
    graph.y = labels
    with pytest.raises(MGAEError, match="node classification needs labels"):
        run(config(task="nodes"), graph, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_graph_in_memory_does_not_go_under_the_name_of_a_dataset() -> None:
    assert run(config(graph="cora"), data()).config.graph == "graph"
    graph = data()
    graph.name = "club"
    assert run(config(graph="cora"), graph).config.graph == "club"
    assert run(config(graph="mine"), graph).config.graph == "mine"


def test_a_summary_of_one_run_has_no_spread() -> None:
    assert str(Summary.of([93.456])) == "93.46"
    assert str(Summary.of([93.0, 95.0])) == "94.00 ± 1.41"


def test_a_training_that_its_patience_ended_at_once_is_told() -> None:
    notes, whole = Notes(), Notes()
    result = run(config(train={"epochs": 50, "patience": 1}), data(), observer=notes)
    best, trained = result.seeds[0].best_epoch, result.seeds[0].epochs
    assert best <= 5
    assert trained == best + 1
    assert notes.notes[1:] == [
        f"seed 0: epoch {best} of {trained} was the best, a model close to its start; "
        "train.patience=50 instead of 1 may find a better one"
    ]
    run(config(train={"epochs": 3, "patience": 50}), data(), observer=whole)
    assert len(whole.notes) == 1, "all of its epochs were trained"


@pytest.mark.parametrize(("seed", "count"), [(0, 2), (1, 1)])
def test_nothing_is_better_than_all_validation_edges_told_at_once(seed: int, count: int) -> None:
    # One edge validates: with seed 0 its AUC is 0 in the first epoch, with seed 1 it is 100.
    pairs = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3)]
    notes, graph = Notes(), Data(edge_index=torch.tensor(pairs).t(), num_nodes=6)
    settings = {"epochs": 50, "patience": 1}
    fit = run(config(seed=seed, train=settings), graph, observer=notes).seeds[0]
    assert (fit.best_epoch, fit.epochs) == (1, 2)
    assert notes.notes[0] == "only about 1 edge is left for the test: its figures will be rough"
    assert len(notes.notes) == count


def test_a_handful_of_test_edges_is_said_to_be_rough() -> None:
    few, nodes = Notes(), Notes()
    run(config(), data(), observer=few)
    run(config(task="nodes"), data(), observer=nodes)
    assert few.notes == ["only about 24 edges are left for the test: its figures will be rough"]
    assert nodes.notes == []


def test_a_run_without_test_edges_has_a_note_in_place_of_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    observer = Notes()
    whole = config(protocol="strict", split={"val_ratio": 0.2, "test_ratio": 0.0})
    result = run(whole, data(), tmp_path / "run", observer)
    assert result.test == result.heuristics == {} and result.val["auc"].mean > 0
    assert any("split.test_ratio is 0" in note for note in observer.notes)
    assert evaluate(tmp_path / "run").to_json()["test"] == {}
    print_result(result, None)
    assert "no test edges" in capsys.readouterr().out
    assert "No test figures" in write_report(tmp_path / "run").read_text()
    with pytest.raises(ConfigError, match=r"split\.test_ratio is 0"):
        compare("cora", split={"test_ratio": 0.0})
