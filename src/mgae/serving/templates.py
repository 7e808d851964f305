"""HTML templates of the report and of the service."""

from __future__ import annotations

from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def palette() -> str:
    """Return the style sheet with the groups' colors, light and dark."""
    return (resources.files("mgae.serving") / "palette.css").read_text(encoding="utf-8")


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
