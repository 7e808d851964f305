"""Tutorials: pages of Markdown whose Python blocks are run as the cells of a notebook.

A block that begins with ```` ```python check ```` holds assertions on what the text claims: it is
run with the others, and not shown.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

_BLOCK = re.compile(r"^```python( check)?\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
_RUNNER = Path(__file__).with_name("runcells.py")
_CACHE = Path("build") / "tutorials"


class CellError(Exception):
    """A cell raised an exception."""


@dataclass(frozen=True)
class Cell:
    """A piece of text, or of Python with what it printed and drew."""

    source: str
    is_code: bool = False
    is_shown: bool = True
    text: str = ""
    images: tuple[str, ...] = ()  # PNG in base64


def is_tutorial(name: str) -> bool:
    """Return whether a page's cells are run."""
    return name.startswith("tutorials/") and name.endswith(".md") and name != "tutorials/index.md"


def cells_of(markdown: str) -> list[Cell]:
    """Return a page's texts and blocks in their order."""
    cells, end = [], 0
    for block in _BLOCK.finditer(markdown):
        cells += [Cell(markdown[end : block.start()]), Cell(block[2], True, block[1] is None)]
        end = block.end()
    return [cell for cell in [*cells, Cell(markdown[end:])] if cell.source.strip()]


def executed(cells: list[Cell], root: Path) -> list[Cell]:
    """Return the cells with their outputs, which are stored until a cell or the sources change."""
    code = [cell.source for cell in cells if cell.is_code]
    stored = root / _CACHE / f"{_digest(code, root)}.json"
    if not stored.exists():
        outputs = _run(code)
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_text(json.dumps(outputs), encoding="utf-8")
    outputs = iter(json.loads(stored.read_text(encoding="utf-8")))
    return [_with(cell, next(outputs)) if cell.is_code else cell for cell in cells]


def _with(cell: Cell, output: dict[str, Any]) -> Cell:
    return replace(cell, text=output["text"], images=tuple(output["images"]))


def _digest(code: list[str], root: Path) -> str:
    digest = hashlib.sha256(json.dumps(code).encode())
    for path in (_RUNNER, *sorted((root / "src").rglob("*.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _run(code: list[str]) -> list[dict[str, Any]]:
    """Run the cells one after the other, in a new process and an empty folder."""
    root = str(_RUNNER.parents[2])
    paths = [str(Path(root) / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "MPLBACKEND": "agg"}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, str(_RUNNER)], input=json.dumps(code), cwd=folder, env=environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode:
        raise CellError(done.stderr.strip())
    outputs: list[dict[str, Any]] = json.loads(done.stdout)
    return outputs


def page(cells: list[Cell], book: str) -> str:
    """Return the page as Markdown, with outputs and a link to the notebook."""
    parts = []
    for cell in cells:
        if not cell.is_code:
            parts.append(cell.source)
        elif cell.is_shown:
            parts.append(f"```python\n{cell.source}```\n")
            if cell.text:
                parts.append(f"``` {{.text .output}}\n{cell.text}```\n")
            parts += [f"![what the cell draws](data:image/png;base64,{i})\n" for i in cell.images]
    parts.append(f"\nThis page as a notebook: [{book}]({book}).\n")
    return "\n".join(parts)


def notebook(cells: list[Cell]) -> str:
    """Return the page as a Jupyter notebook."""
    shown = [cell for cell in cells if cell.is_shown]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "cells": [_as_json(number, cell) for number, cell in enumerate(shown)],
    }
    return json.dumps(book, indent=1, ensure_ascii=False)


def _as_json(number: int, cell: Cell) -> dict[str, Any]:
    basic = {"id": f"cell-{number}", "metadata": {}, "source": cell.source.strip("\n")}
    if not cell.is_code:
        return {"cell_type": "markdown", **basic}
    outputs: list[dict[str, Any]] = []
    if cell.text:
        outputs.append({"output_type": "stream", "name": "stdout", "text": cell.text})
    for image in cell.images:
        data = {"image/png": image}
        outputs.append({"output_type": "display_data", "metadata": {}, "data": data})
    return {"cell_type": "code", "execution_count": None, "outputs": outputs, **basic}
