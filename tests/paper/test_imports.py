"""The paper's tables are the topmost layer: no other part of the package needs them."""

from __future__ import annotations

import ast

from tests.test_layers import imported, modules


def test_only_the_command_line_imports_the_paper() -> None:
    wrong = [
        f"{module} imports {name}"
        for module, path in modules()
        if module.split(".")[1] not in ("paper", "cli")
        for name in imported(ast.parse(path.read_text(encoding="utf-8")))
        if name.startswith("mgae.paper")
    ]
    assert wrong == []


def test_importing_the_package_root_does_not_load_the_paper() -> None:
    import sys

    import mgae

    before = {name for name in sys.modules if name.startswith("mgae.paper")}
    assert mgae.paper_config is not None
    assert {name for name in sys.modules if name.startswith("mgae.paper")} == before
