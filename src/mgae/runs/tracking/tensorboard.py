"""TensorBoard: event files that ``tensorboard --logdir runs`` shows."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams

from mgae.core.errors import UnsupportedError
from mgae.runs.tracking.tracker import Tracker


class TensorBoard(Tracker):
    """Writes into the folder ``tensorboard`` of the run directory."""

    _writer: SummaryWriter
    _settings: dict[str, Any]

    def begin(self, name: str, settings: Mapping[str, Any], folder: Path | None) -> None:
        """Open a new event file; a resumed run reports its epochs again, which are written anew."""
        if folder is None:
            raise UnsupportedError("TensorBoard writes into the run directory: give out")
        shutil.rmtree(folder / "tensorboard", ignore_errors=True)
        self._writer = SummaryWriter(str(folder / "tensorboard"))
        self._settings = {key: _plain(value) for key, value in settings.items()}
        rows = "\n".join(f"    {key} = {value}" for key, value in settings.items())
        self._writer.add_text("settings", rows)

    def log(self, figures: Mapping[str, float], epoch: int) -> None:
        """Add a point to each curve."""
        for name, value in figures.items():
            self._writer.add_scalar(name, value, epoch)

    def end(self, figures: Mapping[str, float], verdict: str | None) -> None:
        """Add the figures as points, and beside the settings for the page of hyperparameters."""
        self.log(figures, self.epoch)
        if verdict is not None:
            self._writer.add_text("verdict", verdict)
        shown = {name: value for name, value in figures.items() if name.startswith("test/")}
        for summary in hparams(self._settings, shown):
            self._writer._get_file_writer().add_summary(summary)
        self.stop()

    def stop(self) -> None:
        """Close the file."""
        self._writer.close()


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) else str(value)
