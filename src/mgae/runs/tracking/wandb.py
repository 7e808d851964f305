"""Weights & Biases: a run of a project, online or offline."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import wandb

from mgae.runs.tracking.tracker import Tracker, remember, remembered


class WandB(Tracker):
    """Goes by W&B's own variables, such as WANDB_PROJECT and WANDB_MODE."""

    _run: Any = None

    def begin(self, name: str, settings: Mapping[str, Any], folder: Path | None) -> None:
        """Begin a run, or go on with the one of a folder."""
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", "mgae"),
            name=name,
            config=dict(settings),
            dir=None if folder is None else str(folder),
            id=remembered(folder, "wandb"),
            resume="allow",
            reinit="create_new",
        )
        remember(folder, "wandb", self._run.id)

    def log(self, figures: Mapping[str, float], epoch: int) -> None:
        """Add a point to each curve; points that a resumed run has already are not added again."""
        self._run.log(dict(figures), step=epoch)

    def end(self, figures: Mapping[str, float], verdict: str | None) -> None:
        """Put the figures and the verdict into the summary."""
        self._run.summary.update({**figures, **({} if verdict is None else {"verdict": verdict})})
        self._run.finish()

    def stop(self) -> None:
        """Close the run as failed."""
        self._run.finish(exit_code=1)
