"""Notice that a served run directory has changed, and answer by it without a restart."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from mgae.core.errors import MGAEError
from mgae.runs import manifest
from mgae.serving.service.served import Runs, Served

_SECONDS = 2.0  # between two looks

State = tuple[int, int, int] | None


class Watched:
    """A run directory, and how it is loaded.

    Args:
        path: the directory.
        load: gives what is served.
    """

    def __init__(self, path: Path, load: Callable[[], Served]) -> None:
        self.path, self._load = path, load
        self._state: State = None

    def load(self) -> Served:
        """Load it as it is now."""
        self._state = self._state_now()
        return self._load()

    @property
    def changed(self) -> bool:
        """Return whether there is another finished run than when it was loaded last."""
        now = self._state_now()
        return now is not None and now != self._state

    def _state_now(self) -> State:
        """Return what tells one content from another; None while there is no finished run."""
        # metrics.json is written last, and the manifest has the sums of all files.
        with suppress(OSError):
            (self.path / "metrics.json").stat()
            about = (self.path / manifest.NAME).stat()
            return about.st_ino, about.st_mtime_ns, about.st_size
        return None


class Reloader:
    """Looks after run directories in a thread of its own.

    A request is answered by the run that was there when it began. A run that cannot be loaded is
    reported once, and the one before goes on answering.
    """

    def __init__(self, runs: Runs, watched: Sequence[Watched], say: Callable[[str], None]) -> None:
        self._runs, self._watched, self._say = runs, watched, say

    def start(self) -> None:
        """Begin to look; the thread ends with the process."""
        threading.Thread(target=self._look_on, name="reloading", daemon=True).start()

    def look(self) -> None:
        """Load each run that has changed."""
        for one in self._watched:
            if not one.changed:
                continue
            try:
                served = one.load()
            except (MGAEError, OSError, ValueError) as error:
                self._say(
                    f"{one.path} has changed and cannot be loaded, so the run before stays: {error}"
                )
                continue
            self._runs.replace(served)
            self._say(
                f"{one.path} has changed: now {served.predictor.num_nodes:,} nodes are served"
            )

    def _look_on(self) -> None:
        while True:
            time.sleep(_SECONDS)
            self.look()
