"""A training in memory that has come to its end: saved as a run directory, and loaded from one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor

from mgae.core.graph import MessageGraph
from mgae.core.methods.base import Method
from mgae.core.training.device import Device, device_again
from mgae.core.training.loop import Fit
from mgae.data.splits.links import LinkSplit
from mgae.evaluation.calibration import Calibrations
from mgae.runs.adapting import adapted
from mgae.runs.config import RunConfig
from mgae.runs.featureuse import message_graph
from mgae.runs.folders import require_empty
from mgae.runs.observer import Observer, ended
from mgae.runs.results import RunResult, SeedResult
from mgae.runs.rundirectory import RunDirectory, write_record
from mgae.runs.seeds import LEARNING_FROM_ALL
from mgae.runs.tracking.tracker import tracked
from mgae.runs.trial import Trial

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True, eq=False)
class FittedRun:
    """All that a run directory of one seed is written from.

    Attributes:
        config: what was run, fitted to the graph and the machine.
        graph: what it learned from.
        message: the same, as the method sees it.
        split: which edges were held out.
        method: with the weights that answer.
        asked: the same for whoever asks from the CPU.
        fit: the epochs.
        result: the figures.
        weights: those of the best epoch, if the method has learned from all edges since.
        calibrations: what scores mean; None without validation edges.
        device: what computed.
    """

    config: RunConfig
    graph: Data
    message: MessageGraph
    split: LinkSplit
    method: Method
    asked: Method
    fit: Fit
    result: SeedResult
    weights: dict[str, Tensor] | None
    calibrations: Calibrations | None
    device: str

    @classmethod
    def train(cls, config: RunConfig, graph: Data, observer: Observer) -> FittedRun:
        """Train once on an opened graph."""
        observer.on_graph(graph)
        config, message = adapted(config, graph, observer)
        with ended(observer), tracked(config, None, observer) as observers:
            observers.on_run(0, config)
            trial = Trial(config, graph, message)
            fit = trial.fit(on_epoch=observers.on_epoch)
            result = trial.result(fit, observers.on_stage)
            observers.on_result(config, result)
            measured, weights = trial.calibrating(), None
            if trial.fits_again:
                observers.on_stage(LEARNING_FROM_ALL)
                weights = {k: value.clone() for k, value in trial.method.state_dict().items()}
                trial.fit_again(fit)
        return cls(
            config, graph, message, trial.split, trial.method, trial.asked, fit, result, weights,
            trial.calibrations(measured), str(trial.device),
        )  # fmt: skip

    @classmethod
    def load(cls, path: Path, run: int = 0, device: Device | None = None) -> FittedRun:
        """Read a run directory; of several runs the one of this number.

        ``device`` computes; without one that of the training, or if it is not here ``auto``.
        """
        directory = RunDirectory.open(path).run(run)
        config, graph = directory.config, directory.graph()
        message = message_graph(config, graph)
        split = directory.split(graph, message)
        trial = Trial(config, graph, message, split, device_again(device, config.train.device))
        directory.load_weights(trial.method)
        best = {key: value.clone() for key, value in trial.method.state_dict().items()}
        measured = None if directory.has_calibrations else trial.calibrating()
        again = directory.load_final_weights(trial.method)
        stored = directory.seed_result()
        calibrations = (
            directory.calibrations() if directory.has_calibrations else trial.calibrations(measured)
        )
        fit = Fit(tuple(directory.epochs()), stored.best_epoch, 0.0)
        return cls(
            config, graph, message, split, trial.method, trial.asked, fit, stored,
            best if again else None, calibrations, str(trial.device),
        )  # fmt: skip

    def save(self, path: Path) -> None:
        """Write a run directory, as `mgae.run` with ``out`` does."""
        require_empty(path)
        home = RunDirectory.create(path, self.config, self.graph)
        home.write_split(self.split)
        with home.history() as history:
            for record in self.fit.history:
                write_record(history, record)
        served = dict(self.method.state_dict())
        home.write_model(self.weights or served)
        if self.weights is not None:
            home.write_final_model(served)
        home.write_calibrations(self.calibrations)
        if self.asked.embeds:
            home.write_embeddings(self.graph, self.asked.embed(self.message))
        metrics = RunResult(self.config, (self.result,)).metrics()
        home.write_result(metrics, [self.config.seed], [self.result.seconds], self.device)
