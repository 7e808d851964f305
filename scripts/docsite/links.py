"""Check a built site without a network: links, anchors, and that no page loads from elsewhere.

`python -m scripts.docsite.links build/site` prints what is wrong, one line each, and ends with 1.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADS = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}
_NOT_LOADED = {"canonical", "prev", "next", "alternate"}


class Html(HTMLParser):
    """The anchors of a page, what it loads and where it leads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag names."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.leads.append(given["href"])
        if (target := given.get(_LOADS.get(tag, ""))) and given.get("rel") not in _NOT_LOADED:
            self.loads.append(target)


def problems(site: Path) -> list[str]:
    """Return what is wrong with a site, one line each."""
    pages = {path: Html(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    wrong = []
    for path, page in pages.items():
        name = path.relative_to(site)
        wrong += [f"{name} loads {target}" for target in page.loads if _is_elsewhere(target)]
        for target in (*page.loads, *page.leads):
            if path.name != "404.html" and (why := _missing(path, target, pages)):
                wrong.append(f"{name} leads to {target}: {why}")
    for style in site.rglob("*.css"):
        if "url(http" in style.read_text(encoding="utf-8").replace("'", "").replace('"', ""):
            wrong.append(f"{style.relative_to(site)} loads from elsewhere")
    return wrong


def _is_elsewhere(target: str) -> bool:
    return target.startswith("//") or urlsplit(target).scheme in ("http", "https")


def _missing(path: Path, target: str, pages: dict[Path, Html]) -> str:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return ""
    file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    file = file / "index.html" if file.is_dir() else file
    if not file.exists():
        return "no such file"
    anchor = unquote(parts.fragment)
    known = pages[file].anchors if file in pages else {anchor}
    return "" if anchor in known or anchor in ("", "__skip") else "no such anchor"


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]).resolve())
    print("\n".join(wrong) or "all links lead somewhere")
    sys.exit(bool(wrong))
