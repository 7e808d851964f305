"""Run many trainings at once through joblib, which also takes them to a cluster.

Inside ``joblib.parallel_config(backend="dask")`` or ``"ray"`` the same calls run there.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, TypeVar

import torch

from mgae.core.errors import UnsupportedError

Result = TypeVar("Result")
_KILLED = (
    "one of {jobs} jobs was killed, perhaps for lack of memory: what is finished is kept, "
    "go on with the same command and fewer --jobs"
)


def as_they_come(
    call: Callable[..., Result], arguments: Sequence[tuple[Any, ...]], jobs: int
) -> Iterator[tuple[int, Result]]:
    """Yield the index and the result of each call, in other processes and in any order.

    The cores are divided among the processes; with one job, all happens in this one, in order.

    Raises:
        UnsupportedError: if a process was killed.
    """
    if jobs == 1 or not arguments:
        for index, some in enumerate(arguments):
            yield index, call(*some)
        return
    from joblib import Parallel, delayed  # noqa: PLC0415 - slow to load
    from joblib.externals.loky.process_executor import TerminatedWorkerError  # noqa: PLC0415

    pool = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    parent = os.getpid()
    calls = (delayed(_numbered)(parent, jobs, call, *one) for one in enumerate(arguments))
    try:
        yield from pool(calls)
    except TerminatedWorkerError:
        raise UnsupportedError(_KILLED.format(jobs=jobs)) from None


def _numbered(
    parent: int, jobs: int, call: Callable[..., Result], index: int, arguments: tuple[Any, ...]
) -> tuple[int, Result]:
    _begin_process(parent, jobs)
    return index, call(*arguments)


@cache
def _begin_process(parent: int, jobs: int) -> None:
    """Share the cores, and end if the parent is killed."""
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // jobs))
    if os.getppid() != parent:  # on another machine
        return

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
