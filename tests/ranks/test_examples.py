"""The files for clusters are well-formed, and start what this version has."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

CLUSTER = Path(__file__).parents[2] / "examples" / "cluster"


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_slurm_script_is_a_script() -> None:
    subprocess.run(["bash", "-n", str(CLUSTER / "slurm.sh")], check=True)


def test_the_kubernetes_file_joins_as_many_pods_as_it_starts() -> None:
    yaml: Any = pytest.importorskip("yaml")
    service, job = yaml.safe_load_all((CLUSTER / "kubernetes.yaml").read_text())
    template = job["spec"]["template"]["spec"]
    (container,) = template["containers"]
    arguments = container["args"]
    assert f"--nnodes={job['spec']['completions']}" in arguments
    assert job["spec"]["parallelism"] == job["spec"]["completions"]
    assert f"--rdzv-endpoint=mgae-0.{service['metadata']['name']}:29500" in arguments
    assert template["subdomain"] == service["metadata"]["name"]
    assert arguments[arguments.index("-m") : arguments.index("-m") + 3] == ["-m", "mgae", "train"]
    assert "--out" in arguments  # torchrun --max-restarts needs it
