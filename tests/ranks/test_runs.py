"""Whole runs of several ranks: one writes, all agree, and what one loses all of them say once."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from mgae.cli import app
from mgae.core.errors import RankError
from mgae.core.training import distributed
from mgae.core.training.state import EpochRecord
from mgae.data.sharing import shared_graph, shared_split
from mgae.data.splits.links import split_links
from mgae.runs.config import RunConfig
from mgae.runs.pipeline import Observer, evaluate, resume, run
from tests.conftest import QUICK, toy_data, toy_graph
from tests.ranks.gang import together

KEPT = ("config.toml", "split.safetensors", "model.safetensors", "metrics.json", "history.jsonl")


def config(**changes: Any) -> RunConfig:
    settings: dict[str, Any] = {
        "graph": "toy",
        "method": "mgae",
        "encoder": {"kind": "gcn", "hidden_channels": 4},
        "decoder": {"hidden_channels": 4},
        "train": {"epochs": 6, "checkpoint_seconds": 0.0},
        "evaluation": {"heuristics": ("adamic-adar",), "hard_negatives": 5, "recall": (3,)},
        "protocol": "strict",
        "runs": 2,
    }
    return RunConfig(**{**settings, **changes})


class Stopping(Observer):
    """Ends a rank by Ctrl-C, or by SIGKILL, after an epoch."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def on_epoch(self, record: EpochRecord) -> None:
        if record.epoch == self.epoch:
            raise KeyboardInterrupt


def trained(folder: Path, stop: int | None = None, **changes: Any) -> str:
    """Train; return how that ended."""
    observer = None if stop is None else Stopping(stop)
    try:
        run(config(**changes), toy_data(), folder, observer)
    except (KeyboardInterrupt, RankError) as end:
        return type(end).__name__
    return "done"


def from_file(folder: Path, edges: str) -> None:
    run(config(graph=edges, runs=1), out=folder)


def contents(folder: Path) -> dict[str, bytes]:
    files = [file for file in folder.rglob("*") if file.name in KEPT]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_a_run_that_is_stopped_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert together(trained, whole) == ["done", "done"]
    assert together(trained, broken, 3) == ["KeyboardInterrupt", "RankError"]
    together(resume, broken)
    assert contents(broken) == contents(whole)


def test_a_run_goes_on_with_another_number_of_ranks(tmp_path: Path) -> None:
    together(trained, tmp_path / "run", 3)
    together(resume, tmp_path / "run", ranks=3)
    measured = evaluate(tmp_path / "run")  # by one process
    assert len(measured.seeds) == 2
    for seed in measured.seeds:
        stored = (tmp_path / "run" / f"seed-{seed.seed}" / "metrics.json").read_text()
        assert all(f"{value}"[:7] in stored for value in seed.test.values()), stored


def test_the_evidence_and_the_final_fit_stay_in_step(tmp_path: Path) -> None:
    changes = {"method": {**QUICK, "hidden_channels": 4}, "runs": 1}
    train = {"epochs": 3, "final_fit": True, "budget": 60.0}
    ends = together(_with, tmp_path / "combined", {**changes, "train": train})
    assert ends == ["done", "done"]
    assert (tmp_path / "combined" / "final.safetensors").exists()


def _with(folder: Path, changes: dict[str, Any]) -> str:
    return trained(folder, None, **changes)


def mapped_files() -> int:
    lines = Path("/proc/self/maps").read_text().splitlines()
    return len({line.split("/ranks-")[1] for line in lines if "/ranks-" in line})


def shared() -> tuple[bool, int, list[Any]]:
    generator = torch.Generator().manual_seed(0)
    graph = shared_graph(toy_data)
    split = shared_split(lambda: split_links(toy_graph(), 0.1, 0.2, generator))
    x = graph.x.flatten().tolist()
    edges = [split.message.edge_index.tolist(), split.test.tolist(), graph.node_ids, x]
    return bool(graph.undirected), mapped_files(), edges


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs Linux")
def test_ranks_of_a_machine_map_the_same_files(tmp_path: Path) -> None:
    alone = shared()
    assert mapped_files() == 0
    both = together(shared, MGAE_CACHE=str(tmp_path))
    assert [one[2] for one in both] == [alone[2], alone[2]]
    assert all(undirected and files >= 6 for undirected, files, _ in both), both
    assert not list(tmp_path.iterdir())


def killed_in_the_middle(folder: Path) -> tuple[str, float]:
    """Kill the second rank after some epochs; return what the first one says, and how soon."""
    if distributed.rank() == 1:
        watched = distributed.average_norms

        def deadly(*arguments: Any) -> None:
            watched(*arguments)
            if time.monotonic() > started + 0.5:
                os.kill(os.getpid(), signal.SIGKILL)

        started = time.monotonic()
        distributed.average_norms = deadly
    before = time.monotonic()
    try:
        run(config(train={"epochs": 100_000, "patience": 100_000}, runs=1), toy_data(), folder)
    except RankError as error:
        return str(error), time.monotonic() - before
    return "no error", 0.0


def test_the_other_ranks_end_if_one_is_killed(tmp_path: Path) -> None:
    first, second = together(killed_in_the_middle, tmp_path / "run", may_die=True)
    assert second is None
    assert first[0].startswith("rank 0 of 2 cannot reach another rank any more")
    assert first[1] < 30
    assert (tmp_path / "run" / "config.toml").exists()


def spoken(arguments: list[str], capture: Path) -> int:
    """Run the command line with its output in a file of the rank; return the exit code."""
    with (capture / f"{os.environ['RANK']}.txt").open("w") as stream:
        sys.stdout = sys.stderr = stream
        try:
            app.main(arguments)
        except SystemExit as end:
            return int(end.code or 0)
    return 0


def commanded(arguments: list[str], capture: Path, **env: str) -> tuple[list[int], list[str]]:
    """Run a command in two ranks that are not joined yet; return exit codes and outputs."""
    codes = together(spoken, arguments, capture, joins=False, **env)
    return codes, [(capture / f"{rank}.txt").read_text() for rank in range(2)]


def edges_file(folder: Path) -> str:
    rows = [f"n{u},n{v}" for u, v in toy_data(num_edges=60).edge_index.t().tolist() if u < v]
    (folder / "edges.csv").write_text("\n".join(["source,target", *rows]) + "\n")
    return str(folder / "edges.csv")


def test_one_rank_prints_and_writes(tmp_path: Path) -> None:
    train = ["train", edges_file(tmp_path), "--method", "mgae", "--epochs", "2"]
    out = tmp_path / "run"
    codes, (first, second) = commanded([*train, "--out", str(out)], tmp_path)
    assert codes == [0, 0]
    assert f"run directory: {out}" in first
    assert second == ""
    assert (out / "report.html").exists()
    codes, (first, second) = commanded(["evaluate", str(out)], tmp_path)
    assert (codes, second) == ([0, 0], "")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["train", "no-such-graph"], "unknown dataset"),
        (["train", "cora", "--mask-ratio", "7"], "mask.ratio must be"),
        (["recommend", "run", "--all"], "mgae recommend is for one process"),
        (["train", "cora", "--set", "encoder.hidden=3"], "unknown setting encoder.hidden"),
    ],
)
def test_one_rank_says_what_is_wrong(tmp_path: Path, arguments: list[str], part: str) -> None:
    codes, outputs = commanded(arguments, tmp_path)
    assert codes == [2, 2]
    assert sorted(len(output.splitlines()) for output in outputs) == [0, 1], outputs
    assert part in "".join(outputs)


def test_a_restart_needs_a_place_and_goes_on_there(tmp_path: Path) -> None:
    restarts = {"TORCHELASTIC_MAX_RESTARTS": "1"}
    codes, outputs = commanded(["train", "cora"], tmp_path, **restarts)
    assert codes == [2, 2] and "--out" in "".join(outputs)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    together(trained, whole)
    together(trained, broken, 3)
    again = {**restarts, "TORCHELASTIC_RESTART_COUNT": "1"}
    command = ["train", "cora", "--out", str(broken), "-q"]
    assert commanded(command, tmp_path, **again)[0] == [0, 0]
    assert contents(broken) == contents(whole)
