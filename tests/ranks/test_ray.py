"""The same run in two workers of a local Ray cluster."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mgae.core.errors import UnsupportedError
from mgae.launch import on_ray
from tests.ranks.gang import together
from tests.ranks.test_runs import config, contents, edges_file, from_file


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_ray_gives_the_run_of_torchrun(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'mgae[ray]'")
    edges = edges_file(tmp_path)
    settings = config(graph=edges, runs=1)
    home = Path(__file__).parents[2]
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        runtime_env={"env_vars": {"PYTHONPATH": f"{home / 'src'}:{home}"}},
    )
    try:
        metrics = on_ray(settings, tmp_path / "ray", storage=tmp_path / "notes")
        again = on_ray(settings, tmp_path / "ray", storage=tmp_path / "notes")
    finally:
        ray.shutdown()
    assert metrics == again
    together(from_file, tmp_path / "ranks", edges)
    assert contents(tmp_path / "ray") == contents(tmp_path / "ranks")


def test_ray_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray.train", None)
    with pytest.raises(UnsupportedError, match=r"mgae\[ray\]"):
        on_ray(config(), tmp_path / "run")
