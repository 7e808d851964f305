"""Pages held against the JSON: what is not told in one line is not held."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mgae.cli.app import main
from mgae.core.errors import RunDirectoryError
from mgae.paper.checking import check, update
from mgae.paper.document import Record, document
from mgae.paper.running import Request, reproduce
from mgae.paper.tables import table
from mgae.paper.writing import write_results

PAGE = """before
<!-- results:nodes -->
<!-- end -->
between
<!-- results:mask-kind -->
<!-- end -->
after
"""


def stored(name: str, row: str) -> Record:
    """A table with one cell of two runs."""
    spec = table(name)
    summary = {"values": [90.0, 92.0], "mean": 91.0, "std": 2**0.5}
    done = {
        "status": "done",
        "seeds": [0, 1],
        "epochs": [3, 4],
        "seconds": [1.0, 1.0],
        "environment": {"versions": {"torch": "2"}, "cores": 2},
        "test": dict.fromkeys(spec.columns["cora"], summary),
    }
    return document(spec, spec.cells({}), {(row, "cora"): done}, {})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two tables, and a page that has both."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    (tmp_path / "README.md").write_text(PAGE)
    for name, row in (("nodes", "MGAE"), ("mask-kind", "directed")):
        file = tmp_path / "results" / f"{name}.json"
        write_results(stored(name, row), file)
        for kind in (".png", ".svg"):
            file.with_suffix(kind).touch()
    update(Path("results"))
    assert check(Path("results")) == []
    return tmp_path


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(SystemExit) as end:
        main(["reproduce", *arguments])
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    return int(end.value.code or 0), told


def changed(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("<!-- end -->\nbetween", "between", "README.md, line 2: <!-- results:nodes --> has no"),
        ("<!-- end -->\nafter", "after", "<!-- results:mask-kind --> has no <!-- end -->"),
        ("<!-- results:nodes -->\n", "", "<!-- end --> has no <!-- results:NAME --> before it"),
        ("results:nodes", "results:Nodes", "results:Nodes, and there are mask-kind, nodes (did"),
    ],
)
@pytest.mark.parametrize("option", ["--check", "--update-docs"])
def test_a_marker_without_partner_or_table_is_named_and_nothing_is_written(
    home: Path, capsys: pytest.CaptureFixture[str], option: str, old: str, new: str, told: str
) -> None:
    changed(home / "README.md", old, new)
    (home / "results/nodes.csv").unlink()
    before = (home / "README.md").read_bytes()
    code, line = said([option], capsys)
    assert code == 2
    assert told in line
    assert "README.md" in line
    assert (home / "README.md").read_bytes() == before
    assert not (home / "results/nodes.csv").exists()


def test_a_marker_that_is_only_spoken_of_is_none(home: Path) -> None:
    changed(
        home / "README.md", "before\n", "Put `<!-- results:NAME -->` there:\n\n    <!-- end -->\n"
    )
    assert check(Path("results")) == []


UPDATE = "run mgae reproduce --update-docs"


@pytest.mark.parametrize("kind", ["md", "csv", "png", "svg"])
def test_a_lacking_file_is_told_and_made_again(home: Path, kind: str) -> None:
    file = Path("results") / f"nodes.{kind}"
    file.unlink()
    (problem,) = check(Path("results"))
    assert str(file) in problem
    assert UPDATE in problem
    assert update(Path("results")) == [file]
    assert check(Path("results")) == []


@pytest.mark.parametrize("kind", ["md", "csv"])
def test_a_file_that_the_json_does_not_give_is_told(home: Path, kind: str) -> None:
    changed(home / f"results/nodes.{kind}", "91.0", "93.0")
    assert check(Path("results")) == [f"results/nodes.{kind} is not what results has: {UPDATE}"]


def test_a_table_that_no_page_shows_is_told(home: Path) -> None:
    text = (home / "README.md").read_text(encoding="utf-8")
    start, end = text.index("<!-- results:nodes"), text.index("between")
    (home / "README.md").write_text(text[:start] + text[end:], encoding="utf-8")
    (problem,) = check(Path("results"))
    assert "shows nodes: put <!-- results:nodes --> and <!-- end --> on two lines" in problem
    (home / "README.md").unlink()
    assert len(check(Path("results"))) == 2
    (home / "docs").mkdir()
    (home / "docs/tables.md").write_text(PAGE)
    update(Path("results"))
    assert check(Path("results")) == []


def test_settings_changed_by_hand_need_no_page(home: Path) -> None:
    doc = {**stored("nodes", "MGAE"), "changed": {"train": {"epochs": 1}}}
    write_results(doc, home / "results/nodes-changed.json")
    update(Path("results"))
    assert check(Path("results")) == []


@pytest.mark.parametrize(("old", "new"), [("90.0", "89.0"), ("91.0", "91.5"), ("1.414", "1.514")])
def test_runs_that_do_not_give_the_mean_and_spread_are_told(home: Path, old: str, new: str) -> None:
    changed(home / "results/nodes.json", old, new)
    update(Path("results"))
    (problem,) = check(Path("results"))
    assert "results/nodes.json: accuracy of MGAE on Cora is not the mean and spread" in problem
    assert "run mgae reproduce nodes again" in problem


def without(key: str) -> Callable[[Record], Any]:
    def edit(doc: Record) -> Any:
        row = next(row for row in doc["rows"] if row["name"] == "MGAE")
        for place in (doc, row, row["cells"]["cora"]):
            place.pop(key, None)
        return doc

    return edit


DAMAGES: list[Callable[[Record], Any]] = [
    lambda doc: [1],
    lambda doc: 5,
    lambda doc: {"kind": "table"},
    lambda doc: {**doc, "kind": "curve"},
    lambda doc: {**doc, "kind": "statistics"},
    lambda doc: {**doc, "name": "links-ogb"},
    lambda doc: {**doc, "rows": [{"name": "MGAE"}]},
    lambda doc: {**doc, "columns": {}},
    *map(without, ("test", "seeds", "status", "environment", "group", "cells", "rows", "caption")),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_table_of_wrong_shape_is_one_line(
    home: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Record], Any]
) -> None:
    file = home / "results/nodes.json"
    file.write_text(json.dumps(damage(json.loads(file.read_text()))))
    filling = ["nodes", "--datasets", "cora", "--methods", "raw-features"]
    for arguments in (["--check"], ["--update-docs"], filling):
        code, told = said(arguments, capsys)
        assert code == 2
        assert "results/nodes.json is damaged: " in told
        assert told.endswith(": restore it, or move it away\n")


def test_another_table_that_is_damaged_is_told_before_anything_runs(home: Path) -> None:
    (home / "results/nodes.json").write_text("{")
    with pytest.raises(RunDirectoryError, match=r"cannot read results/nodes\.json"):
        reproduce(Request("links-planetoid", datasets=["cora"], methods=["raw-features"]))
    assert not list(home.glob("results/cells/*"))


def test_a_page_that_is_not_utf8_is_one_line(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "README.md").write_bytes("caf\u00e9".encode("latin-1"))
    for option in ("--check", "--update-docs"):
        code, told = said([option], capsys)
        assert (code, "cannot read README.md: it is not UTF-8" in told) == (2, True)
