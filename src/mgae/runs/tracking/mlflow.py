"""MLflow: a run of an experiment, in files or at a server."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlflow.entities import Metric, Param, RunStatus
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from mgae.runs.tracking.tracker import Tracker, remember, remembered
from mgae.version import __version__

_AT_ONCE = 100  # parameters of a request; MLflow's limit
_SECONDS = 2.0  # between two requests: an epoch may take less than one of them
_LONGEST = 500  # characters of a parameter, in every version of MLflow


class MLflow(Tracker):
    """Goes by MLflow's own variables, MLFLOW_TRACKING_URI and MLFLOW_EXPERIMENT_NAME."""

    _run = ""

    def begin(self, name: str, settings: Mapping[str, Any], folder: Path | None) -> None:
        """Create a run, or go on with the one of a folder."""
        self._client, self._waiting, self._sent = MlflowClient(), list[Metric](), time.monotonic()
        known = remembered(folder, "mlflow")
        if known is not None and self._resumes(known):
            return
        experiment = os.environ.get("MLFLOW_EXPERIMENT_NAME", "mgae")
        existing = self._client.get_experiment_by_name(experiment)
        number = existing.experiment_id if existing else self._client.create_experiment(experiment)
        tags = {
            "mgae.version": __version__,
            "mgae.directory": str(folder.resolve() if folder else ""),
        }
        self._run = self._client.create_run(number, run_name=name, tags=tags).info.run_id
        remember(folder, "mlflow", self._run)
        params = [Param(key, str(value)[:_LONGEST]) for key, value in settings.items()]
        for start in range(0, len(params), _AT_ONCE):
            self._client.log_batch(self._run, params=params[start : start + _AT_ONCE])

    def _resumes(self, run: str) -> bool:
        try:
            self._client.update_run(run, status=RunStatus.to_string(RunStatus.RUNNING))
        except MlflowException:  # of another server, or deleted
            return False
        self._run = run
        return True

    def log(self, figures: Mapping[str, float], epoch: int) -> None:
        """Keep the figures for the next request."""
        now = int(time.time() * 1000)
        self._waiting += [Metric(_key(k), float(v), now, epoch) for k, v in figures.items()]
        if time.monotonic() - self._sent > _SECONDS:
            self._send()

    def end(self, figures: Mapping[str, float], verdict: str | None) -> None:
        """Send the figures, and the verdict as a tag."""
        self.log(figures, self.epoch)
        self._send()
        if verdict is not None:
            self._client.set_tag(self._run, "mgae.verdict", verdict)
        self._client.set_terminated(self._run, RunStatus.to_string(RunStatus.FINISHED))

    def stop(self) -> None:
        """Send what waits; the run has failed, unless it is resumed."""
        self._send()
        self._client.set_terminated(self._run, RunStatus.to_string(RunStatus.FAILED))

    def _send(self) -> None:
        for start in range(0, len(self._waiting), 1000):
            self._client.log_batch(self._run, metrics=self._waiting[start : start + 1000])
        self._waiting, self._sent = [], time.monotonic()


def _key(name: str) -> str:
    """Return a name that MLflow takes: test/hits_at_20."""
    return name.replace("@", "_at_")
