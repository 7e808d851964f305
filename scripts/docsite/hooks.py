"""Hooks of mkdocs: add what does not lie in docs/, and run the cells of the tutorials.

Files of the repository outside docs/ keep their path in the site, so that links between pages
work in a clone and in the site alike.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url
from scripts.docsite import notebooks, reference, routes

ROOT = Path(__file__).parents[2]
_GENERATED = {
    "reference/command-line.md": reference.command_line,
    "reference/settings.md": reference.settings,
    "reference/http.md": routes.routes,
    "examples.md": reference.examples,
}
_OUTSIDE = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "LICENSE",
    "results/*.*",
    "deploy/*",
    "examples/**/*.*",
    "src/mgae/data/datasets/embedded/README.md",
)
_FAR_SHIM = "https://unpkg.com/iframe-worker/shim"
_LINK = re.compile(r"(\]\()([^)\s#:]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add generated pages, and files of the repository that pages link to."""
    for pattern in _OUTSIDE:
        for path in sorted(ROOT.glob(pattern)):
            if "__pycache__" not in path.parts:
                name = path.relative_to(ROOT).as_posix()
                files.append(File.generated(config, name, abs_src_path=str(path)))
    for name, make in _GENERATED.items():
        files.append(File.generated(config, name, content=make()))
    for file in list(files.documentation_pages()):
        if notebooks.is_tutorial(file.src_uri):
            book = posixpath.splitext(file.src_uri)[0] + ".ipynb"
            files.append(File.generated(config, book, content=notebooks.notebook(_executed(file))))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links lead to where files lie in the site; put outputs under the cells of a tutorial."""
    if notebooks.is_tutorial(page.file.src_uri):
        markdown = notebooks.page(_executed(page.file), page.file.name + ".ipynb")
    here = posixpath.dirname(_path_in_repository(page.file))
    site_folder = posixpath.dirname(page.file.src_uri)

    def moved(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(here, match[2]))
        if not (ROOT / target).exists():
            return match[0]  # mkdocs warns of it, unless it is generated
        return match[1] + posixpath.relpath(target.removeprefix("docs/"), site_folder or ".")

    return _LINK.sub(moved, markdown)


def _path_in_repository(file: File) -> str:
    source = Path(file.abs_src_path) if file.abs_src_path else ROOT / "docs" / file.src_uri
    return source.relative_to(ROOT).as_posix()


def _executed(file: File) -> list[notebooks.Cell]:
    cells = notebooks.cells_of(file.content_string)
    if os.environ.get("MGAE_DOCS_CELLS") == "skip":  # the tests run them by themselves
        return cells
    try:
        return notebooks.executed(cells, ROOT)
    except notebooks.CellError as error:
        raise PluginError(f"{file.src_uri}: {error}") from None


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:
    """Let pages that are opened from the disk search with our script, not with one from afar."""
    return output.replace(_FAR_SHIM, get_relative_url("fileworker.js", page.url))


def on_post_template(output: str, *, template_name: str, config: MkDocsConfig) -> str:
    """The same for pages that are no document."""
    return output.replace(_FAR_SHIM, "fileworker.js")
