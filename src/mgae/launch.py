"""Train on a Ray cluster: the same loop, in workers that Ray Train starts (extra ``ray``).

torchrun needs nothing of this module: ``torchrun --nproc-per-node 2 -m mgae train ...``.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from mgae.core.errors import TrainingError, UnsupportedError
from mgae.core.training import distributed
from mgae.runs.config import RunConfig
from mgae.runs.pipeline import resume, run
from mgae.runs.rundirectory import RunDirectory


def on_ray(
    config: RunConfig,
    out: str | Path,
    workers: int = 2,
    *,
    use_gpu: bool = False,
    max_failures: int = 0,
    storage: str | Path | None = None,
) -> dict[str, Any]:
    """Train in several workers of the Ray cluster that is connected to, or of a local one.

    Args:
        config: what to run; ``config.graph`` must be there on every machine.
        out: the run directory, on a file system that all machines see; if it holds a run that was
            broken off, that one is gone on with.
        workers: how many ranks.
        use_gpu: whether each of them takes a GPU.
        max_failures: how often Ray starts the workers again, from the last checkpoint.
        storage: where Ray keeps its own notes; None: its usual folder.

    Returns:
        the content of ``metrics.json``.

    Raises:
        UnsupportedError: if Ray is not installed.
        TrainingError: if a worker fails once too often, with what it said.
    """
    train, torch_train = _ray("ray.train"), _ray("ray.train.torch")
    trainer = torch_train.TorchTrainer(
        _work,
        train_loop_config={"config": config.model_dump(exclude_none=True), "out": str(out)},
        scaling_config=train.ScalingConfig(num_workers=workers, use_gpu=use_gpu),
        run_config=train.RunConfig(
            storage_path=None if storage is None else str(storage),
            failure_config=train.FailureConfig(max_failures=max_failures),
        ),
    )
    try:
        trainer.fit()
    except _ray("ray.train.v2.api.exceptions").TrainingFailedError as error:
        failures = getattr(error, "worker_failures", {}).values()
        said = next((str(failure) for failure in failures), str(error))
        raise TrainingError(f"a worker on Ray failed: {' '.join(said.split())[-500:]}") from error
    return RunDirectory.open(Path(out)).metrics()


def _work(settings: dict[str, Any]) -> None:
    """Be one rank: Ray has joined them already."""
    out = Path(settings["out"])
    if distributed.from_first((out / "config.toml").exists):
        resume(out)
    else:
        run(RunConfig(**settings["config"]), out=out)


def _ray(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UnsupportedError(
            "mgae.launch needs Ray, which is not installed: pip install 'mgae[ray]'"
        ) from None
