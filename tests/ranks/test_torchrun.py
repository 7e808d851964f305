"""torchrun itself: a rank that is killed, and two machines that are two addresses."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.ranks.gang import free_port
from tests.ranks.test_runs import contents, edges_file

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
SETTINGS = [
    *("--method", "mgae", "--epochs", "1500", "--patience", "1500", "-q"),
    *("--set", "encoder.hidden_channels=4", "--set", "decoder.hidden_channels=4"),
    *("--set", "train.checkpoint_seconds=0.2", "--set", "evaluation.hard_negatives=0"),
]


def launched(command: list[str], *options: str, **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "torch.distributed.run", *options, "-m", "mgae", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
        **more,
    )


def kill_a_rank(agent: subprocess.Popen[str], run: Path, rank: int, epochs: int = 100) -> None:
    """Kill one of the ranks once so many epochs are over."""
    history = run / "history.jsonl"
    until = time.monotonic() + 600
    while not history.exists() or len(history.read_text().splitlines()) < epochs:
        assert agent.poll() is None and time.monotonic() < until
        time.sleep(0.1)
    for child in psutil.Process(agent.pid).children():
        if child.environ().get("RANK") == str(rank):
            child.send_signal(signal.SIGKILL)


@pytest.mark.parametrize("rank", [0, 1])
def test_without_restarts_all_end_with_one_message(tmp_path: Path, rank: int) -> None:
    run = tmp_path / "run"
    command = ["train", edges_file(tmp_path), "--out", str(run), *SETTINGS]
    agent = launched(command, "--nproc-per-node", "2")
    kill_a_rank(agent, run, rank)
    killed = time.monotonic()
    output, _ = agent.communicate(timeout=120)
    assert time.monotonic() - killed < 60
    assert agent.returncode != 0
    said = [line for line in output.splitlines() if line.startswith("mgae: ")]
    assert len(said) == 1, output
    assert f"go on with: mgae train --resume {run}" in said[0]


def test_with_restarts_the_run_ends_as_if_undisturbed(tmp_path: Path) -> None:
    edges, whole, broken = edges_file(tmp_path), tmp_path / "whole", tmp_path / "broken"
    agent = launched(["train", edges, "--out", str(whole), *SETTINGS], "--nproc-per-node", "2")
    assert agent.communicate(timeout=600)[0] is not None and agent.returncode == 0
    options = ["--nproc-per-node", "2", "--max-restarts", "1"]
    agent = launched(["train", edges, "--out", str(broken), *SETTINGS], *options)
    kill_a_rank(agent, broken, 1)
    output, _ = agent.communicate(timeout=600)
    assert agent.returncode == 0, output
    assert contents(broken) == contents(whole)


def machines(command: list[str], prefixes: list[list[str]], master: str) -> list[str]:
    """Run an agent with one rank on each of two machines; return their outputs."""
    port, agents = free_port(), []
    for number, prefix in enumerate(prefixes):
        options = ["--nnodes", "2", "--nproc-per-node", "1", "--node-rank", str(number)]
        options += ["--master-addr", master, "--master-port", str(port)]
        line = [*prefix, sys.executable, "-m", "torch.distributed.run", *options]
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        if not prefix:
            env["GLOO_SOCKET_IFNAME"] = "lo"
        agents.append(
            subprocess.Popen(
                [*line, "-m", "mgae", *command],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env=env,
            )
        )
    outputs = [agent.communicate(timeout=900)[0] for agent in agents]
    assert [agent.returncode for agent in agents] == [0, 0], outputs
    return outputs


def test_two_agents_on_a_loopback_address_train_together(tmp_path: Path) -> None:
    command = ["train", edges_file(tmp_path), *SETTINGS, "--epochs", "5"]
    outputs = machines([*command, "--out", str(tmp_path / "run")], [[], []], "127.0.0.2")
    assert "run directory" in outputs[0]
    assert "run directory" not in outputs[1]


def test_two_network_namespaces_train_together(tmp_path: Path) -> None:
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("needs ip netns, and root for it")
    names = [f"mgae-{os.getpid()}-{number}" for number in range(2)]
    ends = [f"v{os.getpid() % 100000}-{number}" for number in range(2)]
    try:
        made = [ip("netns", "add", name) for name in names]
        made.append(ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1]))
        if any(made):
            pytest.skip("network namespaces cannot be made here")
        for number, (name, end) in enumerate(zip(names, ends, strict=True)):
            ip("link", "set", end, "netns", name)
            ip("-n", name, "addr", "add", f"10.77.0.{number + 1}/24", "dev", end)
            ip("-n", name, "link", "set", end, "up")
            ip("-n", name, "link", "set", "lo", "up")
        prefixes = [
            ["ip", "netns", "exec", name, "env", f"GLOO_SOCKET_IFNAME={end}"]
            for name, end in zip(names, ends, strict=True)
        ]
        command = ["train", edges_file(tmp_path), *SETTINGS, "--epochs", "5"]
        outputs = machines([*command, "--out", str(tmp_path / "run")], prefixes, "10.77.0.1")
        assert "run directory" in outputs[0]
    finally:
        for name in names:
            ip("netns", "delete", name)


def ip(*arguments: str) -> int:
    """Run ip; return whether it failed."""
    return subprocess.run(["ip", *arguments], capture_output=True, check=False).returncode
