"""What is published: what wheel and sdist hold, and that the wheel works where nothing else is."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest

from mgae.version import __version__

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "mgae"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], ROOT)
    return folder


def run(command: list[str], folder: Path, **environment: str) -> str:
    """Return what a command prints to stdout; it must not find the repository's sources."""
    inherited = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "MGAE_DATA")}
    done = subprocess.run(
        command, cwd=folder, env={**inherited, **environment}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_the_wheel_holds_the_package_and_nothing_else(dist: Path) -> None:
    (wheel,) = dist.glob(f"mgae-{__version__}-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = message_from_bytes(archive.read(f"mgae-{__version__}.dist-info/METADATA"))
    sources = {
        path.relative_to(SOURCE.parent).as_posix()
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if ".dist-info/" not in name} == sources
    assert {"mgae/py.typed", "mgae/data/datasets/embedded/cora.npz"} <= sources
    licences = {name.partition("/licenses/")[2] for name in names if "/licenses/" in name}
    assert licences == set(PROJECT["project"]["license-files"])
    description = str(metadata.get_payload())
    assert description.startswith("# mgae") and "pip install" in description
    assert not re.findall(r"\]\((?!https?://)[^)]*\)", description)  # nothing that an index breaks


def test_the_sdist_has_what_is_needed_to_build_and_test(dist: Path) -> None:
    with tarfile.open(dist / f"mgae-{__version__}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "constraints.txt"} <= names
    assert {"src/mgae/__init__.py", "tests/test_packaging.py", "docs/index.md"} <= names
    assert not [name for name in names if name.startswith(("build/", ".venv/", "results/cells/"))]


def test_the_version_is_the_changelogs_newest_and_each_python_has_its_classifier() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\d\S+) — \d{4}-\d\d-\d\d$", changes, re.MULTILINE)[0] == __version__
    listed = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    tried = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert all(f'"{version}"' in tried for version in listed)


def pythons() -> dict[str, str]:
    """Return an interpreter of each version that is allowed and there."""
    there: dict[str, str] = {}
    folders = [*os.get_exec_path(), *map(str, Path.home().glob(".pyenv/versions/3.*/bin"))]
    for folder in folders:
        for minor in range(11, 15):
            path = Path(folder) / f"python3.{minor}"
            command = [str(path), "-c", "import sys; print(sys.version_info[1])"]
            if f"3.{minor}" not in there and path.exists():
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.stdout.strip() == str(minor):
                    there[f"3.{minor}"] = str(path)
    return there


def environment(folder: Path, python: str, *requirements: str) -> str:
    """Return the interpreter of a new environment with these packages."""
    uv = [sys.executable, "-m", "uv"]
    links = (
        {"UV_FIND_LINKS": os.environ["PIP_FIND_LINKS"]} if "PIP_FIND_LINKS" in os.environ else {}
    )
    run([*uv, "venv", "--python", python, str(folder)], ROOT, **links)
    inside = str(folder / "bin" / "python")
    run([*uv, "pip", "install", "--python", inside, *requirements], folder, **links)
    return inside


def use(python: str, folder: Path) -> None:
    """Go the user's way once: train, ask, export, serve."""
    mgae = [python, "-m", "mgae"]
    rows = [f"n{one},n{(one + step) % 60}" for one in range(60) for step in (1, 2, 5)]
    (folder / "edges.csv").write_text("\n".join(["source,target", *rows]), encoding="utf-8")
    trained = json.loads(
        run([*mgae, "train", "--quiet", "--json", "--epochs", "2", "--no-recipe"], folder)
    )
    assert trained["dataset"] == "cora"
    own = ["train", "edges.csv", "--quiet", "--json", "--epochs", "2", "--out", "run"]
    assert 0 <= json.loads(run([*mgae, *own], folder))["test"]["auc"]["mean"] <= 100
    links = json.loads(run([*mgae, "recommend", "run", "--node", "n3", "--json"], folder))
    assert len(links["recommendations"]) == 10
    run([*mgae, "score", "run", "edges.csv", "-o", "scores.csv"], folder)
    run([*mgae, "embed", "run", "-o", "z.parquet"], folder)
    run([*mgae, "doctor"], folder)
    serving = "import mgae.serving.service.application as a, mgae; "
    code = serving + "print(len(a.create_app(mgae.Predictor.load('run')).openapi()['paths']))"
    assert int(run([python, "-c", code], folder)) >= 8


@pytest.mark.slow  # each installs torch into an environment of its own
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("version", [f"3.{minor}" for minor in range(11, 14)])
def test_the_wheel_works_in_an_empty_environment(version: str, dist: Path, tmp_path: Path) -> None:
    if version not in (there := pythons()):
        pytest.skip(f"Python {version} is not here")
    (wheel,) = dist.glob("*.whl")
    constraints = ["-c", str(ROOT / "constraints.txt")]
    python = environment(tmp_path / "env", there[version], f"{wheel}[serve]", *constraints)
    use(python, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_lowest_versions_that_are_allowed_work(dist: Path, tmp_path: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    lowest = ["--resolution", "lowest-direct"]
    use(environment(tmp_path / "env", sys.executable, f"{wheel}[serve]", *lowest), tmp_path)
