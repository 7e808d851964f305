"""Load a run for a command, or answer for a graph at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mgae.cli.graphoptions import refuse
from mgae.core.errors import ConfigError

if TYPE_CHECKING:
    from mgae.serving import Predictor


def load(run: Path, number: int, device: str | None, progress: Any) -> Predictor:
    """Load one of the runs in a directory."""
    progress.on_share(f"loading {run}", 0.0)
    from mgae.serving import Predictor

    return Predictor.load(run, number, device)


def is_graph(run: Path) -> bool:
    """Return whether this is a graph, a file or a dataset's name, and no run directory."""
    if run.expanduser().is_dir():
        from mgae.data.large.folder import is_prepared

        return is_prepared(run.expanduser())
    from mgae.registry import DATASETS

    return run.expanduser().is_file() or str(run) in DATASETS


def load_or_open(
    run: Path, number: int, device: str | None, given: dict[str, Any], progress: Any
) -> Predictor:
    """Load a run, or answer for a graph at once."""
    if not is_graph(run):
        refuse(given, f"is for a graph, and {run} is a run: leave it out")
        return load(run, number, device, progress)
    if device not in (None, "auto", "cpu"):
        raise ConfigError(
            f"--device {device} is for a run, and {run} is a graph, which is answered on the CPU: "
            "leave it out"
        )
    if number:
        raise ConfigError(f"--run is for a run, and {run} is a graph: leave it out")
    progress.on_share(f"reading {run}", 0.0)
    from mgae.serving.instant import instant

    return instant(str(run), progress.on_share, **given)
