"""Parts of another package are found again in new processes: by entry points, or by a module."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import mgae
from mgae.core.errors import RunDirectoryError
from mgae.runs.rundirectory import RunDirectory

PROJECT = Path(__file__).parent / "project"
SOURCE = Path(mgae.__file__).parents[1]
SMALL = (
    "encoder.hidden_channels=8",
    "train.epochs=3",
    "evaluation.heuristics=['common-neighbors']",
    "evaluation.hard_negatives=5",
)
# What a user may write into one file, without a package around it.
PLAIN = """
from mgae.registry import DECODERS, ENCODERS

@DECODERS.register("ones", summary="the same for every pair")
class Ones(DECODERS["inner-product"].build):
    pass

ENCODERS.add("my-gcn", "mgae.core:GCN", settings=ENCODERS["gcn"].settings, summary="a new name")
"""


def install(project: Path, target: Path) -> None:
    """Do what pip does with a wheel, without network and build tools: copy, and write metadata."""
    about = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name = about["name"].replace("-", "_")
    shutil.copytree(
        project / name, target / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
    )
    info = target / f"{name}-{about['version']}.dist-info"
    info.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {about['name']}\nVersion: {about['version']}\n"
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    groups = [
        "\n".join([f"[{group}]", *(f"{key} = {value}" for key, value in points.items())])
        for group, points in about["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n\n".join(groups) + "\n", encoding="utf-8")


def run_mgae(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a new process, with the folder ``path`` to import from."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (path, SOURCE)))}
    command = [sys.executable, "-m", "mgae", *arguments]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, cwd=path, check=False
    )


def output(path: Path, *arguments: str) -> str:
    done = run_mgae(path, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def settings(*texts: str) -> list[str]:
    return [word for text in (*SMALL, *texts) for word in ("--set", text)]


def test_a_package_brings_a_decoder_a_mask_and_a_dataset(tmp_path: Path) -> None:
    install(PROJECT, tmp_path)
    parts = settings("decoder.kind=bilinear", "decoder.rank=3", "mask.kind=node-wise")
    trained = json.loads(output(tmp_path, "train", "ladder", *parts, "--out", "run", "--json"))
    config = tomllib.loads((tmp_path / "run/config.toml").read_text(encoding="utf-8"))
    assert config["graph"] == "ladder"
    assert config["decoder"] == {"kind": "bilinear", "module": "tiny_parts.bilinear", "rank": 3}
    assert config["mask"] == {"kind": "node-wise", "module": "tiny_parts.nodewise", "ratio": 0.7}
    assert "module" not in config["encoder"]
    evaluated = json.loads(output(tmp_path, "evaluate", "run", "--json"))
    assert evaluated["test"] == trained["test"]
    links = json.loads(output(tmp_path, "recommend", "run", "--node", "0", "-k", "3", "--json"))
    assert len(links["recommendations"]) == 3
    (tmp_path / "run/report.html").unlink(missing_ok=True)
    output(tmp_path, "report", "run")
    assert "ladder" in (tmp_path / "run/report.html").read_text(encoding="utf-8")


def test_the_list_of_datasets_has_what_a_package_brings(tmp_path: Path) -> None:
    install(PROJECT, tmp_path)
    datasets = {
        entry["name"]: entry for entry in json.loads(output(tmp_path, "datasets", "--json"))
    }
    assert datasets["ladder"]["nodes"] == 80


def test_a_part_of_a_plain_module_is_found_by_the_module_in_the_configuration(
    tmp_path: Path,
) -> None:
    (tmp_path / "my_parts.py").write_text(PLAIN, encoding="utf-8")
    (tmp_path / "edges.csv").write_text(
        "\n".join(f"{u},{v}" for u in range(20) for v in ((u + 1) % 20, (u + 3) % 20)) + "\n",
        encoding="utf-8",
    )
    chosen = settings(
        "method.evidence_epochs=1",
        "decoder.kind=ones",
        "decoder.module=my_parts",
        "encoder.kind=my-gcn",
        "encoder.module=my_parts",
    )
    trained = output(tmp_path, "train", "edges.csv", *chosen, "--out", "run", "--json")
    config = tomllib.loads((tmp_path / "run/config.toml").read_text(encoding="utf-8"))
    assert config["decoder"] == {"kind": "ones", "module": "my_parts"}
    assert config["encoder"]["module"] == "my_parts", "who registers it, not whose class it is"
    evaluated = output(tmp_path, "evaluate", "run", "--json")
    assert json.loads(evaluated)["test"] == json.loads(trained)["test"]
    with pytest.raises(RunDirectoryError, match=r"encoder\.module 'my_parts' cannot be imported"):
        _ = RunDirectory.open(tmp_path / "run").config


@pytest.mark.parametrize("section", ["method", "mask", "encoder", "decoder", "loss"])
def test_every_part_may_name_its_module(section: str) -> None:
    with pytest.raises(mgae.MGAEError, match=rf"{section}\.module 'no_such' cannot be imported"):
        mgae.RunConfig(**{section: {"kind": "any", "module": "no_such"}})
