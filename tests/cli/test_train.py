"""End to end, through the real command line in a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mgae.cli.app import main

SETTINGS = {
    "encoder.hidden_channels": 8,
    "decoder.hidden_channels": 8,
    "evaluation.heuristics": [],
    "train.checkpoint_seconds": 0,
}
SMALL = [text for key, value in SETTINGS.items() for text in ("--set", f"{key}={value}")]


def mgae(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mgae", *arguments]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, timeout=120
    )


def test_training_ends_in_a_table_beside_the_papers_figures(tmp_path: Path) -> None:
    done = mgae("train", "--set", "train.epochs=2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for text in ("mgae gcn", "paper (Table 2)", "93.52 ± 0.23", "common-neighbors", "random-init"):
        assert text in done.stdout
    assert "run directory: runs/cora-links-mgae-gcn" in done.stdout
    assert "2,708 nodes, 5,278 edges" in done.stderr
    assert (tmp_path / "runs/cora-links-mgae-gcn/metrics.json").exists()


@pytest.mark.parametrize(
    ("arguments", "beside"),
    [("", ["combined"]), ("cora --seed 3 --runs 2", ["combined"]), ("cora --no-recipe", [])]
    + [
        (f"cora {option}", [])
        for option in ("--epochs 9", "--encoder sage", "--set train.epochs=9")
    ]
    + [("citeseer", []), ("cora --task nodes", [])],
)
def test_the_plain_command_has_the_default_recipe_beside(
    tmp_path: Path, monkeypatch: Any, arguments: str, beside: list[str]
) -> None:
    """The embedded graph alone, and only if no setting was given."""
    asked: list[Any] = []

    def stop(settings: Any, *given: Any, **options: Any) -> None:
        asked.append(settings)
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mgae.runs.pipeline.run", stop)
    with pytest.raises(SystemExit):
        main(["train", *arguments.split()])
    assert list(asked[0].evaluation.beside) == beside


def test_a_method_beside_has_a_row_and_stays_when_the_run_is_measured_again(
    tmp_path: Path, capsys: Any
) -> None:
    settings = [*SMALL, "--set", 'evaluation.beside=["spectral"]']
    run = str(tmp_path / "run")
    for command in (["train", "cora", *settings, "--epochs", "1", "--out", run], ["evaluate", run]):
        with pytest.raises(SystemExit):
            main([*command, "--json"])
        answer = json.loads(capsys.readouterr().out)
        assert answer["beside"]["spectral"]["auc"]["mean"] > 60
    with pytest.raises(SystemExit):
        main(["evaluate", run])
    assert "spectral (default recipe)" in " ".join(capsys.readouterr().out.split())


def test_json_is_one_object_and_nothing_else(tmp_path: Path) -> None:
    arguments = ["train", "cora", "--json", "--runs", "2", "--seed", "3", "--encoder", "sage"]
    done = mgae(*arguments, *SMALL, "--set", "train.epochs=2", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert result["seeds"] == [3, 4]
    assert (result["dataset"], result["method"], result["encoder"]) == ("cora", "mgae", "sage")
    assert (result["task"], result["protocol"]) == ("links", "paper")
    auc = result["test"]["auc"]
    assert auc["mean"] == pytest.approx(sum(auc["values"]) / 2)
    assert 50 < auc["mean"] <= 100
    assert len(result["seconds"]) == len(result["epochs"]) == 2
    assert result["published"]["auc"] == {"mean": 95.05, "std": 0.76}
    assert (tmp_path / result["directory"] / "seed-4" / "model.safetensors").exists()


def test_node_classification(tmp_path: Path) -> None:
    arguments = ["train", "cora", "--task", "nodes", "--json", "--protocol", "strict"]
    done = mgae(*arguments, *SMALL, "--set", "train.epochs=2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)["test"]) == {"accuracy", "macro_f1", "micro_f1"}


def test_a_file_of_settings_is_below_the_options(tmp_path: Path) -> None:
    settings = '[mask]\nratio = 0.3\n[train]\nepochs = 1\n[encoder]\nkind = "sage"\n'
    (tmp_path / "own.toml").write_text(settings)
    arguments = ["train", "--config", "own.toml", "--mask-ratio", "0.5", "--out", "run", "-q"]
    assert mgae(*arguments, *SMALL, cwd=tmp_path).returncode == 0
    written = (tmp_path / "run" / "config.toml").read_text()
    assert "ratio = 0.5" in written
    assert 'kind = "sage"' in written


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("train --mask-ratio 1.2", "mask.ratio must be a number in [0, 1), got 1.2"),
        (
            "train --encoder gcnn",
            "unknown encoder 'gcnn': known are gat, gcn, gin, sage (did you mean gcn?)",
        ),
        ("train --set mask.rato=0.5", "unknown setting mask.rato"),
        ("train nosuch", "unknown dataset 'nosuch': known are amazon-computers, "),
        ("train --runs 0", "runs must be an integer in [1, 10000], got 0"),
        ("train --out file/below", "cannot write to file/below"),
        ("train --out .", "is not empty"),
        ("train --mask-ratio much", "--mask-ratio"),
        ("train --nosuch", "No such option"),
        ("nosuch", "No such command"),
        ("train --resume file", "is not a run directory"),
        ("train --resume run --seed 3", "leave out seed"),
        ("train --config file", "is not TOML"),
        ("train --set train.monitor=luck --quiet", "unknown train.monitor 'luck'"),
        ("evaluate nosuch", "is not a run directory"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    tmp_path: Path, monkeypatch: Any, capsys: Any, arguments: str, message: str
) -> None:
    (tmp_path / "file").write_text("not = [")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(arguments.split())
    printed = capsys.readouterr()
    assert (stop.value.code, printed.out) == (2, "")
    assert message in printed.err
    assert len(printed.err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_process_itself_ends_with_code_2(tmp_path: Path) -> None:
    done = mgae("train", "--encoder", "gcnn", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "mgae: unknown encoder 'gcnn': known are gat, gcn, gin, sage (did you mean gcn?)\n"
    )


def start(out: Path) -> subprocess.Popen[str]:
    arguments = ["train", "--out", str(out), "--quiet", *SMALL, "--set", "train.epochs=40"]
    command = [sys.executable, "-m", "mgae", *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def wait_for_epoch(out: Path, epoch: int) -> None:
    history = out / "history.jsonl"
    deadline = time.monotonic() + 60
    while not history.exists() or history.read_text().count("\n") < epoch:
        assert time.monotonic() < deadline, "training did not get there"
        time.sleep(0.002)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: Any) -> Path:
    out = tmp_path_factory.mktemp("whole") / "run"
    with start(out) as process:
        assert process.wait() == 0
    return out


def assert_same(left: Path, right: Path) -> None:
    for name in ("metrics.json", "model.safetensors", "history.jsonl", "split.safetensors"):
        assert (left / name).read_bytes() == (right / name).read_bytes(), name


def test_killed_at_several_moments_it_ends_with_the_same_bits(tmp_path: Path, whole: Path) -> None:
    out = tmp_path / "run"
    with start(out) as process:
        wait_for_epoch(out, 3)
        process.kill()
    for epoch in (11, 27):
        command = [sys.executable, "-m", "mgae", "train", "--resume", str(out), "--quiet"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            wait_for_epoch(out, epoch)
            process.kill()
        assert not (out / "metrics.json").exists()
    assert mgae("train", "--resume", str(out), cwd=tmp_path).returncode == 0
    assert_same(out, whole)


@pytest.fixture
def heeding() -> Iterator[None]:
    """A shell's background job ignores Ctrl-C, and what it starts would, too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeding")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_a_checkpoint_and_says_how_to_go_on(
    tmp_path: Path, whole: Path, number: signal.Signals, code: int
) -> None:
    out = tmp_path / "run"
    with start(out) as process:
        wait_for_epoch(out, 5)
        process.send_signal(number)
        _, errors = process.communicate()
    assert process.returncode == code
    assert f"mgae train --resume {out}" in errors
    assert "Traceback" not in errors
    assert mgae("train", "--resume", str(out), cwd=tmp_path).returncode == 0
    assert_same(out, whole)


def test_a_second_writer_is_refused_at_once_and_damages_nothing(
    tmp_path: Path, whole: Path
) -> None:
    out = tmp_path / "run"
    with start(out) as process:
        wait_for_epoch(out, 3)
        process.send_signal(signal.SIGSTOP)  # it holds the lock for as long as this test needs
        try:
            second = mgae("train", "--resume", str(out), cwd=tmp_path)
            reader = mgae("evaluate", str(out), cwd=tmp_path)
        finally:
            process.send_signal(signal.SIGCONT)
        assert process.wait(timeout=120) == 0
    message = f"mgae: another process is writing to {out}: wait until it ends, or give another"
    assert (second.returncode, second.stdout) == (2, "")
    *graph, refusal = second.stderr.splitlines()
    assert refusal.startswith(message)
    assert all("2,708 nodes" in line for line in graph)
    assert "is not finished" in reader.stderr  # it was read, and nobody waited
    assert_same(out, whole)
    assert not (out / ".lock").exists()


def test_evaluating_a_run_again_gives_its_figures(tmp_path: Path, whole: Path) -> None:
    done = mgae("evaluate", str(whole), "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    stored = json.loads((whole / "metrics.json").read_text())
    assert {name: result[name] for name in stored} == stored


def test_a_second_run_gets_a_directory_of_its_own(tmp_path: Path) -> None:
    for _ in range(2):
        mgae("train", "-q", *SMALL, "--set", "train.epochs=1", cwd=tmp_path)
    names = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert names == ["cora-links-mgae-gcn", "cora-links-mgae-gcn-2"]


def test_help_does_not_load_torch(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom mgae.cli.app import main\n"
        "try:\n    main(['train', '--help'])\n"
        "except SystemExit as stop:\n"
        "    print(stop.code, 'torch' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 False"
