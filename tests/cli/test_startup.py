"""What short commands load: names of modules, since seconds depend on the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

import mgae
from tests.conftest import toy_data
from tests.core.test_imports import modules_after, packages

# Each of these takes as long as all that a recommendation needs, or longer.
SLOW = {"torch_geometric", "sklearn", "pandas", "networkx", "matplotlib", "fastapi", "sympy"}
CALL = "from mgae.cli.app import main\ntry:\n    main({})\nexcept SystemExit as stop:\n    "
CALL += "assert not stop.code"


@pytest.mark.parametrize("command", ["--help", "methods", "datasets", "settings"])
def test_a_list_loads_no_arrays(command: str) -> None:
    modules = modules_after(CALL.format([command]))
    assert not packages(modules) & {"torch", "numpy", "scipy", "pyarrow", *SLOW}


def test_a_recommendation_loads_torch_and_little_else(tmp_path: Path) -> None:
    config = mgae.RunConfig(
        graph="toy",
        method="mgae",
        encoder={"kind": "gcn", "hidden_channels": 4},
        train={"epochs": 1},
        evaluation={"heuristics": ()},
    )
    mgae.run(config, toy_data(), tmp_path / "run", mgae.Observer())
    modules = modules_after(CALL.format(["recommend", str(tmp_path / "run"), "--node", "3"]))
    assert "torch" in modules and "mgae.serving.predictor" in modules
    assert not packages(modules) & SLOW
    late = {"torch._dynamo", "scipy.optimize", "scipy.special", "scipy.stats", "mgae.runs.pipeline"}
    assert not modules & late
