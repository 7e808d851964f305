"""``report.html``: written from a finished run's directory."""

from __future__ import annotations

from pathlib import Path

from mgae.core.errors import RunDirectoryError
from mgae.data.atomic import write_text
from mgae.reporting.evidence import gather
from mgae.reporting.page import page
from mgae.runs.rundirectory import RunDirectory
from mgae.serving.maps import Projection

REPORT = "report.html"


def write_report(path: str | Path, projection: Projection = "pca") -> Path:
    """Write ``report.html`` into the directory of a finished run, and say where it is.

    Raises:
        RunDirectoryError: where there is no finished run, or nothing can be written.
    """
    directory = RunDirectory.open(Path(path))
    if not directory.finished:
        raise RunDirectoryError(
            f"{path} is not finished: go on with mgae train --resume {path} first"
        )
    text = page(gather(directory.path, projection))
    try:
        write_text(directory.path / REPORT, text)
    except OSError as error:
        raise RunDirectoryError(f"cannot write to {path}: {error.strerror}") from None
    return directory.path / REPORT
