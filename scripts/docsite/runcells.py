"""Run the cells that stand as a JSON list on stdin; print what each printed and drew.

The value of a cell's last expression is printed as in a notebook.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import sys
from typing import Any


def run(source: str, names: dict[str, Any]) -> dict[str, Any]:
    """Return the text that a cell prints, and its figures as PNG in base64."""
    body, last = ast.parse(source), None
    if body.body and isinstance(body.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
        last = ast.Expression(body.body.pop().value)  # type: ignore[attr-defined]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(body, "<cell>", "exec"), names)
        value = eval(compile(last, "<cell>", "eval"), names) if last is not None else None
        if value is not None:
            print(repr(value))
    return {"text": printed.getvalue(), "images": _figures()}


def _figures() -> list[str]:
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return []
    images = []
    for number in pyplot.get_fignums():
        file = io.BytesIO()
        pyplot.figure(number).savefig(file, format="png", dpi=120, bbox_inches="tight")
        images.append(base64.b64encode(file.getvalue()).decode())
    pyplot.close("all")
    return images


if __name__ == "__main__":
    names: dict[str, Any] = {"__name__": "__main__"}
    print(json.dumps([run(source, names) for source in json.load(sys.stdin)]))
