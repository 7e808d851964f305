"""README: its commands and snippets run, one after the other, and print what it says."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from benchmarks.worthreport import with_headline

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
_PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
_COMMAND = re.compile(r"^    \$ (mgae .*)\n((?:    .*\n)+)", re.MULTILINE)
# Figures differ from one processor to the next, and with them how wide a column is.
_FIGURE, _FRAME = re.compile(r"-?\d+(\.\d+)?"), re.compile(r"[━─ ]+")


def shape_of(text: str) -> list[str]:
    """Lines without their figures, and without what the training decides by them."""
    lines = (_FRAME.sub(" ", _FIGURE.sub("#", line)).strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith(("note: seed", "try:"))]


def run(command: list[str], folder: Path) -> str:
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stderr + done.stdout


def test_every_command_and_snippet_does_what_the_page_says(tmp_path: Path) -> None:
    blocks = sorted([*_PYTHON.finditer(README), *_COMMAND.finditer(README)], key=re.Match.start)
    assert len(blocks) == 4
    for block in blocks:
        if block.re is _PYTHON:
            printed = run([sys.executable, "-c", block[1]], tmp_path)
            assert "Fantine" in printed or "Fantine" not in block[1]
            continue
        printed = run([sys.executable, "-m", *block[1].split()], tmp_path)
        shown = block[2].replace("\n    ", "\n").removeprefix("    ")
        if "recommend" in block[1]:
            assert printed.split()[:4] == shown.split()[:4]  # the first name
            assert len(printed.splitlines()) == len(shown.splitlines())
        else:
            assert shape_of(printed)[:-1] == shape_of(shown)[:-1]
            assert shape_of(printed)[-1].startswith("verdict:")


def test_the_headline_rows_are_those_of_the_results() -> None:
    with (ROOT / "results" / "links-planetoid.csv").open(encoding="utf-8") as file:
        cells = [row for row in csv.DictReader(file) if row["metric"] == "auc"]
    ours = {row["dataset"]: row for row in cells if row["method"] == "MGAE-GCN"}
    for name, prefix in (("here", ""), ("the paper", "paper_")):
        (row,) = re.findall(rf"^\| MGAE-GCN, {name} \| (.*) \|$", README, re.MULTILINE)
        for shown, dataset in zip(row.split(" | "), ("cora", "citeseer", "pubmed"), strict=True):
            mean, std = (float(ours[dataset][prefix + figure]) for figure in ("mean", "std"))
            assert shown == f"{mean:.2f} ± {std:.2f}"


def test_it_fits_and_its_links_lead_somewhere() -> None:
    assert len(README.splitlines()) <= 150
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_table_of_worth_is_that_of_the_results() -> None:
    summary = json.loads((ROOT / "results" / "worth.json").read_text(encoding="utf-8"))["summary"]
    assert summary["graphs"] >= 6
    assert with_headline(README, summary) == README
