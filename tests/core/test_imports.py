"""The core alone: what a fresh process loads with it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PRODUCT = {"pydantic", "typer", "pyarrow", "matplotlib", "torch_geometric"}
USE = """
import mgae.core, torch
for name in mgae.core.__all__:
    getattr(mgae.core, name)
from mgae.core import BCE, GCN, CrossCorrelation, MaskedGraphAutoencoder, MessageGraph, Undirected
from mgae.core import fit
ring = torch.tensor([[1, 4, 0, 2, 1, 3, 2, 4, 0, 3], [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]])
graph = MessageGraph(ring, num_nodes=5, x=torch.eye(5))
model = MaskedGraphAutoencoder(Undirected(0.6), GCN(5, 4), CrossCorrelation(4), BCE())
assert fit(model, graph, epochs=2).epochs == 2
model.embed(graph)
"""


def modules_after(code: str) -> set[str]:
    """The names of all modules that a new process has loaded after ``code``."""
    report = "\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code + report], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def packages(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


def test_every_name_and_a_training_load_nothing_of_the_product() -> None:
    modules = modules_after(USE)
    assert "mgae.core.encoders.gcn" in modules
    assert not packages(modules) & PRODUCT
    ours = {module for module in modules if module.partition(".")[0] == "mgae"}
    assert {module for module in ours if not module.startswith("mgae.core")} <= {
        "mgae",
        "mgae.version",
    }


def test_an_error_class_does_not_wait_for_torch() -> None:
    modules = modules_after("import mgae.core\nfrom mgae.core.errors import GraphError")
    assert "mgae.core.errors" in modules
    assert not packages(modules) & {"torch", "numpy", *PRODUCT}


def test_every_public_name_is_there_and_no_other() -> None:
    import mgae.core

    assert dir(mgae.core) == sorted(mgae.core.__all__)
    assert all(getattr(mgae.core, name).__name__ == name for name in mgae.core.__all__)
    with pytest.raises(AttributeError, match="no attribute 'GCNN'"):
        mgae.core.GCNN  # noqa: B018
