"""Pages compared with the JSON by the script of `make check` and `make results-docs`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripts.results import main

from mgae.core.errors import RunDirectoryError
from mgae.paper.checking import check, update
from mgae.paper.document import TableDocument, document, documents
from mgae.paper.pages import write_results
from mgae.paper.plan import table
from mgae.paper.running import Request, reproduce, reproduce_datasets
from mgae.runs.results import Summary
from tests.paper.test_tables import done

Json = dict[str, Any]

PAGE = """before
<!-- results:nodes -->
<!-- end -->
between
<!-- results:mask-kind -->
<!-- end -->
after
"""


def stored(name: str, row: str) -> TableDocument:
    """A table with one cell of two runs."""
    spec = table(name)
    test = dict.fromkeys(spec.columns["cora"], Summary([90.0, 92.0], 91.0, 2**0.5))
    return document(spec, spec.cells({}), {(row, "cora"): done([90.0, 92.0], [], test=test)}, {})


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


def reported(action: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = main(action)
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return code, error


def changed(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("<!-- end -->\nbetween", "between", "README.md, line 2: <!-- results:nodes --> has no"),
        ("<!-- end -->\nafter", "after", "<!-- results:mask-kind --> has no <!-- end -->"),
        ("<!-- results:nodes -->\n", "", "<!-- end --> has no <!-- results:NAME --> before it"),
        ("results:nodes", "results:Nodes", "results:Nodes, and there are mask-kind, nodes (did"),
    ],
)
@pytest.mark.parametrize("action", ["check", "update"])
def test_a_marker_without_partner_or_table_is_named_and_nothing_is_written(
    home: Path, capsys: pytest.CaptureFixture[str], action: str, old: str, new: str, error: str
) -> None:
    changed(home / "README.md", old, new)
    (home / "results/nodes.csv").unlink()
    before = (home / "README.md").read_bytes()
    code, line = reported(action, capsys)
    assert code == 2
    assert error in line
    assert "README.md" in line
    assert (home / "README.md").read_bytes() == before
    assert not (home / "results/nodes.csv").exists()


def test_a_marker_that_is_only_spoken_of_is_none(home: Path) -> None:
    changed(
        home / "README.md", "before\n", "Put `<!-- results:NAME -->` there:\n\n    <!-- end -->\n"
    )
    assert check(Path("results")) == []


UPDATE = "run make results-docs"


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
    changed = {"changed": {"train": {"epochs": 1}}}
    doc = stored("nodes", "MGAE").model_copy(update=changed)
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


def without(key: str) -> Callable[[Json], Any]:
    def edit(doc: Json) -> Any:
        row = next(row for row in doc["rows"] if row["name"] == "MGAE")
        for level in (doc, row, row["cells"]["cora"]):
            level.pop(key, None)
        return doc

    return edit


DAMAGES: list[Callable[[Json], Any]] = [
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
    home: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Json], Any]
) -> None:
    file = home / "results/nodes.json"
    file.write_text(json.dumps(damage(json.loads(file.read_text()))))
    for action in ("check", "update"):
        code, error = reported(action, capsys)
        assert code == 2
        assert "results/nodes.json is damaged: " in error
        assert error.endswith(": restore it, or move it away\n")
    with pytest.raises(RunDirectoryError, match=r"nodes\.json is damaged: .*: restore it, or move"):
        reproduce(Request("nodes", datasets=["cora"], methods=["raw-features"]))


def test_another_table_that_is_damaged_is_told_before_anything_runs(home: Path) -> None:
    (home / "results/nodes.json").write_text("{")
    with pytest.raises(RunDirectoryError, match=r"cannot read results/nodes\.json"):
        reproduce(Request("links-planetoid", datasets=["cora"], methods=["raw-features"]))
    assert not list(home.glob("results/cells/*"))


def test_a_page_that_is_not_utf8_is_one_line(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "README.md").write_bytes("caf\u00e9".encode("latin-1"))
    for action in ("check", "update"):
        code, error = reported(action, capsys)
        assert (code, "cannot read README.md: it is not UTF-8" in error) == (2, True)


def test_without_results_there_is_nothing_to_compare(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, error = reported("check", capsys)
    assert code == 2
    assert "has no results: run mgae reproduce NAME first" in error


def test_pages_are_written_from_the_json_and_compared_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "README.md"
    page.write_text("before\n<!-- results:datasets -->\n<!-- end -->\nafter\n")
    reproduce_datasets(["cora"], Path("results"))
    code, error = reported("check", capsys)
    assert code == 1
    assert "README.md is not what results has" in error
    assert (main("update"), capsys.readouterr().out) == (0, "written: README.md\n")
    assert main("check") == 0
    assert "| Cora | 2,708 | 2,708 | **5,278** | 5,429 |" in page.read_text()
    assert "the split sums to 105" in page.read_text()
    assert page.read_text().startswith("before\n<!-- results:datasets -->\n")
    assert page.read_text().endswith("<!-- end -->\nafter\n")
    page.write_text(page.read_text().replace("5,278", "5,279"))
    assert main("check") == 1
    page.write_text("<!-- results:nodes -->\n<!-- end -->\n")
    capsys.readouterr()
    assert "asks for results:nodes" in reported("check", capsys)[1]


RESULTS = Path(__file__).parents[2] / "results"


def test_a_table_that_is_read_and_written_again_is_the_same_file(tmp_path: Path) -> None:
    for stem, doc in documents(RESULTS).items():
        write_results(doc, tmp_path / f"{stem}.json")
        assert (tmp_path / f"{stem}.json").read_bytes() == (RESULTS / f"{stem}.json").read_bytes()
