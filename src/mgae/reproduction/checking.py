"""Tables in README and docs: written from the JSON, and held against it.

A page takes a table between ``<!-- results:NAME -->`` and ``<!-- end -->``, each on its own line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from mgae.errors import RunDirectoryError
from mgae.files import write_text
from mgae.reproduction.document import Record
from mgae.reproduction.overview import documents, overview
from mgae.reproduction.writing import body_of, csv_of, page_of

_MARKED = re.compile(r"(?<=<!-- results:)([a-z0-9-]+)( -->\n)(.*?)(?=<!-- end -->)", re.DOTALL)


def check(out: Path, root: Path = Path()) -> list[str]:
    """What does not equal the JSON, a line for each; nothing is computed again."""
    return [
        f"{path} is not what {out} has: run mgae reproduce --update-docs"
        for path, wanted in _wanted(out, root).items()
        if not path.exists() or path.read_text(encoding="utf-8") != wanted
    ]


def update(out: Path, root: Path = Path()) -> list[Path]:
    """Write the tables anew from the JSON; the pages that have changed."""
    changed = [
        (path, text)
        for path, text in _wanted(out, root).items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path, text in changed:
        write_text(path, text)
    return [path for path, _ in changed]


def _wanted(out: Path, root: Path) -> dict[Path, str]:
    """Each page as it should be."""
    found = documents(out)
    if not found:
        raise RunDirectoryError(f"{out} has no results: run mgae reproduce NAME first")
    own = {out / "README.md": overview(out)}
    for stem, doc in found.items():
        own[out / f"{stem}.md"] = page_of(doc)
        own[out / f"{stem}.csv"] = csv_of(doc)
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    texts = {page: page.read_text(encoding="utf-8") for page in pages if page.exists()}
    return own | {
        page: _MARKED.sub(_filler(found, page, out), text)
        for page, text in texts.items()
        if _MARKED.search(text)
    }


def _filler(found: dict[str, Record], page: Path, out: Path) -> Callable[[re.Match[str]], str]:
    def fill(match: re.Match[str]) -> str:
        name = match[1]
        if name not in found:
            known = ", ".join(found)
            raise RunDirectoryError(f"{page} asks for results:{name}, and {out} has {known}")
        return f"{name}{match[2]}\n{body_of(found[name])}\n\n"

    return fill
