"""The public names: each with an example, all with types."""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import mgae

USER = """
from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

import mgae


class Losses(mgae.Observer):
    def __init__(self) -> None:
        self.losses: list[float] = []

    def on_note(self, text: str) -> None:
        self.notes = text


def use(folder: Path) -> None:
    config: mgae.RunConfig = mgae.paper_config(graph="cora", encoder="sage")
    printed = mgae.published(config)
    auc: tuple[float, float] | None = None if printed is None else printed.figures["auc"]
    result: mgae.RunResult = mgae.run(config, out=folder / "run", observer=Losses())
    mean: float = result.test["auc"].mean
    again = mgae.resume(folder / "run", mgae.Progress()).test["auc"].mean
    mgae.evaluate(folder / "run")
    page: Path = mgae.write_report(folder / "run")
    best = mgae.compare("cora", ["gae"], folder / "compared").ranked[0]
    kind: str = best.config.method.kind
    names: list[str] = mgae.METHODS.names() + mgae.ENCODERS.names() + mgae.DECODERS.names()
    names += mgae.MASKS.names() + mgae.LOSSES.names() + mgae.DATASETS.names()
    graph = mgae.open_graph([("a", "b"), ("b", "c")])
    model = mgae.MGAE(method="mgae", encoder__hidden_channels=8, callbacks=[print, Losses()])
    model = model.set_params(train__epochs=3).fit(graph)
    rows: npt.NDArray[np.float32] = model.transform(graph)
    auc_of_links: float = model.score([("a", "c")], [1])
    epochs: int = len(model.history_)
    model.save(folder / "model")
    predictor: mgae.Predictor = mgae.MGAE.load(folder / "model").predictor()
    for link in mgae.Predictor.load(folder / "model").recommend("a", k=3):
        score: float = link.score
    probabilities = predictor.score_links([("a", "b")]).balanced_probability
    first: float = float(probabilities[0])
    instant: mgae.Predictor = mgae.instant("cora")
    instant.save(folder / "instant")
    try:
        mgae.RunConfig(encoder="gnc")
    except mgae.MGAEError as error:
        code: int = error.exit_code
    warned: type[Warning] = mgae.MGAEWarning
    print(mgae.__version__, mean, again, page, kind, names, rows, auc_of_links, epochs, score)
    print(first, code, warned, auc)
"""


@pytest.mark.parametrize("name", [name for name in mgae.__all__ if name != "__version__"])
def test_every_public_name_has_an_example(name: str) -> None:
    """The examples are run with all other doctests of the source."""
    text = inspect.getdoc(getattr(mgae, name)) or ""
    assert doctest.DocTestParser().get_examples(text), f"mgae.{name} has no example"


def test_a_script_of_a_user_passes_the_strictest_check_of_types(tmp_path: Path) -> None:
    """Every public name is in it. The cache of `make check` is taken, where there is one."""
    assert [name for name in mgae.__all__ if f"mgae.{name}" not in USER] == []
    script = tmp_path / "script.py"
    script.write_text(USER, encoding="utf-8")
    root = Path(__file__).parents[1]
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"]
    command += ["--config-file", str(root / "pyproject.toml"), str(script)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
