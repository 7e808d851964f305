"""Show progress of long commands, and stop them cleanly."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mgae.core.errors import RankError


class Interrupted(Exception):  # noqa: N818 - reads as what it says
    """Ctrl-C or SIGTERM, with what to do next."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class Terminated(KeyboardInterrupt):
    """SIGTERM, raised as Ctrl-C is: the training loop leaves a checkpoint for both."""


@contextmanager
def stoppable(way: str, started: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Say how to go on after Ctrl-C, SIGTERM or the end of another rank, if it has ``started``."""
    try:
        yield
    except RankError as error:
        raise RankError(f"{error}; {way}" if started() else str(error)) from None
    except KeyboardInterrupt as stop:
        code = 143 if isinstance(stop, Terminated) else 130
        raise Interrupted(f"interrupted; {way}" if started() else "interrupted", code) from None


@contextmanager
def terminable() -> Iterator[None]:
    """Raise SIGTERM as Ctrl-C is raised, so that no command leaves a file half-written."""

    def terminate(number: int, frame: object) -> None:
        raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle a signal
        return
    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def observing(as_json: bool, quiet: bool) -> Iterator[Any]:
    """Give an observer that draws the progress, unless only the result is wanted.

    Notes are printed with ``quiet`` too; with JSON they are part of it.
    """
    from mgae.cli.progress import ProgressObserver

    with ProgressObserver(shown=not (as_json or quiet), notes_shown=not as_json) as observer:
        yield observer
