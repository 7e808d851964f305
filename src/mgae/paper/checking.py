"""Tables in README and docs: written from the JSON, and held against it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from mgae.core.errors import RunDirectoryError
from mgae.data.atomic import write_text
from mgae.paper.document import DONE, Record
from mgae.paper.markers import asked_for, filled
from mgae.paper.overview import documents, overview
from mgae.paper.rendering import cells_of, display
from mgae.paper.writing import body_of, csv_of, draw_results, page_of
from mgae.runs.results import Summary, heading

_UPDATE = "run mgae reproduce --update-docs"


def check(out: Path, root: Path = Path()) -> list[str]:
    """What does not equal the JSON, a line for each; nothing is computed again."""
    found = _found(out)
    pages = _pages(root)
    unlike = [
        f"{path} is not what {out} has: {_UPDATE}"
        for path, text in _wanted(out, found, pages).items()
        if not _has(path, text)
    ]
    undrawn = [f"{path} is missing: {_UPDATE}" for path in _undrawn(out, found)]
    return [*_untrue(out, found), *unlike, *undrawn, *_unshown(found, pages)]


def update(out: Path, root: Path = Path()) -> list[Path]:
    """Write the tables anew from the JSON; the files that have changed."""
    found = _found(out)
    wanted = _wanted(out, found, _pages(root))
    changed = {path: text for path, text in wanted.items() if not _has(path, text)}
    for path, text in changed.items():
        write_text(path, text)
    undrawn = _undrawn(out, found)
    for stem in dict.fromkeys(path.stem for path in undrawn):
        draw_results(found[stem], out / f"{stem}.json")
    return [*changed, *undrawn]


def _found(out: Path) -> dict[str, Record]:
    found = documents(out)
    if not found:
        raise RunDirectoryError(f"{out} has no results: run mgae reproduce NAME first")
    return found


def _pages(root: Path) -> dict[Path, str]:
    """README and docs as they are."""
    paths = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    return {path: _text(path) for path in paths if path.exists()}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise RunDirectoryError(f"cannot read {path}: it is not UTF-8, save it as such") from None
    except OSError as error:
        raise RunDirectoryError(f"cannot read {path}: {error.strerror}") from None


def _has(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8", errors="replace") == text


def _wanted(out: Path, found: dict[str, Record], pages: dict[Path, str]) -> dict[Path, str]:
    """Each page as it should be."""
    own = {out / "README.md": overview(out)}
    for stem, doc in found.items():
        own[out / f"{stem}.md"] = page_of(doc)
        own[out / f"{stem}.csv"] = csv_of(doc)
    tables = {stem: body_of(doc) for stem, doc in found.items()}
    return own | {page: filled(text, page, tables) for page, text in pages.items()}


def _undrawn(out: Path, found: dict[str, Record]) -> list[Path]:
    paths = [out / f"{stem}{kind}" for stem in found for kind in (".png", ".svg")]
    return [path for path in paths if not path.is_file()]


def _unshown(found: dict[str, Record], pages: dict[Path, str]) -> list[str]:
    """Tables that no page takes; one with settings changed by hand is nobody's."""
    shown = {name for text in pages.values() for name in asked_for(text)}
    return [
        f"neither README.md nor docs/ shows {stem}: "
        f"put <!-- results:{stem} --> and <!-- end --> on two lines of a page, then {_UPDATE}"
        for stem, doc in found.items()
        if stem not in shown and not doc.get("changed")
    ]


def _untrue(out: Path, found: dict[str, Record]) -> list[str]:
    """Tables with a mean or a spread that is not that of its runs, by the first."""
    wrong = {stem: next(_miscounted(doc), None) for stem, doc in found.items()}
    return [
        f"{out / stem}.json: {what} is not the mean and spread of its runs: "
        f"restore the file, or run mgae reproduce {found[stem]['name']} again"
        for stem, what in wrong.items()
        if what is not None
    ]


def _miscounted(doc: Record) -> Iterator[str]:
    if doc["kind"] == "statistics":
        return
    for row, dataset, cell in cells_of(doc):
        done = cell["status"] == DONE
        for metric, stored in (*cell["test"].items(), *cell.get("val", {}).items()) if done else ():
            true = Summary.of(stored["values"])
            pairs = ((true.mean, stored["mean"]), (true.std, stored["std"]))
            same = all(math.isclose(*pair, rel_tol=1e-9, abs_tol=1e-9) for pair in pairs)
            if not same or len(stored["values"]) != len(cell["seeds"]):
                yield f"{heading(metric)} of {row['name']} on {display(dataset)}"
