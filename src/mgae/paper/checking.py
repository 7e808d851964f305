"""Tables in README and docs, written from the JSON and compared with it.

A page takes a table between two comments, each on a line of its own:

<!-- results:NAME -->
<!-- end -->
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from mgae.core.errors import RunDirectoryError, hint
from mgae.data.atomic import write_text
from mgae.paper.document import Document, Measured, TableDocument, display, documents
from mgae.paper.pages import body_of, csv_of, draw_results, overview, page_of
from mgae.runs.results import Summary, heading

_UPDATE = "run make results-docs"
_MARKER = re.compile(r"^<!-- (?:results:(.*)|end) -->$", re.MULTILINE)


def check(out: Path, root: Path = Path()) -> list[str]:
    """Return a line for each file that does not equal the JSON; nothing is computed again."""
    docs, pages = _documents(out), _pages(root)
    differing = [
        f"{path} is not what {out} has: {_UPDATE}"
        for path, text in _wanted(out, docs, pages).items()
        if not _has(path, text)
    ]
    undrawn = [f"{path} is missing: {_UPDATE}" for path in _undrawn(out, docs)]
    return [*_miscounted(out, docs), *differing, *undrawn, *_unshown(docs, pages)]


def update(out: Path, root: Path = Path()) -> list[Path]:
    """Write the tables again from the JSON; return the files that have changed."""
    docs = _documents(out)
    wanted = _wanted(out, docs, _pages(root))
    changed = {path: text for path, text in wanted.items() if not _has(path, text)}
    for path, text in changed.items():
        write_text(path, text)
    undrawn = _undrawn(out, docs)
    for stem in dict.fromkeys(path.stem for path in undrawn):
        draw_results(docs[stem], out / f"{stem}.json")
    return [*changed, *undrawn]


def filled(text: str, page: Path, tables: Mapping[str, str]) -> str:
    """Return a page with the tables between their markers, and all else as it was.

    Raises:
        RunDirectoryError: if a marker has no partner, or asks for a table that is not there.
    """
    parts, at = [], 0
    for start, end in _marker_pairs(text, page):
        if start[1] not in tables:
            raise RunDirectoryError(
                f"{page} asks for results:{start[1]}, and there are {', '.join(tables)}"
                f"{hint(start[1], tables)}: mend the marker, or run mgae reproduce first"
            )
        parts += [text[at : start.end()], f"\n\n{tables[start[1]]}\n\n"]
        at = end.start()
    return "".join([*parts, text[at:]])


def _marker_pairs(text: str, page: Path) -> Iterator[tuple[re.Match[str], re.Match[str]]]:
    begun: re.Match[str] | None = None
    for marker in _MARKER.finditer(text):
        ends = marker[1] is None
        if (begun is None) == ends:
            raise _unpaired(begun or marker, page)
        if begun is not None:
            yield begun, marker
        begun = None if ends else marker
    if begun is not None:
        raise _unpaired(begun, page)


def _unpaired(marker: re.Match[str], page: Path) -> RunDirectoryError:
    line = marker.string.count("\n", 0, marker.start()) + 1
    partner = "<!-- results:NAME --> before it" if marker[1] is None else "<!-- end --> of its own"
    return RunDirectoryError(f"{page}, line {line}: {marker[0]} has no {partner}: put it there")


def _documents(out: Path) -> dict[str, Document]:
    docs = documents(out)
    if not docs:
        raise RunDirectoryError(f"{out} has no results: run mgae reproduce NAME first")
    return docs


def _pages(root: Path) -> dict[Path, str]:
    """Return README and docs as they are."""
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


def _wanted(out: Path, docs: dict[str, Document], pages: dict[Path, str]) -> dict[Path, str]:
    """Return each page as it should be."""
    own = {out / "README.md": overview(out)}
    for stem, doc in docs.items():
        own[out / f"{stem}.md"] = page_of(doc)
        own[out / f"{stem}.csv"] = csv_of(doc)
    tables = {stem: body_of(doc) for stem, doc in docs.items()}
    return own | {page: filled(text, page, tables) for page, text in pages.items()}


def _undrawn(out: Path, docs: dict[str, Document]) -> list[Path]:
    paths = [out / f"{stem}{kind}" for stem in docs for kind in (".png", ".svg")]
    return [path for path in paths if not path.is_file()]


def _unshown(docs: dict[str, Document], pages: dict[Path, str]) -> list[str]:
    """Return tables that no page takes, but for those with settings changed by hand."""
    shown = {marker[1] for text in pages.values() for marker in _MARKER.finditer(text)}
    return [
        f"neither README.md nor docs/ shows {stem}: "
        f"put <!-- results:{stem} --> and <!-- end --> on two lines of a page, then {_UPDATE}"
        for stem, doc in docs.items()
        if stem not in shown and not (isinstance(doc, TableDocument) and doc.changed)
    ]


def _miscounted(out: Path, docs: dict[str, Document]) -> list[str]:
    """Return tables with a mean or a spread that is not that of its runs, by the first."""
    tables = {stem: doc for stem, doc in docs.items() if isinstance(doc, TableDocument)}
    wrong = {stem: next(_miscounted_figures(doc), None) for stem, doc in tables.items()}
    return [
        f"{out / stem}.json: {what} is not the mean and spread of its runs: "
        f"restore the file, or run mgae reproduce {tables[stem].name} again"
        for stem, what in wrong.items()
        if what is not None
    ]


def _miscounted_figures(doc: TableDocument) -> Iterator[str]:
    for row, dataset, cell in doc.cells():
        if not isinstance(cell, Measured):
            continue
        for metric, stored in (*cell.test.items(), *cell.val.items()):
            true = Summary.of(stored.values)
            pairs = ((true.mean, stored.mean), (true.std, stored.std))
            same = all(math.isclose(*pair, rel_tol=1e-9, abs_tol=1e-9) for pair in pairs)
            if not same or len(stored.values) != cell.runs:
                yield f"{heading(metric)} of {row.name} on {display(dataset)}"
