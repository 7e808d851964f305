"""Commands that several ranks run together, as torchrun starts them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from mgae.core.errors import ConfigError

_T = TypeVar("_T")
COMMANDS = ("train", "evaluate")  # what several ranks can do together


def are_asked_for() -> bool:
    """Return whether this process is one of several ranks."""
    return "RANK" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1


def is_first() -> bool:
    """Return whether this process is the one that writes and prints."""
    return not are_asked_for() or os.environ["RANK"] == "0"


def refuse_alone(command: str) -> None:
    """Refuse a command that one process does by itself."""
    if are_asked_for() and command not in COMMANDS:
        names = " and ".join(f"mgae {name}" for name in COMMANDS)
        raise ConfigError(f"mgae {command} is for one process, and torchrun is for {names}")


def tells_failure() -> bool:
    """Return whether this process prints why all of them end."""
    if not are_asked_for():
        return True
    from mgae.core.training import distributed

    return distributed.tells_failure()


@contextmanager
def together() -> Iterator[None]:
    """Join the ranks for the length of a block."""
    if not are_asked_for():
        yield
        return
    from mgae.core.training import distributed

    with distributed.joined():
        yield


def agreed(make: Callable[[], _T]) -> _T:
    """Return what ``make`` gives on the first rank, on all of them."""
    if not are_asked_for():
        return make()
    from mgae.core.training import distributed

    return distributed.from_first(make)


def left_behind(out: Path | None, resume: Path | None) -> Path | None:
    """Return the run to go on with: ``resume``, or ``out`` where torchrun may start mgae again.

    Raises:
        ConfigError: if it may, and the ranks would not find their run again.
    """
    may_restart = int(os.environ.get("TORCHELASTIC_MAX_RESTARTS", "0")) > 0
    if not are_asked_for() or not may_restart or resume is not None:
        return resume
    if out is None:
        raise ConfigError(
            "torchrun --max-restarts starts mgae train again, which then must find its run: "
            "name its directory with --out RUN"
        )
    return out if agreed((out / "config.toml").exists) else None
