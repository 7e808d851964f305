"""The house in two storeys: imports go down, never up, and a file's name says what is in it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from scripts import house

import mgae

SOURCE = Path(mgae.__file__).parent
# A layer imports from itself and from the layers before it.
LAYERS = [
    {"core"},
    {"settings", "registry", "version"},
    {"data"},
    {"evaluation"},
    {"runs"},
    {"serving", "reporting", "paper", "estimator", "launch", "cli"},
]
MOST_ROOT_MODULES = 8
# Files of one name in several folders, and why they are twins.
TWINS = {
    "__init__": "makes a folder a package",
    "base": "the base class of encoders, of decoders and of methods",
    "links": "link prediction: how edges are divided, how predictions are measured, how shown",
    "nodes": "node classification: how nodes are divided, how a probe on them is measured",
}


def layer(module: str) -> int:
    folder = module.split(".")[1]
    return next(index for index, folders in enumerate(LAYERS) if folder in folders)


def imported(tree: ast.AST) -> list[str]:
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return [name for name in names if name.startswith("mgae.")]


def code_of(path: Path) -> str:
    """The text without the lines of doctests."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if not line.lstrip().startswith((">>>", "...")))


def modules() -> list[tuple[str, Path]]:
    paths = [path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.stem[0] != "_"]
    return [
        (".".join(["mgae", *path.relative_to(SOURCE).with_suffix("").parts]), path)
        for path in paths
    ]


def test_imports_only_go_down() -> None:
    wrong = [
        f"{module} imports {name}"
        for module, path in modules()
        for name in imported(ast.parse(path.read_text(encoding="utf-8")))
        if layer(name) > layer(module)
    ]
    assert wrong == []


def test_the_root_has_at_most_eight_modules() -> None:
    names = sorted(path.name for path in SOURCE.glob("*.py"))
    assert len(names) <= MOST_ROOT_MODULES, names


def test_no_two_files_have_one_name_unless_they_are_twins() -> None:
    homes = defaultdict(set)
    for _, path in modules():
        homes[path.stem].add(str(path.parent.relative_to(SOURCE)))
    several = {stem: sorted(folders) for stem, folders in homes.items() if len(folders) > 1}
    assert {stem: folders for stem, folders in several.items() if stem not in TWINS} == {}
    assert TWINS.keys() == several.keys(), "a reason for twins that are none"


def test_the_core_loads_nothing_of_the_product() -> None:
    code = "import sys, mgae.core as core; [getattr(core, name) for name in core.__all__]; "
    code += "print(*{name.partition('.')[0] for name in sys.modules}, sep='\\n')"
    code += "; print(*(name for name in sys.modules if name.startswith('mgae.')), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "torch" in loaded
    assert not loaded & {"pydantic", "typer", "pyarrow", "matplotlib", "fastapi", "jinja2"}
    ours = {name for name in loaded if name.startswith("mgae.")} - {"mgae.version"}
    assert {name.split(".")[1] for name in ours} == {"core"}


def test_no_module_is_a_drawer_for_odds_and_ends() -> None:
    names = {part for module, _ in modules() for part in module.split(".")}
    assert not names & {"utils", "util", "misc", "common", "helpers"}


def test_only_one_file_steps_an_optimizer() -> None:
    stepping = [
        module for module, path in modules() if ".step()" in path.read_text(encoding="utf-8")
    ]
    assert stepping == ["mgae.core.training.state"]


def test_nothing_draws_from_the_global_generator() -> None:
    banned = (
        "manual_seed(",
        "np.random.",
        "set_rng_state",
        "F.dropout",
        "nn.Dropout",
        "\nimport random\n",
    )
    using = {module for module, path in modules() if any(word in code_of(path) for word in banned)}
    assert using == {"mgae.core.seeding"}


def test_public_names_are_there() -> None:
    assert all(getattr(mgae, name) is not None for name in mgae.__all__)
    assert set(dir(mgae)) == set(mgae.__all__)


def test_the_drawing_of_the_house_is_that_of_its_imports() -> None:
    assert house.drawing() == house.DRAWING.read_text(encoding="utf-8"), "run scripts/house.py"
    drawn = {name for names in house.ROWS for name in names}
    drawn |= {f"core/{name}" for names in house.CORE for name in names}
    left_out = {"__init__", "__main__", "version", "core", "core/__init__", "core/errors"}
    assert {house.unit_of(module) for module, _ in modules()} - drawn - left_out == set()
