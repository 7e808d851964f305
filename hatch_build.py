"""Give the README to the package's metadata as an index can show it.

Pictures and pages of the repository have no public address, so the picture and the links to pages
are left out there. Once there is an address, make them absolute here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE = re.compile(r"^!\[[^\]]*\]\((?!https?://)[^)]*\)\n+", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?://)[^)]*\)")
_LIST_OF_LINKS = re.compile(r"^## Read on\n.*?(?=^MIT license)", re.DOTALL | re.MULTILINE)


class IndexReadme(MetadataHookInterface):
    """Set the field ``readme``."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Put in the text of README.md without what lies in the repository alone."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": index_text(text)}


def index_text(text: str) -> str:
    """Return the text without relative pictures, and with the words of relative links."""
    return _LINK.sub(r"\1", _PICTURE.sub("", _LIST_OF_LINKS.sub("", text)))
