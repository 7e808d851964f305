"""Damaged run directories are refused in one line; none answers otherwise than before."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from mgae.core.errors import MGAEError
from mgae.core.graph import MessageGraph
from mgae.data.atomic import read_tensors, write_tensors
from mgae.reporting.gathering import gather
from mgae.runs.config import RunConfig
from mgae.runs.pipeline import Observer, evaluate, resume, run
from mgae.runs.rundirectory import RunDirectory
from mgae.runs.trial import Trial
from mgae.serving import Predictor
from tests.conftest import toy_data
from tests.reliability import Tally

STORED = Path(__file__).parent / "stored"
CONFIG = RunConfig(
    graph="toy",
    method="mgae",
    encoder={"kind": "gcn", "hidden_channels": 4},
    decoder={"hidden_channels": 4},
    train={"epochs": 2, "checkpoint_seconds": 0.0},
    evaluation={"heuristics": (), "hard_negatives": 0},
)


class Notes(Observer):
    def __init__(self) -> None:
        self.texts: list[str] = []

    def on_note(self, text: str) -> None:
        self.texts.append(text)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "finished"
    run(CONFIG, toy_data(), folder)
    return folder


def read_all(folder: Path) -> None:
    """Read every file of a run through its own reader, as the commands do."""
    directory = RunDirectory.open(folder).run(0)
    config, graph = directory.config, directory.graph()
    message = MessageGraph.of(graph)
    trial = Trial(config, graph, message, directory.split(graph, message))
    directory.load_weights(trial.method)
    directory.calibrations()
    directory.seed_result()
    directory.epochs()
    directory.environment()
    directory.checkpoints().newest()


def files(folder: Path) -> list[Path]:
    unread = ("embeddings.parquet", "report.html", ".lock")
    result = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return [file.relative_to(folder) for file in result if file.name not in unread]


def damage(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    os.utime(file, ns=(0, random.getrandbits(62)))  # a test is faster than the clock of a disk


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_every_flipped_bit_is_refused(finished: Path, tmp_path: Path, tally: Tally) -> None:
    folder, draw = tmp_path / "run", random.Random(0)
    shutil.copytree(finished, folder)
    read_all(folder)
    for name in files(folder):
        content = (folder / name).read_bytes()
        for bit in draw.sample(range(8 * len(content)), 4):
            tally.add("flipped_bits")
            damage(folder / name, flipped(content, bit))
            with pytest.raises(MGAEError):
                read_all(folder)
        damage(folder / name, content)
    read_all(folder)


def spoiled(content: bytes, draw: random.Random) -> bytes:
    """Empty, cut, flip, repeat or overwrite."""
    middle = draw.randrange(len(content))
    ways = [
        b"", b"{}", b"[]", b"null", b"\0" * len(content), content[:middle], content * 2,
        flipped(content, draw.randrange(8 * len(content))),
        content[:middle] + draw.randbytes(8) + content[middle + 8 :],
    ]  # fmt: skip
    return draw.choice(ways)


@pytest.mark.parametrize("rounds", [6, pytest.param(120, marks=pytest.mark.slow)])
def test_damage_to_a_run_without_checksums_is_one_line(
    tmp_path: Path, rounds: int, tally: Tally
) -> None:
    """Old runs may answer otherwise after a flipped bit, but never with a traceback."""
    folder, draw = tmp_path / "run", random.Random(rounds)
    shutil.copytree(STORED / "finished", folder)
    for name in files(folder):
        content = (folder / name).read_bytes()
        for _ in range(rounds):
            tally.add("damaged_directories")
            damage(folder / name, spoiled(content, draw))
            try:
                read_all(folder)
                resume(folder)
            except MGAEError as error:
                assert "\n" not in str(error)
        damage(folder / name, content)


def test_damage_to_a_checkpoint_without_checksums_is_one_line(tmp_path: Path) -> None:
    folder, draw = tmp_path / "run", random.Random(0)
    for name in ("latest.json", "epoch-000005.safetensors"):
        for _ in range(4):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(STORED / "broken-off", folder)
            file = folder / "checkpoint" / name
            damage(file, spoiled(file.read_bytes(), draw))
            try:
                resume(folder)
            except MGAEError as error:
                assert "\n" not in str(error)


def test_old_runs_load_with_a_note() -> None:
    notes = Notes()
    evaluate(STORED / "finished", notes)
    assert any("no checksums" in text for text in notes.texts)
    assert any("no checksums" in text for text in Predictor.load(STORED / "finished").notes)


def test_evaluate_says_when_its_figures_are_not_those_of_the_run(tmp_path: Path) -> None:
    folder, notes = tmp_path / "run", Notes()
    shutil.copytree(STORED / "finished", folder)
    evaluate(folder, notes)
    assert not any("differ" in text for text in notes.texts)
    weights = read_tensors(folder / "model.safetensors")
    write_tensors(folder / "model.safetensors", {k: v.flip(0) for k, v in weights.items()})
    evaluate(folder, notes)
    assert any("differ from metrics.json: " in text for text in notes.texts)


def test_the_report_refuses_a_damaged_history(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    (folder / "manifest.json").unlink()
    (folder / "history.jsonl").write_text('{"epoch": "x"}\n')
    with pytest.raises(MGAEError, match=r"history\.jsonl: epoch: "):
        gather(folder)
