"""The documentation: it builds without a warning, its links lead somewhere, its commands exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from scripts.docsite import notebooks, routes
from scripts.docsite.links import problems

from mgae.cli.app import app
from mgae.runs.reference import all_settings
from mgae.serving.service import shapes

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md"))]
TUTORIALS = sorted((DOCS / "tutorials").glob("[!i]*.md"))
QUICK = "scikit-learn"  # the tutorial that the fast tests run
_COMMAND = re.compile(r"^(?: {4}|)(?:\$ |.* -m )?mgae ((?:[a-z]|--)(?:.*\\\n)*.*)", re.MULTILINE)
_MAKE = re.compile(r"^ {4}(?:\$ )?make ([a-z-]+)", re.MULTILINE)


def built(site: Path, cells: str) -> str:
    """Build the site with warnings as errors; return what was said."""
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "MGAE_DOCS_CELLS": cells}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(site)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_the_site_builds_without_a_warning_and_needs_no_network(tmp_path: Path) -> None:
    assert not built(tmp_path / "site", "skip")
    assert not problems(tmp_path / "site")
    settings = (tmp_path / "site" / "reference" / "settings.html").read_text(encoding="utf-8")
    assert all(f"<code>{one.name}</code>" in settings for one in all_settings())
    commands = (tmp_path / "site" / "reference" / "command-line.html").read_text(encoding="utf-8")
    assert all(f">mgae {name}<" in commands for name in ("train", "serve", "datasets get"))


def test_requests_of_the_page_on_http_have_the_shapes_of_the_service() -> None:
    bodies = re.findall(r"(/\w+) \\\n +-d '(.*)'", routes.routes())
    assert [path for path, _ in bodies] == ["/score", "/embed"]
    for shape, (_, body) in zip((shapes.Pairs, shapes.NewNodes), bodies, strict=True):
        shape.model_validate_json(body)


def test_a_link_that_leads_nowhere_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "one.html").write_text(
        '<p id="here"><a href="one.html#here"><a href="#there"><a href="two.html">'
        '<img src="https://example.org/a.png"><a href="https://example.org/">'
    )
    assert problems(tmp_path) == [
        "one.html loads https://example.org/a.png",
        "one.html leads to #there: no such anchor",
        "one.html leads to two.html: no such file",
    ]


def commands_of(page: Path) -> list[list[str]]:
    text = page.read_text(encoding="utf-8")
    lines = (match.replace("\\\n", " ") for match in _COMMAND.findall(text))
    lines_of = [shlex.split(line, comments=True) for line in lines if "…" not in line]
    return [words[: words.index("|")] if "|" in words else words for words in lines_of]


def test_commands_on_pages_are_found() -> None:
    named = [words for page in PAGES for words in commands_of(page)]
    assert len(named) > 80
    assert ["recommend", "my-run", "--node", "Cosette", "-k", "3"] in named


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_options_and_settings_on_a_page_exist(page: Path) -> None:
    root: Any = typer.main.get_command(app)
    names = {setting.name for setting in all_settings()}
    for words in commands_of(page):
        command, rest = root, list(words)
        while hasattr(command, "commands") and rest and rest[0] in command.commands:
            command = command.commands[rest.pop(0)]
        assert command is not root or rest[0].startswith("-"), f"no command: mgae {words}"
        context = command.context_class(command, resilient_parsing=True)
        values, _, _ = command.make_parser(context).parse_args(rest)
        for change in values.get("set_") or ():
            name = re.sub(r"(features\.columns).*|=.*", r"\1", change)
            assert name in names, change
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(_MAKE.findall(page.read_text(encoding="utf-8"))) <= targets


def run_cells(page: Path) -> list[notebooks.Cell]:
    return notebooks.executed(notebooks.cells_of(page.read_text(encoding="utf-8")), ROOT)


def test_the_page_for_python_runs() -> None:
    page = (DOCS / "python.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "python.md", "exec"), names)


def test_a_tutorial_runs_and_becomes_a_notebook() -> None:
    cells = run_cells(DOCS / "tutorials" / f"{QUICK}.md")
    assert any(cell.text for cell in cells)
    assert "```python" in notebooks.page(cells, "book.ipynb")


@pytest.mark.slow  # half a minute each, of training
@pytest.mark.parametrize(
    "page", [page for page in TUTORIALS if page.stem != QUICK], ids=lambda page: page.stem
)
def test_every_tutorial_runs(page: Path) -> None:
    assert any(cell.text for cell in run_cells(page))


@pytest.mark.slow  # after the tutorials
def test_the_site_builds_with_all_outputs(tmp_path: Path) -> None:
    built(tmp_path / "site", "run")
    assert not problems(tmp_path / "site")
    assert len(list(tmp_path.rglob("*.ipynb"))) == len(TUTORIALS)
