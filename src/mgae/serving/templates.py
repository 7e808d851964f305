"""HTML templates of the report and of the service."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def palette() -> str:
    """Return the style sheet with the groups' colors, light and dark."""
    return (resources.files("mgae.serving") / "palette.css").read_text(encoding="utf-8")


def group_shapes() -> list[str]:
    """Return the path of each group's mark, the last for all other nodes."""
    return re.findall(r'--s\d: "([^"]+)"', palette())


def open_templates(package: str) -> Environment:
    """Return the templates in a package's folder ``templates``; values are escaped in them."""
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["palette"] = Markup(palette())
    return environment


def source_of(text: str) -> str:
    """Return the name of an inline script or style in a Content-Security-Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
