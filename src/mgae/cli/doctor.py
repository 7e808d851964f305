"""``mgae doctor``: what this installation has, and whether it computes."""

from __future__ import annotations

import importlib.util
import json
import time
from dataclasses import asdict, dataclass
from typing import Any

import typer

from mgae.cli.flags import Json, Quiet

# The extras, and the modules that each of them brings.
_EXTRAS = {
    "serve": ("fastapi", "uvicorn", "prometheus_client"),
    "map": ("umap",),
    "fast": ("sklearnex",),
    "ann": ("faiss",),
    "ray": ("ray",),
    "sweep": ("optuna",),
    "ogb": ("ogb",),
    "peers": ("gensim",),
    "track": ("tensorboard", "mlflow"),
    "wandb": ("wandb",),
    "onnx": ("onnx", "onnxscript"),
    "lancedb": ("lancedb",),
    "hub": ("huggingface_hub",),
}
_TEST_EPOCHS = 20
_LEAST_AUC = 70.0  # of Cora after so few epochs; without learning it is 50


@dataclass(frozen=True)
class Finding:
    """One line: ``ok`` is None where there is nothing to be wrong."""

    what: str
    value: str
    ok: bool | None = None


def doctor(as_json: Json = False, quiet: Quiet = False) -> int:
    """Print versions, threads, devices and extras, and train for some seconds as a test."""
    from mgae.core.training import devices_here
    from mgae.data.datasets.sources import cache_folder, mirror_folder
    from mgae.runs.environment import environment

    here = environment([], [])
    installed = ", ".join(f"{name} {number}" for name, number in here["versions"].items() if number)
    mirror = mirror_folder()
    findings = [
        Finding("versions", installed),
        Finding("processor", f"{here['processor']}, {here['cores']} cores"),
        Finding("threads", str(here["threads"])),
        Finding("memory", f"{here['memory_gib']} GiB"),
        Finding("devices", ", ".join(devices_here())),
        Finding("bfloat16", "in the processor" if here["bfloat16"] else "not in the processor"),
        Finding("extras", _extras()),
        Finding("cache", str(cache_folder())),
        Finding("MGAE_DATA", "not set" if mirror is None else str(mirror)),
        _self_test(),
    ]
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in findings], indent=2))
    else:
        width = max(len(one.what) for one in findings)
        for one in findings:
            verdict = {None: "", True: "  ok", False: "  WRONG"}[one.ok]
            typer.echo(f"{one.what:{width}}  {one.value}{verdict}")
    return int(any(one.ok is False for one in findings))


def _extras() -> str:
    """Return which extras are there, and how to get the others."""
    there = {name: all(map(importlib.util.find_spec, modules)) for name, modules in _EXTRAS.items()}
    present = ", ".join(name for name, is_there in there.items() if is_there) or "none"
    missing = ",".join(name for name, is_there in there.items() if not is_there)
    return present + (f"; for the others: pip install 'mgae[{missing}]'" if missing else "")


def _self_test() -> Finding:
    """Train on the embedded Cora for a moment."""
    from mgae.core.errors import MGAEError
    from mgae.runs.config import RunConfig
    from mgae.runs.pipeline import run

    started = time.perf_counter()
    quick: dict[str, Any] = {"epochs": _TEST_EPOCHS, "eval_every": _TEST_EPOCHS}
    try:
        auc = run(RunConfig(train=quick, evaluation={"heuristics": []})).test["auc"].mean
    except MGAEError as error:
        return Finding("self-test", str(error), ok=False)
    seconds = time.perf_counter() - started
    text = f"{_TEST_EPOCHS} epochs on Cora in {seconds:.1f} s, AUC {auc:.1f}"
    return Finding("self-test", text, ok=auc >= _LEAST_AUC)
